/**
 * The thread that commits for a ledger whose loop is not to wait for the disk: a store of its own on the same file, asked by messages.
 *
 * Owns: one answer for each question, in order. Never: is loaded by the thread that asks; see threaded-store.ts.
 */
import { parentPort, workerData } from "node:worker_threads";
import type { ConnectOptions } from "./connect.ts";
import { connect } from "./connect.ts";
import { createStore } from "./store.ts";
import { type Answer, type Question, toFailure } from "./threaded-store.ts";

const options = workerData as ConnectOptions;
const store = createStore(options.path, () => connect(options));

async function answer({ id, room, name, given }: Question): Promise<Answer> {
  try {
    const asked = (room === null ? store : store[room]) as unknown as Record<
      string,
      (...given: readonly unknown[]) => unknown
    >;
    return { id, value: await asked[name]?.(...given) };
  } catch (thrown) {
    return { id, failure: toFailure(thrown, options.path, name) };
  }
}

let last: Promise<unknown> = Promise.resolve();
parentPort?.on("message", (question: Question) => {
  last = last.then(async () => parentPort?.postMessage(await answer(question)));
});
