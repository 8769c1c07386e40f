/**
 * What a person notes at a gate without deciding it: a comment, who looks after it, and until when they snooze it.
 *
 * 1.  A note that is sent again after it was not taken has the same idempotency key: it is noted once.
 */
import type { Gate, GateResponse } from "../../src/contract/gate.ts";
import type { GateNoteRequest } from "../../src/contract/gate-conversation.ts";
import { type Answer, ask, workflowPath } from "./api.ts";
import { makeKey } from "./decide.ts";

export type Note = Pick<GateNoteRequest, "comment" | "assign" | "snooze" | "watch">;

/** The last note that was not taken, and its key. */
let untaken = { text: "", key: "" };

/** Sends a note. One that nobody took is left to its author, whose form keeps it. */
export async function sendNote({ workflow_id, gate_id }: Gate, note: Note): Promise<Answer<GateResponse>> {
  const body = { gate_id, ...note };
  const text = JSON.stringify([workflow_id, body]);
  const key = text === untaken.text ? untaken.key : makeKey();
  const answer = await ask<GateResponse>(workflowPath(workflow_id, "/note"), { method: "POST", body, key });
  untaken = answer.ok ? { text: "", key: "" } : { text, key };
  return answer;
}

/** Returns a principal that a person has written: `bo`, `7`, or with its type `agent:planner`. */
export function readPrincipal(text: string): { readonly type: string; readonly id: string | number } {
  const [, type = "user", id = ""] = /^(?:(user|agent|service):)?(.*)$/s.exec(text.trim()) ?? [];
  return { type, id: /^\d{1,15}$/.test(id) ? Number(id) : id };
}

/** Returns the principals of a list with commas. */
export const readPrincipals = (text: string) =>
  text
    .split(",")
    .filter((one) => one.trim() !== "")
    .map(readPrincipal);

interface SnoozeChoice {
  readonly words: string;
  /** Returns the instant for a moment, both in epoch ms. */
  readonly until: (now: number) => number;
}

const hourMs = 3_600_000;

/** Returns nine o'clock of a later day, in the time of the browser. */
function morningAfter(now: number, days: number): number {
  const day = new Date(now);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + days, 9).getTime();
}

export const snoozeChoices: readonly SnoozeChoice[] = [
  { words: "for an hour", until: (now) => now + hourMs },
  { words: "for four hours", until: (now) => now + 4 * hourMs },
  { words: "until tomorrow at 9", until: (now) => morningAfter(now, 1) },
  { words: "until Monday at 9", until: (now) => morningAfter(now, (8 - new Date(now).getDay()) % 7 || 7) },
];
