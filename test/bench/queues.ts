/**
 * Queues in virtual time: what a model of machines is made of.
 *
 * Owns: the order of what happens, cores that several wait for, and a disk that syncs for all who wait. Never: knows
 * what is modelled.
 */
type Act = () => void;

/** Acts in the order of their times; what was put in first acts first. */
export class Agenda {
  now = 0;
  readonly #heap: { readonly at: number; readonly order: number; readonly act: Act }[] = [];
  #order = 0;

  after(ms: number, act: Act): void {
    const [heap, entry] = [this.#heap, { at: this.now + ms, order: this.#order++, act }];
    let i = heap.push(entry) - 1;
    for (let up = (i - 1) >> 1; i > 0 && isBefore(entry, heap[up]); up = (i - 1) >> 1) {
      heap[i] = heap[up] as typeof entry;
      i = up;
    }
    heap[i] = entry;
  }

  runUntil(end: number): void {
    for (let next = this.#heap[0]; next !== undefined && next.at <= end; next = this.#heap[0]) {
      this.#dropFirst();
      this.now = next.at;
      next.act();
    }
    this.now = end;
  }

  #dropFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (heap.length === 0 || last === undefined) return;
    let i = 0;
    for (let down = 1; down < heap.length; down = 2 * i + 1) {
      if (isBefore(heap[down + 1], heap[down])) down += 1;
      if (!isBefore(heap[down], last)) break;
      heap[i] = heap[down] as typeof last;
      i = down;
    }
    heap[i] = last;
  }
}

type Entry = { readonly at: number; readonly order: number } | undefined;
const isBefore = (a: Entry, b: Entry): boolean =>
  a !== undefined && (b === undefined || a.at < b.at || (a.at === b.at && a.order < b.order));

/** So many may be at work at once; others wait in line. */
export class Cores {
  busy = 0;
  readonly #agenda: Agenda;
  readonly #count: number;
  #taken = 0;
  readonly #line: { readonly ms: number; readonly act: Act }[] = [];

  constructor(agenda: Agenda, count: number) {
    this.#agenda = agenda;
    this.#count = count;
  }

  work(ms: number, act: Act): void {
    if (this.#taken === this.#count) return void this.#line.push({ ms, act });
    this.#taken += 1;
    this.busy += ms;
    this.#agenda.after(ms, () => {
      this.#taken -= 1;
      const next = this.#line.shift();
      if (next !== undefined) this.work(next.ms, next.act);
      act();
    });
  }
}

/** One sync at a time; whoever comes while it runs shares the next. */
export class Disk {
  readonly #agenda: Agenda;
  readonly #ms: number;
  #waiting: Act[] | null = null;

  constructor(agenda: Agenda, ms: number) {
    this.#agenda = agenda;
    this.#ms = ms;
  }

  sync(act: Act): void {
    if (this.#waiting !== null) return void this.#waiting.push(act);
    this.#begin([act]);
  }

  #begin(acts: readonly Act[]): void {
    this.#waiting = [];
    this.#agenda.after(this.#ms, () => {
      const next = this.#waiting ?? [];
      this.#waiting = null;
      if (next.length > 0) this.#begin(next);
      for (const act of acts) act();
    });
  }
}
