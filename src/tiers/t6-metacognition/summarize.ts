/**
 * The summary of an explanation: what was decided and by whom, what failed, and what ran without anybody being asked.
 *
 * 1.  It has at most `maxLines` lines. What people decided stands first; a last line counts those that are left out.
 * 2.  What holds for several steps is one line: "no rule matched" stands there once.
 */
import { cutToLine } from "../../contract/cut-text.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import { type Gate, isOpenGate } from "../../contract/gate.ts";
import { type EventReaders, readEvent } from "../../contract/read-event.ts";
import { plannedSteps, type StepRecord, type WorkflowRecord } from "../../contract/workflow.ts";
import { describeLifts, describeRevision, quoted, who } from "./explain-words.ts";

const maxLines = 10;
const maxChars = 300;
const maxNames = 4;

export function summarize(record: WorkflowRecord, events: readonly LedgerEvent[]): readonly string[] {
  const steps = [...plannedSteps(record)];
  const all = [
    describeRequest(record),
    ...events.flatMap((event) => readEvent(decisions, event, record) ?? []),
    ...[...record.gates.values()].filter(isOpenGate).map(describeOpen),
    ...steps.flatMap(describeRefusal),
    ...describeAllowed(steps),
    ...describeStates(steps),
    ...describeFinal(record),
  ].map((line) => cutToLine(line, maxChars));
  if (all.length <= maxLines) return all;
  return [...all.slice(0, maxLines - 1), `and ${all.length - maxLines + 1} more`];
}

const ends: { readonly [S in WorkflowRecord["state"]]?: string } = {
  completed: "it has completed",
  failed: "it has failed",
  cancelled: "it was cancelled",
  waiting_for_user: "it waits for a person",
};

function describeRequest({ intent: { actor, type, version }, state, error }: WorkflowRecord): string {
  const end = ends[state] ?? `it is ${state}`;
  const asked = `${actor.type} ${actor.id} asked for ${type}@${version}; ${end}`;
  return error === null ? asked : `${asked}: ${error.message}`;
}

const titleOf = (gateId: string, { gates }: WorkflowRecord): string => gates.get(gateId)?.title ?? gateId;

const reasonsOf = ({ reasons }: Pick<Gate, "reasons">): string => reasons.map(({ reason }) => reason).join("; ");

/** The lines about decisions of people, and about gates that nobody decided in time. */
const decisions: EventReaders<string | null, [WorkflowRecord]> = {
  USER_APPROVED: ({ gate_id, answer, edited, resolution, comment, ...decided }, { step_id }, record) => {
    const approved = `approved${edited ? " after an edit" : ""}`;
    const did = answer !== undefined ? "answered" : resolution === null ? approved : `settled as ${resolution}`;
    const step = record.steps.get(step_id ?? "");
    const ran = step?.state === "succeeded" ? `; ${step.step.operator} has run` : "";
    return `${titleOf(gate_id, record)}: ${did} by ${who(decided)}${quoted(comment)}${ran}`;
  },
  USER_REJECTED: ({ gate_id, comment, ...decided }, _event, record) =>
    `${titleOf(gate_id, record)}: rejected by ${who(decided)}${quoted(comment)}`,
  GATE_REVISED: (revised, event, record) =>
    revised.cause === "edit"
      ? `${titleOf(revised.gate.gate_id, record)}: ${describeRevision(revised, event, record)}`
      : null,
  GATE_EXPIRED: ({ gate_id, action }, _event, record) =>
    `${titleOf(gate_id, record)}: nobody decided in time, which means ${action}`,
};

const describeOpen = (gate: Gate): string => `${gate.title}: waits for a person, because ${reasonsOf(gate)}`;

/** Says why a step was denied, or has failed. */
function describeRefusal({ step: { name }, decision, state, attempts, error }: StepRecord): readonly string[] {
  if (decision?.decision === "DENY") return [`${name}: denied, because ${decision.reason}`];
  if (state !== "failed" || error === null) return [];
  const tries = attempts.length === 1 ? "1 attempt" : `${attempts.length} attempts`;
  return [`${name}: failed after ${tries}: ${error.message}`];
}

/** Names the steps that policy let run without asking anybody, by the reason. */
function describeAllowed(steps: readonly StepRecord[]): readonly string[] {
  const free = steps.filter(({ decision }) => decision !== null && !["DENY", asked].includes(decision.decision));
  const byReason = Map.groupBy(free, ({ decision }) => `${decision?.reason}${describeLifts(decision?.lifts)}`);
  return [...byReason].map(([reason, group]) => `${listNames(group)}: allowed, because ${reason}`);
}
const asked = "REQUIRE_HUMAN_APPROVAL";

/** Counts the steps that did not run. */
function describeStates(steps: readonly StepRecord[]): readonly string[] {
  const words = { skipped: "skipped", queued: "not begun" } as const;
  return Object.entries(words).flatMap(([state, word]) => {
    const group = steps.filter((step) => step.state === state);
    return group.length === 0 ? [] : [`${listNames(group)}: ${word}`];
  });
}

const describeFinal = ({ outcomes }: WorkflowRecord): readonly string[] =>
  [...outcomes.values()].flatMap((versions) =>
    versions
      .filter(({ status }) => status === "final")
      .map(({ outcome_type, version }) => `${outcome_type}: final as version ${version}`),
  );

function listNames(steps: readonly StepRecord[]): string {
  const names = steps.map(({ step }) => step.name);
  const left = names.length - maxNames;
  return left <= 0 ? names.join(", ") : `${names.slice(0, maxNames).join(", ")} and ${left} more`;
}
