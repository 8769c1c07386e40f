/**
 * Plays stories one after another, on a thread that is given up where a story does not end: one that goes round for
 * ever lets no timer of its own thread fire.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** What a story came to. `met`: the marks of what happened in it. */
export interface StoryEnd {
  readonly failure: string | null;
  readonly met: readonly string[];
}

/** For how long a story is waited for, which takes some tens of milliseconds; and for how long it is made short. */
const limits = { story: 120_000, shrink: 1_800_000 } as const;

export class StoryPlayer {
  readonly #store: string;
  #worker: Worker | null = null;

  /** `store`: whose stories, a name in `draws`. */
  constructor(store: string) {
    this.#store = store;
  }

  /** Fails where the story does not end in time, or takes its thread with it. */
  async play(seed: number): Promise<StoryEnd> {
    try {
      return await this.#ask<StoryEnd>(seed, limits.story);
    } catch (thrown) {
      return { failure: `ends: ${(thrown as Error).message}`, met: [] };
    }
  }

  /** The last story made short, in lines. */
  async shrink(): Promise<string> {
    try {
      return await this.#ask<string>("shrink", limits.shrink);
    } catch (thrown) {
      return `  could not be shortened: ${(thrown as Error).message}`;
    }
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = null;
  }

  async #ask<T>(message: number | "shrink", limitMs: number): Promise<T> {
    this.#worker ??= new Worker(new URL("./story-worker.ts", import.meta.url), { workerData: this.#store });
    const worker = this.#worker;
    try {
      const answered = once(worker, "message", { signal: AbortSignal.timeout(limitMs) });
      worker.postMessage(message);
      const [answer] = await answered;
      return answer as T;
    } catch (thrown) {
      await this.close();
      throw (thrown as Error).name === "AbortError" ? new Error(`not within ${limitMs / 1000} s`) : thrown;
    }
  }
}
