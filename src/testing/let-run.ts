/**
 * Waiting until nothing can run any more without time passing: what tests do instead of sleeping.
 *
 * Owns: what counts as under way. Never: moves a clock, looks at the machine's time.
 * 1.  Under way is what has been put off to the next turn of the event loop (immediates), and what was asked of files,
 *     of cryptography or of names and is not answered yet. Promises need no mention: between two turns all that can run
 *     has run.
 * 2.  What a socket or another process will say nobody here can know: while one is open, some more turns are given to
 *     it. What was asked by way of `letAnswer` is waited for.
 * 3.  The wait is bounded: what goes on for ever, or hangs, is not waited for.
 */
import { createHook, type HookCallbacks } from "node:async_hooks";
import { setTimeout } from "node:timers";
import { inNextTurn } from "../engine/actors/next-turn.ts";
import { wrapMembers } from "./wrap-members.ts";

const underWay = new Set<number>();
const isWork = (type: string): boolean => type === "Immediate" || type.includes("REQ");

/** A handle of Node's; one that has a `ref` keeps the process alive. */
interface Handle {
  readonly hasRef?: () => boolean;
}
/**
 * Sockets, processes, workers and timers of the machine that were made since this module was loaded and are not closed.
 */
const handles = new Map<number, { readonly handle: Handle; readonly isConnection: boolean }>();
const isHandle = (type: string): boolean => /^(TCPWRAP|PIPEWRAP|UDPWRAP|PROCESSWRAP|MESSAGEPORT|Timeout)$/.test(type);
/** Connections that a server here accepted are told apart by it: they ask, and answer nothing. */
const servers = new Set<number>();

/** A wait is no work: two of them would wait for one another. */
let isWaiting = false;
const forget = (id: number): void => void underWay.delete(id);

/**
 * `trackPromises` keeps promises, of which there are many, out of the hook; a Node that does not know it reports them.
 */
const callbacks: HookCallbacks & { readonly trackPromises: boolean } = {
  trackPromises: false,
  init(id, type, trigger, resource) {
    if (isWaiting) return;
    if (isWork(type)) underWay.add(id);
    if (type === "TCPSERVERWRAP" || type === "PIPESERVERWRAP") servers.add(id);
    if (!isHandle(type) || servers.has(trigger)) return;
    // A test runner has timers and pipes of its own.
    handles.set(id, { handle: resource, isConnection: type !== "Timeout" && type !== "PIPEWRAP" });
  },
  after: forget,
  destroy(id) {
    forget(id);
    handles.delete(id);
    servers.delete(id);
  },
};
createHook(callbacks).enable();

/** Returns the handles that keep the process alive now, and may answer a call; each with whether it is a connection. */
export const aliveHandles = (): readonly (readonly [id: number, isConnection: boolean])[] =>
  [...handles].flatMap(([id, { handle, isConnection }]) => (handle.hasRef?.() === true ? [[id, isConnection]] : []));

/** Begins what is no work of anybody, and keeps what it opens out of the handles that may answer a call. */
export function aside<T>(begin: () => T): T {
  isWaiting = true;
  try {
    return begin();
  } finally {
    isWaiting = false;
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => aside(() => inNextTurn(resolve)));

/** Resolves after so many milliseconds of the machine's time. */
export const letPass = (ms: number): Promise<void> =>
  new Promise((resolve) => void aside(() => setTimeout(resolve, ms)));

const asked = new Set<Promise<unknown>>();

/** Marks a question to another machine: no time passes until it is answered. */
export function letAnswer<T>(answer: Promise<T>): Promise<T> {
  asked.add(answer);
  const answered = (): void => void asked.delete(answer);
  answer.then(answered, answered);
  return answer;
}

/** Does the same for every function of a store on another thread or machine, and of its further records. */
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
