/**
 * Answers that the server has not taken: they are kept in this tab until their author sends them again or dismisses
 * them.
 *
 * 1.  Nothing is sent again by itself. U2  An answer is shown to the person who gave it, and sent in nobody else's
 *     name.
 * 3.  An answer is sent again under the same idempotency key: one that had arrived after all counts once.
 */
import { computed, signal } from "@preact/signals";
import type { Gate, GateResponse } from "../../src/contract/gate.ts";
import type { DecisionResult, GateDecisionsResponse } from "../../src/contract/gate-decisions.ts";
import { type Answer, ask, isMe, kernel, type Problem, session, workflowPath } from "./api.ts";

/** One answer of a person at a gate, as the request that carries it. */
export interface Message {
  /** The same for every attempt to send it. */
  readonly key: string;
  readonly workflow_id: string;
  readonly gate_id: string;
  /** The gate's title. */
  readonly title: string;
  /** What the person said, in words. */
  readonly words: string;
  readonly command: "gate" | "withdraw" | "delegate";
  readonly body: MessageBody;
}

/** What a message says; the server checks the rest. */
export interface MessageBody {
  readonly gate_id: string;
  readonly decision?: "approve" | "reject";
  readonly payload?: {
    readonly comment?: string;
    readonly edit?: object;
    readonly resolution?: "done" | "retry";
    readonly answer?: object;
  };
  /** Whom a seat is lent to, and until when. */
  readonly to?: { readonly type: string; readonly id: string | number };
  readonly expires_at?: string;
}

/** A message that was not sent, and why. */
export interface Unsent {
  /** Who gave the answer. */
  readonly author: string;
  readonly message: Message;
  readonly problem: Problem;
  /** It is held, and about to be sent. */
  readonly isHeld?: true;
}

const kept = "countersign.unsent";

const all = signal<readonly Unsent[]>(readKept());

/** Those of whoever is signed in, oldest first. */
export const unsent = computed(() => all.value.filter(({ author, isHeld }) => author === whoAmI() && isHeld !== true));

/**
 * Sends a message. If nobody took it (no connection, no session, a server or proxy that failed), it is kept; any other
 * answer, also a refusal, ends it.
 */
export async function sendMessage(message: Message, isLeaving = false): Promise<Answer<GateResponse>> {
  const author = whoAmI();
  const { workflow_id, command, body, key } = message;
  const sent = { method: "POST", body, key, keepalive: isLeaving } as const;
  const answer = await ask<GateResponse>(workflowPath(workflow_id, `/${command}`), sent);
  settle(author, [[message, answer]]);
  return answer;
}

/**
 * Sends decisions at several gates in one request, and returns the answer to each. Those that nobody took are kept one
 * by one, as if each had been sent by itself.
 */
export async function sendTogether(
  messages: readonly Message[],
  isLeaving = false,
): Promise<readonly Answer<GateResponse>[]> {
  const author = whoAmI();
  const decisions = messages.map(({ workflow_id, body, key }) => ({ workflow_id, ...body, idempotency_key: key }));
  const sent = { method: "POST", body: { decisions }, keepalive: isLeaving } as const;
  const reported = await ask<GateDecisionsResponse>(`${kernel}/decisions`, sent);
  const answers = messages.map((_, place) => (reported.ok ? answerIn(reported.value.results[place]) : reported));
  settle(
    author,
    messages.map((message, place) => [message, answers[place] as Answer<GateResponse>]),
  );
  return answers;
}

function answerIn(result: DecisionResult | undefined): Answer<GateResponse> {
  if (result?.ok === true) return { ok: true, value: result.answer };
  const { code = "", message = "The server's answer does not name it.", retry_eligible = true } = result?.error ?? {};
  // What may succeed if it is sent again was not taken; every other error is a refusal.
  return { ok: false, problem: { status: retry_eligible ? 503 : 409, code, detail: message, next: null } };
}

/** Keeps the answers that nobody took, and forgets those that were taken or refused, with those that they replace. */
function settle(author: string, sent: readonly (readonly [Message, Answer<GateResponse>])[]): void {
  const isOver = (old: Message) => sent.some(([by]) => old.key === by.key || isReplaced(old, by));
  const others = all.peek().filter(({ message }) => !isOver(message));
  const lost = sent.flatMap(([message, answer]) =>
    answer.ok || !isUnsent(answer.problem) ? [] : [{ author, message, problem: answer.problem }],
  );
  keep([...others, ...lost]);
}

/** Keeps messages that are held before they are sent. Where the page is left meanwhile, they are found as not sent. */
export const keepHeld = (messages: readonly Message[]): void =>
  keep([
    ...all.peek().filter((old) => !messages.some((message) => isReplaced(old.message, message))),
    ...messages.map((message) => ({ author: whoAmI(), message, problem: leftWhileHeld, isHeld: true as const })),
  ]);

/** Makes messages that were held ones that were not sent. */
export const releaseHeld = (keys: readonly string[]): void =>
  keep(all.peek().map(({ isHeld, ...one }) => (isHeld && !keys.includes(one.message.key) ? { ...one, isHeld } : one)));

const leftWhileHeld: Problem = {
  status: 0,
  code: "",
  detail: "The page was left while it could still be undone, and no answer to it has come.",
  next: null,
};

export const dismiss = (keys: readonly string[]): void =>
  keep(all.peek().filter(({ message }) => !keys.includes(message.key)));

/** Returns whether a problem says that the answer was not taken, instead of refused. */
export const isUnsent = ({ status }: Problem): boolean => [0, 401, 408, 429].includes(status) || status >= 500;

/**
 * Returns whether the gate's record already holds what the message says: it had arrived, and the answer to it was lost.
 */
export function hasArrived({ command, body }: Message, { decision, votes }: Gate): boolean {
  if (command !== "gate" || body.payload?.edit !== undefined) return false;
  if (decision !== null && decision.principal !== null && isMe(decision.principal))
    return decision.decision === body.decision;
  return votes.some((vote) => isMe(vote.principal) && vote.decision === body.decision);
}

/** Of two answers to one gate by one command the newer one is meant. */
const isReplaced = (old: Message, by: Message): boolean =>
  old.command === by.command && old.workflow_id === by.workflow_id && old.gate_id === by.gate_id;

export const whoAmI = (): string => {
  const me = session.value?.principal;
  return me === undefined ? "" : JSON.stringify([me.type, me.id]);
};

function keep(messages: readonly Unsent[]): void {
  all.value = messages;
  if (messages.length === 0) sessionStorage.removeItem(kept);
  else sessionStorage.setItem(kept, JSON.stringify(messages));
}

function readKept(): readonly Unsent[] {
  try {
    const found = JSON.parse(sessionStorage.getItem(kept) ?? "[]") as readonly Unsent[];
    return found.map(({ isHeld: _held, ...one }) => one);
  } catch {
    return [];
  }
}
