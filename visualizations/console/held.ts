/**
 * A decision, or a batch of them, that is held for some seconds before it is sent, so that its author can undo it.
 *
 * 1.  It is kept like an answer that was not sent from the moment it is given, under the key with which it is sent: it
 *     is neither lost nor counted twice. Whoever leaves the page meanwhile has it sent then.
 * 2.  One decision or batch is held at a time: the next one has it sent. A decision at a gate that is due soon is never
 *     held.
 * 3.  It is sent in the name of its author or not at all.
 */
import { signal } from "@preact/signals";
import type { Gate, GateResponse } from "../../src/contract/gate.ts";
import { announce } from "./announce.ts";
import type { Answer } from "./api.ts";
import { tellAnswer } from "./decide.ts";
import { now } from "./loaded.tsx";
import { gateHref } from "./route.ts";
import { dismiss, isUnsent, keepHeld, type Message, releaseHeld, sendMessage, whoAmI } from "./unsent.ts";

/** What came of messages, in words. */
export interface Outcome {
  readonly words: string;
  readonly isGood: boolean;
}

/** Messages that are held and sent together. */
export interface Batch {
  /** At least one; all with the same words. */
  readonly messages: readonly Message[];
  /** Sends them; null if a note of its own says what came of it. */
  readonly send: (isLeaving: boolean) => Promise<Outcome | null>;
}

interface Held extends Batch {
  readonly author: string;
  /** The instant at which they are sent, epoch ms. */
  readonly until: number;
}

/** What came of what was held last. */
interface Ended extends Outcome {
  readonly messages: readonly Message[];
  /** The instant at which it was known, epoch ms, and the address of the page then. */
  readonly at: number;
  readonly place: string;
}

export const held = signal<Held | null>(null);
export const ended = signal<Ended | null>(null);

const holdMs = 6_000;
/** A gate that falls due within this time is decided at once. */
const urgentMs = 4 * 3_600_000;

const place = "countersign.undo";
/** Whether decisions are held. */
export const holding = signal(localStorage.getItem(place) !== "off");

export function switchHolding(on: boolean): void {
  holding.value = on;
  localStorage.setItem(place, on ? "on" : "off");
}

/** Returns whether a decision at a gate is held before it is sent. */
export const mayHold = ({ due_at }: Pick<Gate, "due_at">): boolean =>
  holding.peek() && (due_at === null || Date.parse(due_at) - now.peek() > urgentMs);

let timer = 0;

/** Returns what one message, or the messages of a batch, say and where: `“Approve” at 30 decisions`. */
export const tellHeld = ([first, ...more]: readonly Message[]): string =>
  `“${first?.words ?? ""}” at ${more.length === 0 ? (first?.title ?? "") : `${more.length + 1} decisions`}`;

/** Holds one message. `settled` is called with the answer to it, once it was sent. */
export const hold = (message: Message, settled: (answer: Answer<GateResponse>) => void): void =>
  holdBatch({
    messages: [message],
    async send(isLeaving) {
      const answer = await sendMessage(message, isLeaving);
      settled(answer);
      // What was not sent is said by a note of its own, which stays.
      if (!answer.ok && isUnsent(answer.problem)) return null;
      return { words: answer.ok ? tellAnswer(answer.value) : answer.problem.detail, isGood: answer.ok };
    },
  });

/** Holds messages that are sent together. */
export function holdBatch(batch: Batch): void {
  void sendHeld();
  ended.value = null;
  keepHeld(batch.messages);
  held.value = { ...batch, author: whoAmI(), until: now.peek() + holdMs };
  timer = window.setTimeout(() => void sendHeld(), holdMs);
  announce(`${tellHeld(batch.messages)} is sent in ${holdMs / 1000} seconds. The key z undoes it.`);
}

/** Ends the holding, and returns what was held. */
function letGo(): Held | null {
  const one = held.peek();
  window.clearTimeout(timer);
  held.value = null;
  return one;
}

/** Sends what is held now. */
export async function sendHeld(isLeaving = false): Promise<void> {
  const one = letGo();
  if (one === null) return;
  const { messages, author, send } = one;
  if (author !== whoAmI()) return releaseHeld(messages.map(({ key }) => key));
  const outcome = await send(isLeaving);
  if (outcome === null) return;
  ended.value = { ...outcome, messages, at: now.peek(), place: location.hash };
  announce(outcome.words);
}

/** The comments of decisions that were undone, by gate, for the next look at the gate. */
const undone = new Map<string, string>();
const gateOf = ({ workflow_id, gate_id }: Pick<Message, "workflow_id" | "gate_id">): string =>
  `${workflow_id}/${gate_id}`;

/** Takes back what is held, and leads to the decision of its gate, or to the gates that were selected. */
export function undoHeld(): void {
  const one = letGo();
  if (one === null) return;
  const { messages } = one;
  const [first] = messages as readonly [Message, ...Message[]];
  dismiss(messages.map(({ key }) => key));
  for (const message of messages) undone.set(gateOf(message), message.body.payload?.comment ?? "");
  announce(`Undone: ${tellHeld(messages)} was not sent.`);
  const isOne = messages.length === 1;
  const place = isOne ? `[data-gate="${CSS.escape(gateOf(first))}"] #decision` : "#bulk";
  const shown = document.querySelector<HTMLElement>(place);
  if (shown !== null) shown.focus();
  else location.assign(isOne ? gateHref(first.workflow_id, first.gate_id) : "#/");
}

/** Returns the comment of the decision at a gate that was undone last. */
export const undoneComment = (gate: Pick<Message, "workflow_id" | "gate_id">): string => undone.get(gateOf(gate)) ?? "";

window.addEventListener("pagehide", () => void sendHeld(true));

/** Returns whether a decision at this gate is held. */
export const isHeldAt = (gate: Pick<Message, "workflow_id" | "gate_id">): boolean =>
  held.value?.messages.some((message) => gateOf(message) === gateOf(gate)) === true;
