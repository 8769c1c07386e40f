/**
 * A decision that is held for some seconds before it is sent, so that its author can undo it.
 *
 * 1.  It is kept like an answer that was not sent from the moment it is given, under the key with which it is sent: it
 *     is neither lost nor counted twice. Whoever leaves the page meanwhile has it sent then.
 * 2.  One decision is held at a time: the next one has it sent. A decision at a gate that is due soon is never held.
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

interface Held {
  readonly message: Message;
  readonly author: string;
  /** The instant at which it is sent, epoch ms. */
  readonly until: number;
  /** Called with the answer to it, once it was sent. */
  readonly settled: (answer: Answer<GateResponse>) => void;
}

/** What came of the decision that was held last. */
interface Ended {
  readonly message: Message;
  readonly words: string;
  readonly isGood: boolean;
  /** The instant at which it was known, epoch ms. */
  readonly at: number;
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

export function hold(message: Message, settled: Held["settled"]): void {
  void sendHeld();
  ended.value = null;
  keepHeld(message);
  held.value = { message, author: whoAmI(), until: now.peek() + holdMs, settled };
  timer = window.setTimeout(() => void sendHeld(), holdMs);
  announce(`“${message.words}” is sent in ${holdMs / 1000} seconds. The key z undoes it.`);
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
  const { message, author, settled } = one;
  if (author !== whoAmI()) return releaseHeld(message.key);
  const answer = await sendMessage(message, isLeaving);
  // What was not sent is said by a note of its own, which stays.
  if (answer.ok || !isUnsent(answer.problem)) {
    const words = answer.ok ? tellAnswer(answer.value) : answer.problem.detail;
    ended.value = { message, words, isGood: answer.ok, at: now.peek() };
    announce(words);
  }
  settled(answer);
}

/** The comments of decisions that were undone, by gate, for the next look at the gate. */
const undone = new Map<string, string>();
const gateOf = ({ workflow_id, gate_id }: Pick<Message, "workflow_id" | "gate_id">): string =>
  `${workflow_id}/${gate_id}`;

/** Takes back what is held, and leads to the decision of its gate. */
export function undoHeld(): void {
  const one = letGo();
  if (one === null) return;
  const { key, workflow_id, gate_id, words, body } = one.message;
  dismiss(key);
  undone.set(gateOf(one.message), body.payload?.comment ?? "");
  announce(`Undone: “${words}” was not sent.`);
  const shown = document.querySelector<HTMLElement>(`[data-gate="${CSS.escape(gateOf(one.message))}"] #decision`);
  if (shown !== null) shown.focus();
  else location.assign(gateHref(workflow_id, gate_id));
}

/** Returns the comment of the decision at a gate that was undone last. */
export const undoneComment = (gate: Pick<Message, "workflow_id" | "gate_id">): string => undone.get(gateOf(gate)) ?? "";

window.addEventListener("pagehide", () => void sendHeld(true));

/** Returns whether a decision at this gate is held. */
export const isHeldAt = (gate: Pick<Message, "workflow_id" | "gate_id">): boolean =>
  held.value !== null && gateOf(held.value.message) === gateOf(gate);
