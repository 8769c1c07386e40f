/**
 * The queue of entries that wait to run: by priority, first come first served within one, and none before its
 * dependencies. Plans are ordered by it, and the token kernel, the DAG executor and a workflow's turns take from it.
 *
 * Owns: the order of entries. Never: runs an entry, or knows its result except through `complete`.
 * 1.  An entry is ready when each of its dependencies is completed; naming a dependency twice makes no difference.
 * 2.  The next is the ready entry of the highest priority, among equals that of the lowest sequence: a total order, so
 *     the same calls give the same answers.
 * 3.  Adding, taking and removing cost the logarithm of the number of ready entries; completing costs the number of
 *     dependants.
 */
interface QueueEntry<Id> {
  readonly id: Id;
  readonly priority: number;
  /** Given by the caller, once for each: its place among equals. */
  readonly sequence: number;
  /** Those that are still to be completed. */
  readonly dependencies: readonly Id[];
}

interface Waiting<Id> {
  readonly entry: QueueEntry<Id>;
  /** The dependencies that are not completed. An entry without any is ready; none is added later. */
  unmet: Set<Id>;
}

const nothing = new Set<never>();

export class ReadyQueue<Id> {
  readonly #waiting = new Map<Id, Waiting<Id>>();
  readonly #dependents = new Map<Id, Set<Waiting<Id>>>();
  /** A binary heap of ready entries; a removed entry stays in it until it reaches the top. */
  readonly #ready: Waiting<Id>[] = [];

  get size(): number {
    return this.#waiting.size;
  }

  has(id: Id): boolean {
    return this.#waiting.has(id);
  }

  /** Adds an entry. An id that is in the queue already keeps its place. */
  add(entry: QueueEntry<Id>): void {
    if (this.#waiting.has(entry.id)) return;
    const { dependencies } = entry;
    const added: Waiting<Id> = { entry, unmet: dependencies.length === 0 ? nothing : new Set(dependencies) };
    this.#waiting.set(entry.id, added);
    for (const id of added.unmet) this.#waitFor(id, added);
    if (added.unmet.size === 0) this.#push(added);
  }

  /** Returns the next entry that may run; it stays in the queue. */
  next(): Id | undefined {
    for (let top = this.#ready[0]; top !== undefined; top = this.#ready[0]) {
      if (this.#waiting.get(top.entry.id) === top) return top.entry.id;
      this.#pop();
    }
    return undefined;
  }

  /** Takes an entry out, whether it was ready or not. Its dependents go on waiting. */
  remove(id: Id): void {
    const removed = this.#waiting.get(id);
    if (removed === undefined) return;
    this.#waiting.delete(id);
    for (const dependency of removed.unmet) this.#stopWaiting(dependency, removed);
  }

  /** Completes an id: entries no longer depend on it. */
  complete(id: Id): void {
    const freed = this.#dependents.get(id);
    this.#dependents.delete(id);
    for (const waiting of freed ?? []) {
      if (waiting.unmet.size > 1) waiting.unmet.delete(id);
      else {
        waiting.unmet = nothing;
        this.#push(waiting);
      }
    }
  }

  /** Replaces a dependency: entries that depend on `id` depend on its successors. */
  replace(id: Id, successors: readonly Id[]): void {
    const waiting = this.#dependents.get(id) ?? [];
    for (const dependent of waiting)
      for (const successor of successors) {
        dependent.unmet.add(successor);
        this.#waitFor(successor, dependent);
      }
    this.complete(id);
  }

  /** Returns the entries that wait for `id` itself, in sequence. */
  dependentsOf(id: Id): readonly Id[] {
    return [...(this.#dependents.get(id) ?? [])]
      .map(({ entry }) => entry)
      .sort(bySequence)
      .map((entry) => entry.id);
  }

  /** Returns the entries that an entry still waits for. */
  dependenciesOf(id: Id): readonly Id[] {
    return [...(this.#waiting.get(id)?.unmet ?? [])];
  }

  /** Returns all entries, ready or not, in sequence; their dependencies are those that are not completed. */
  entries(): readonly QueueEntry<Id>[] {
    return [...this.#waiting.values()]
      .map(({ entry, unmet }) => ({ ...entry, dependencies: [...unmet] }))
      .sort(bySequence);
  }

  #waitFor(id: Id, waiting: Waiting<Id>): void {
    const others = this.#dependents.get(id);
    if (others === undefined) this.#dependents.set(id, new Set([waiting]));
    else others.add(waiting);
  }

  #stopWaiting(id: Id, waiting: Waiting<Id>): void {
    const others = this.#dependents.get(id);
    if (others?.delete(waiting) && others.size === 0) this.#dependents.delete(id);
  }

  #push(waiting: Waiting<Id>): void {
    const heap = this.#ready;
    let at = heap.push(waiting) - 1;
    for (let above = (at - 1) >> 1; at > 0 && isBefore(waiting, heap[above]); above = (at - 1) >> 1) {
      heap[at] = heap[above] as Waiting<Id>;
      at = above;
    }
    heap[at] = waiting;
  }

  #pop(): void {
    const heap = this.#ready;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (let child = firstChild(heap, at); isBefore(heap[child], last); child = firstChild(heap, at)) {
      heap[at] = heap[child] as Waiting<Id>;
      at = child;
    }
    heap[at] = last;
  }
}

const bySequence = <Id>(a: QueueEntry<Id>, b: QueueEntry<Id>): number => a.sequence - b.sequence;

/** Returns the child of a node that comes first. */
function firstChild<Id>(heap: readonly Waiting<Id>[], at: number): number {
  const [one, other] = [2 * at + 1, 2 * at + 2];
  return isBefore(heap[other], heap[one]) ? other : one;
}

function isBefore<Id>(a: Waiting<Id> | undefined, b: Waiting<Id> | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a.entry.priority === b.entry.priority
    ? a.entry.sequence < b.entry.sequence
    : a.entry.priority > b.entry.priority;
}
