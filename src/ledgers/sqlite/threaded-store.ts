/**
 * A ledger in a file whose commits are made by a thread of its own: the loop goes on while the disk syncs.
 *
 * Owns: the thread, from open to close, and what it was asked. Never: writes on this thread; reads on the other.
 * W1  Whatever changes the file goes to the thread, one after another; whatever is told of it here lies in the file by then.
 * W2  A thread that ends leaves nobody waiting: what it was asked fails with T0_LEDGER_UNAVAILABLE, and so does what is asked later.
 * W3  It keeps the process alive only while it owes an answer.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { KernelErrorException } from "../../contract/error.ts";
import { type ConnectOptions, connect } from "./connect.ts";
import { ledgerFailure, toLedgerFailure } from "./failure.ts";
import { createStore, type SqliteLedger } from "./store.ts";

/** Part of a store that has functions of its own. */
type Room = "sessions" | "deliveries";

export interface Question {
  readonly id: number;
  readonly room: Room | null;
  readonly name: string;
  readonly given: readonly unknown[];
}

export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly failure?: KernelErrorException["error"];
}

export const toFailure = (thrown: unknown, path: string, fn: string): KernelErrorException["error"] =>
  toLedgerFailure(thrown, { path, fn }).error;

/** What only reads: asked here, where no message is needed. All else is the thread's. */
const reading: ReadonlySet<keyof SqliteLedger> = new Set([
  "read",
  "last",
  "tail",
  "position",
  "check",
  "head",
  "heads",
  "listHeads",
  "countHeads",
  "searchHeads",
  "held",
  "nextDue",
  "gates",
  "listGates",
  "countGates",
  "findKey",
  "charges",
  "chargesOf",
  "memory",
  "documents",
  "version",
  "indexes",
]);

/** `start` makes the thread; a host has no need to give it. */
export function createThreadedStore(options: ConnectOptions, start = startThread): SqliteLedger {
  const here = createStore(options.path, () => connect(options));
  const thread = new WriteThread(options, start);
  const asking = <S extends object>(store: S, room: Room | null): S =>
    Object.fromEntries(
      Object.entries(store).map(([name, value]) => [
        name,
        typeof value === "function" ? thread.asked(room, name) : value,
      ]),
    ) as S;
  const own = Object.fromEntries(Object.entries(here).filter(([name]) => reading.has(name as keyof SqliteLedger)));
  return {
    ...asking(here, null),
    ...own,
    sessions: asking(here.sessions, "sessions"),
    deliveries: asking(here.deliveries, "deliveries"),
    async open() {
      // The thread makes the file and migrates it; this one then finds it as it should be.
      await thread.open();
      await here.open().catch(async (error: unknown) => {
        await thread.close();
        throw error;
      });
    },
    async close() {
      await here.close();
      await thread.close();
    },
  };
}

export const startThread = (options: ConnectOptions): Worker =>
  new Worker(new URL(`./write-thread${extname(import.meta.url)}`, import.meta.url), {
    workerData: options,
    name: "countersign commits",
    // A program that was given as text says so in a flag that no file can be run with; else the flags are inherited.
    ...(process.execArgv.some((flag) => flag.startsWith("--input-type")) ? { execArgv: [] } : {}),
  });

type Waiting = { readonly name: string; resolve(value: unknown): void; reject(error: Error): void };

class WriteThread {
  readonly #options: ConnectOptions;
  readonly #start: typeof startThread;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #asked = 0;

  constructor(options: ConnectOptions, start: typeof startThread) {
    this.#options = options;
    this.#start = start;
  }

  asked(room: Room | null, name: string): (...given: readonly unknown[]) => Promise<unknown> {
    return (...given) => this.#ask({ room, name, given });
  }

  async open(): Promise<void> {
    if (this.#worker !== null) return;
    const worker = this.#start(this.#options);
    this.#worker = worker;
    worker.on("message", (answer: Answer) => this.#hear(answer));
    let cause = "";
    worker.on("error", (error) => {
      cause = ` (${error instanceof Error ? error.message : String(error)})`;
    });
    worker.on("exit", () => this.#lose(worker, cause));
    worker.unref();
    try {
      await this.#ask({ room: null, name: "open", given: [] });
    } catch (error) {
      await this.#end();
      throw error;
    }
  }

  async close(): Promise<void> {
    if (this.#worker === null) return;
    try {
      await this.#ask({ room: null, name: "close", given: [] });
    } finally {
      await this.#end();
    }
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  async #ask(question: Omit<Question, "id">): Promise<unknown> {
    const worker = this.#worker;
    if (worker === null) throw this.#failure(question.name, "is not open");
    this.#asked += 1;
    const id = this.#asked;
    worker.postMessage({ id, ...question } satisfies Question);
    worker.ref();
    return new Promise((resolve, reject) => this.#waiting.set(id, { name: question.name, resolve, reject }));
  }

  #hear({ id, value, failure }: Answer): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#worker?.unref();
    if (failure === undefined) waiting?.resolve(value);
    else waiting?.reject(new KernelErrorException(failure));
  }

  #lose(worker: Worker, cause: string): void {
    if (this.#worker === worker) this.#worker = null;
    for (const [id, { name, reject }] of this.#waiting) {
      this.#waiting.delete(id);
      reject(this.#failure(name, `has lost the thread that commits${cause}`));
    }
  }

  #failure(fn: string, reason: string): KernelErrorException {
    return ledgerFailure("T0_LEDGER_UNAVAILABLE", reason, { path: this.#options.path, fn });
  }
}
