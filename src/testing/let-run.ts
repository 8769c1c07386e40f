/**
 * Waiting until nothing can run any more without time passing: what tests do instead of sleeping.
 *
 * Owns: what counts as under way. Never: moves a clock, looks at the machine's time.
 * Q1  Under way is what has been put off to the next turn of the event loop (immediates), and what was asked of files, of
 *     cryptography or of names and is not answered yet. Promises need no mention: between two turns all that can run has run.
 * Q2  What a socket or another process will say nobody here can know: while one is open, some more turns are given to it.
 *     What was asked by way of `letAnswer` is waited for.
 * Q3  The wait is bounded: what goes on for ever, or hangs, is not waited for.
 */
import { createHook, type HookCallbacks } from "node:async_hooks";
import { wrapMembers } from "./wrap-members.ts";

const underWay = new Set<number>();
const isWork = (type: string): boolean => type === "Immediate" || type.includes("REQ");
/** A wait is no work: two of them would wait for one another. */
let isWaiting = false;
const forget = (id: number): void => void underWay.delete(id);

/** `trackPromises` keeps promises, of which there are many, out of the hook; a Node that does not know it reports them. */
const callbacks: HookCallbacks & { readonly trackPromises: boolean } = {
  trackPromises: false,
  init: (id, type) => void (!isWaiting && isWork(type) && underWay.add(id)),
  after: forget,
  destroy: forget,
};
createHook(callbacks).enable();

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    isWaiting = true;
    setImmediate(resolve);
    isWaiting = false;
  });
}

const asked = new Set<Promise<unknown>>();

/** For whoever asks another machine: no time passes until it has answered. */
export function letAnswer<T>(answer: Promise<T>): Promise<T> {
  asked.add(answer);
  const answered = (): void => void asked.delete(answer);
  answer.then(answered, answered);
  return answer;
}

/** The same for every function of a store on another thread or machine, and of what it keeps beside its log. */
export const letStoreAnswer = <T extends object>(store: T): T => wrapMembers(store, ({ make }) => letAnswer(make()));

const outside = /^(TCP|TLS|UDP|Process)/;
const quietTurns = { alone: 2, withOthers: 40 } as const;
const mostTurns = 50_000;

/** Resolves when nothing has been under way for some turns of the event loop. */
export async function letRun(): Promise<void> {
  const hears = process.getActiveResourcesInfo().some((name) => outside.test(name));
  const wanted = hears ? quietTurns.withOthers : quietTurns.alone;
  let quiet = 0;
  for (let turn = 0; turn < mostTurns && quiet < wanted; turn += 1) {
    await nextTurn();
    if (asked.size > 0) await Promise.race(asked).catch(() => undefined);
    quiet = underWay.size + asked.size === 0 ? quiet + 1 : 0;
  }
}
