/**
 * Words for what the records name: states, effects, people, spans of time.
 *
 * Never: decides what follows from one; a word that is not known is shown as it is.
 */
import type { Gate } from "../../src/contract/gate.ts";
import type { WorkflowStateName } from "../../src/contract/progress.ts";
import type { StepKind } from "../../src/contract/step-kinds.ts";
import { tellSpan } from "../../src/protocol/tell-span.ts";

const effectWords: Readonly<Record<string, string>> = {
  none: "changes nothing outside",
  read: "only reads",
  write_draft: "writes a draft",
  final_write: "writes something final",
  external_send: "sends something outside",
  credential_use: "acts with somebody's credentials",
};
export const tellEffect = (effect: string): string => effectWords[effect] ?? effect;

const stateWords: Readonly<Record<WorkflowStateName, string>> = {
  accepted: "accepted",
  planned: "planned",
  running: "running",
  waiting_for_user: "waits for a person",
  waiting: "waits for a time, an event or another workflow",
  cancelling: "is being cancelled",
  compensating: "undoes what it has done",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
};
export const tellState = (state: string): string =>
  (stateWords as Readonly<Record<string, string>>)[state] ?? spaced(state);

/** `awaiting_approval` as people write it. */
export const spaced = (word: string): string => word.replaceAll("_", " ");

/** Returns how a state looks: by its outcome, and never by colour alone. */
export function toneOf(state: string): "good" | "bad" | "wait" | "held" | "busy" | "calm" {
  if (["completed", "succeeded", "approved"].includes(state)) return "good";
  if (["failed", "rejected", "expired", "in_doubt", "failing"].includes(state)) return "bad";
  if (["waiting_for_user", "awaiting_approval", "waiting", "parked", "open", "suspended"].includes(state))
    return "wait";
  if (state === "paused" || state === "held" || state === "queued") return "held";
  return ["running", "planned", "accepted", "cancelling", "compensating"].includes(state) ? "busy" : "calm";
}

export const tellPerson = ({
  type,
  id,
}: {
  readonly type?: string | undefined;
  readonly id: string | number;
}): string => (type === undefined ? String(id) : `${type} ${id}`);

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
] as const;

/** Returns a length of time exactly, in the largest unit of which it is a whole number: `90 seconds`. */
export function tellEvery(ms: number): string {
  const [unit, length] = units.find(([, size]) => ms % size === 0) ?? ["millisecond", 1];
  return count(ms / length, unit);
}

/** `340 ms`, `2.4 s`, then as above. */
export const tellDuration = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : tellSpan(ms);

export const count = (n: number, noun: string): string => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

/**
 * Who asked for the work: the gate's requester or, where it names none, the first of those who asked for what it shows.
 */
export function tellAsker({ requester, requesters = [] }: Pick<Gate, "requester" | "requesters">): string {
  const asker = requester ?? requesters[0];
  return asker === undefined ? "Somebody" : tellPerson(asker);
}

/**
 * Returns whether a step undoes the work of another one, or asks people about that. Only the kernel gives an id with a
 * colon, such as `undo:pay`.
 */
export const isUndo = ({ step_id }: { readonly step_id: string }): boolean => step_id.startsWith("undo:");

const kindWords: Readonly<Record<StepKind, string>> = {
  call: "call",
  respond: "answer",
  sleep: "waits for a time",
  wait: "waits for an event",
  fail: "ends the run",
  run: "runs a child",
  ask: "asks people",
  each: "for each item",
  repeat: "repeats",
  rollback: "rolls back a child",
};
/** Returns what a step of a kind does. */
export const tellKind = (kind: StepKind): string => kindWords[kind];

const statusWords: Readonly<Record<string, string>> = {
  approved: "approved",
  rejected: "rejected",
  expired: "expired",
  voided: "no longer needed",
};

/** Returns whether a gate may still be decided. */
export const isOpen = ({ status }: Pick<Gate, "status">): boolean => status === "open" || status === "suspended";

/** Returns how a gate was decided, in a sentence without its end. */
export function tellDecided({ status, decision }: Pick<Gate, "status" | "decision">): string {
  const word = statusWords[status] ?? spaced(status);
  if (status === "approved" && decision === null) return `${word} by nobody: its time ran out`;
  if (decision === null || decision.principal === null) return word;
  return `${word} by ${tellPerson(decision.principal)}`;
}

/** Returns the names of the steps of a run, by their ids. */
export const nameSteps = ({
  steps,
}: {
  readonly steps: readonly { readonly step_id: string; readonly name: string }[];
}): ReadonlyMap<string, string> => new Map(steps.map(({ step_id, name }) => [step_id, name]));
