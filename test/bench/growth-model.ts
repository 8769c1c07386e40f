/**
 * Kernels on one Postgres as queues in virtual time: what a database carries, and who waits for whom.
 *
 * Owns: the model and its figures. Never: measures; each of its parameters is measured by bench:postgres or given.
 * G1  A kernel is one thread: one turn's work at a time. What it has done when nothing is left to do, or after so many
 *     turns, goes to the database as one batch, one batch at a time.
 * G2  A batch costs two round trips, work on a core of the server, and a sync of its disk that all batches that wait
 *     for it share.
 * G3  The same seed gives the same figures.
 */
import { seededRandom } from "../../src/adapters/seeded-random.ts";
import { quantile } from "./measure.ts";
import { Agenda, Cores, Disk } from "./queues.ts";

/** Times are ms of virtual time. */
export interface Parameters {
  readonly turns: number;
  /** CPU of the kernel, and of the server, for one turn. */
  readonly kernelTurn: number;
  readonly serverTurn: number;
  /** CPU of the server for a batch, whatever is in it. */
  readonly serverBatch: number;
  readonly roundTrip: number;
  readonly sync: number;
  /** CPU of the server a second for a kernel that has no work. */
  readonly serverIdle: number;
  readonly serverCores: number;
  /** Cores that all kernels and the server share; null where each has its own machine. */
  readonly sharedCores: number | null;
}

export interface Load {
  readonly kernels: number;
  /** Workflows in flight a kernel: each that ends is followed by another. */
  readonly inFlight: number;
  readonly seconds: number;
  readonly seed: number;
}

export interface Carried {
  readonly per_s: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  /** Of the server's cores, 0 to 1. */
  readonly server_busy: number;
  readonly turns_a_batch: number;
}

/** As the kernel's own limit (maxBurst). */
const burst = 16;

interface World {
  readonly agenda: Agenda;
  readonly parameters: Parameters;
  readonly server: Cores;
  /** Where kernels work; each on its own where it has its own machine. */
  readonly host: Cores | null;
  readonly disk: Disk;
  readonly random: () => number;
  readonly took: number[];
  batches: number;
  turns: number;
}

interface Flow {
  began: number;
  left: number;
}

/** A thread with workflows, and the batch that is under way. */
class ModelKernel {
  readonly #world: World;
  readonly #host: Cores;
  readonly #ready: Flow[] = [];
  #batch: Flow[] = [];
  #isWorking = false;
  #isWriting = false;

  constructor(world: World) {
    this.#world = world;
    this.#host = world.host ?? new Cores(world.agenda, 1);
  }

  begin(): void {
    const { agenda, parameters } = this.#world;
    this.#enter({ began: agenda.now, left: parameters.turns });
  }

  #enter(flow: Flow): void {
    this.#ready.push(flow);
    if (!this.#isWorking) this.#work();
  }

  #work(): void {
    const flow = this.#ready.shift();
    this.#isWorking = flow !== undefined;
    if (flow === undefined || this.#batch.length >= burst) this.#write();
    if (flow === undefined) return;
    const { parameters, random } = this.#world;
    // Between half and one and a half of the mean: turns are not equal.
    this.#host.work(parameters.kernelTurn * (0.5 + random()), () => {
      this.#batch.push(flow);
      this.#work();
    });
  }

  #write(): void {
    const { agenda, parameters, server, disk } = this.#world;
    const batch = this.#batch;
    if (batch.length === 0 || this.#isWriting) return;
    this.#batch = [];
    this.#isWriting = true;
    this.#world.batches += 1;
    this.#world.turns += batch.length;
    const cost = parameters.serverBatch + parameters.serverTurn * batch.length;
    agenda.after(2 * parameters.roundTrip, () =>
      server.work(cost, () =>
        disk.sync(() => {
          this.#isWriting = false;
          for (const flow of batch) this.#goOn(flow);
          if (!this.#isWorking) this.#write();
        }),
      ),
    );
  }

  #goOn(flow: Flow): void {
    const { agenda, parameters, took } = this.#world;
    flow.left -= 1;
    if (flow.left === 0) {
      took.push(agenda.now - flow.began);
      flow.began = agenda.now;
      flow.left = parameters.turns;
    }
    this.#enter(flow);
  }
}

/** What so many kernels on one database do in so many seconds, after a second that does not count. */
export function simulateCell(parameters: Parameters, { kernels, inFlight, seconds, seed }: Load): Carried {
  const agenda = new Agenda();
  const shared = parameters.sharedCores === null ? null : new Cores(agenda, parameters.sharedCores);
  const server = shared ?? new Cores(agenda, parameters.serverCores);
  const disk = new Disk(agenda, parameters.sync);
  const random = seededRandom(seed);
  const world: World = { agenda, parameters, server, host: shared, disk, random, took: [], batches: 0, turns: 0 };
  for (let k = 0; k < kernels; k += 1) {
    const kernel = new ModelKernel(world);
    for (let f = 0; f < inFlight; f += 1) kernel.begin();
  }
  for (let s = 0; s <= seconds; s += 1)
    for (let k = 0; k < kernels; k += 1)
      agenda.after(s * 1000 + (1000 * k) / kernels, () => server.work(parameters.serverIdle, () => undefined));
  agenda.runUntil(1000);
  world.took.length = 0;
  [world.batches, world.turns, server.busy] = [0, 0, 0];
  agenda.runUntil(1000 * (seconds + 1));
  return {
    per_s: world.took.length / seconds,
    p50_ms: quantile(world.took, 0.5),
    p99_ms: quantile(world.took, 0.99),
    server_busy: server.busy / (1000 * seconds * (parameters.sharedCores ?? parameters.serverCores)),
    turns_a_batch: world.turns / Math.max(1, world.batches),
  };
}

export interface Death {
  /** Kernels that live on, and what was running on the one that died. */
  readonly survivors: number;
  readonly running: number;
  /** How often a survivor looks who is gone. */
  readonly pollMs: number;
  /** How long the server holds a session's lock after its process died. */
  readonly lockMs: number;
  /** What a survivor does for one workflow: takes its lease with others of a page, reads its log, folds it. */
  readonly takeUpTurns: number;
  readonly page: number;
  readonly seed: number;
}

/** When the workflows of a kernel that died go on elsewhere, ms after its death: the median one, and the last. */
export function simulateDeath(
  parameters: Parameters,
  death: Death,
): { readonly p50_ms: number; readonly last_ms: number } {
  const agenda = new Agenda();
  const random = seededRandom(death.seed);
  const server = new Cores(agenda, parameters.serverCores);
  let left = death.running;
  const gone: number[] = [];
  const takePage = (host: Cores): void => {
    const count = Math.min(left, death.page);
    left -= count;
    if (count === 0) return;
    agenda.after(2 * parameters.roundTrip, () =>
      server.work(parameters.serverBatch + count * parameters.serverTurn, () => {
        for (let n = 0; n < count; n += 1)
          host.work(death.takeUpTurns * parameters.kernelTurn, () => void gone.push(agenda.now));
        takePage(host);
      }),
    );
  };
  for (let k = 0; k < death.survivors; k += 1) {
    const host = new Cores(agenda, 1);
    agenda.after(death.lockMs + random() * death.pollMs, () => takePage(host));
  }
  agenda.runUntil(600_000);
  return { p50_ms: quantile(gone, 0.5), last_ms: gone.at(-1) ?? 0 };
}

export interface Crowd {
  readonly cells: number;
  readonly tenants: number;
  /** Requests a second of a usual tenant, and how many times as many one of them makes. */
  readonly rate: number;
  readonly flood: number;
  /** Workflows a second that a cell carries. */
  readonly carries: number;
  /** What one tenant may begin a second, where it has a limit; what is above is refused. */
  readonly limit: number | null;
  readonly seconds: number;
  readonly seed: number;
}

/**
 * How the others fare while one tenant floods its cell: how many of them wait longer than a second, and the wait of the
 * 99th in a hundred.
 */
export function simulateCrowd(crowd: Crowd): { readonly harmed: number; readonly p99_ms: number } {
  const random = seededRandom(crowd.seed);
  const waits: number[] = [];
  const harmed = new Set<number>();
  for (let cell = 0; cell < crowd.cells; cell += 1) {
    const tenants = Array.from({ length: crowd.tenants }, (_, t) => t).filter((t) => t % crowd.cells === cell);
    const rates = tenants.map((t) => Math.min(crowd.rate * (t === 0 ? crowd.flood : 1), crowd.limit ?? Infinity));
    const all = rates.reduce((sum, rate) => sum + rate, 0);
    // One line for the cell: who comes first is served first.
    for (let [at, free] = [0, 0]; at < 1000 * crowd.seconds; at += (-Math.log(1 - random()) * 1000) / all) {
      const tenant = tenants[drawn(rates, random() * all)] ?? 0;
      free = Math.max(at, free) + 1000 / crowd.carries;
      if (tenant === 0) continue;
      waits.push(free - at);
      if (free - at > 1000) harmed.add(tenant);
    }
  }
  return { harmed: harmed.size / (crowd.tenants - 1), p99_ms: quantile(waits, 0.99) };
}

/** The place in which a point of the sum of all falls. */
function drawn(rates: readonly number[], point: number): number {
  let left = point;
  for (const [place, rate] of rates.entries()) {
    left -= rate;
    if (left < 0) return place;
  }
  return rates.length - 1;
}
