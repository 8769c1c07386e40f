/**
 * Two runs beside one another: the input and the output of each step, the decisions about it, its cost and its time.
 *
 * 1.  Steps are the same if they have the same id. A step that one of the runs lacks has no facts there.
 * 2.  It is a function of the two records: it knows no clock, and what has not ended has no time.
 */
import type { LedgerEvent } from "../contract/event.ts";
import type { Json } from "../contract/json.ts";
import type { WorkflowState } from "../contract/workflow-state.ts";
import { namePrincipal } from "./name-principal.ts";
import { tellSpan } from "./tell-span.ts";

/** A run with its events. */
export interface ComparedRun {
  readonly state: WorkflowState;
  readonly events: readonly LedgerEvent[];
}

/** The facts that are compared of a step, or of the run as a whole. */
export const comparedFacts = ["state", "input", "output", "decisions", "attempts", "cost", "time"] as const;
export type ComparedFact = (typeof comparedFacts)[number];

/** The facts of one side, as text; null for what is not there. */
export type SideFacts = Readonly<Record<ComparedFact, string | null>>;

/** A step of two runs, or the runs themselves. */
export interface ComparedRow {
  /** The id of the step; null for the run as a whole. */
  readonly step_id: string | null;
  readonly name: string;
  /** The facts of both runs; null where a run has no such step. */
  readonly sides: readonly [SideFacts | null, SideFacts | null];
  /** The facts that are not the same, `time` left out: no two runs take the same time. */
  readonly differs: readonly ComparedFact[];
}

/** Compares two runs: the runs as a whole first, then their steps in the order of the first run. */
export function compareRuns(one: ComparedRun, other: ComparedRun): readonly ComparedRow[] {
  const runs = [one, other] as const;
  const names = new Map(runs.flatMap(({ state }) => state.steps).map(({ step_id, name }) => [step_id, name]));
  return [
    rowOf(null, one.state.intent.type, [runFacts(one), runFacts(other)]),
    ...[...names].map(([id, name]) => rowOf(id, name, [stepFacts(one, id), stepFacts(other, id)])),
  ];
}

function rowOf(step_id: string | null, name: string, sides: ComparedRow["sides"]): ComparedRow {
  const [left, right] = sides;
  const isOther = (fact: ComparedFact): boolean => fact !== "time" && left?.[fact] !== right?.[fact];
  return { step_id, name, sides, differs: comparedFacts.filter(isOther) };
}

const textOf = (value: unknown): string => JSON.stringify(value ?? null);

function runFacts({ state: run }: ComparedRun): SideFacts {
  const { state, intent, response, spent, accepted_at, finished_at } = run;
  return {
    state,
    input: textOf(intent.inputs),
    output: response.text === "" ? null : response.text,
    decisions: null,
    attempts: null,
    cost: String(spent),
    time: spanOf(accepted_at, finished_at),
  };
}

function spanOf(from: string | undefined, to: string | null | undefined): string | null {
  if (from == null || to == null) return null;
  const ms = Date.parse(to) - Date.parse(from);
  if (ms < 1_000) return `${ms} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : tellSpan(ms);
}

function stepFacts({ state, events }: ComparedRun, stepId: string): SideFacts | null {
  const step = state.steps.find(({ step_id }) => step_id === stepId);
  if (step === undefined) return null;
  const own = events.filter(({ step_id }) => step_id === stepId);
  const last = (...types: readonly string[]) => own.findLast(({ event_type }) => types.includes(event_type));
  const started = last("ACTION_STARTED")?.payload["input"];
  const planned = state.plan?.steps.find(({ step_id }) => step_id === stepId)?.params;
  const output = last("STEP_SUCCEEDED")?.payload["output"];
  const isOver = step.state !== "running" && step.state !== "queued";
  return {
    state: step.state,
    input: textOf(started ?? planned),
    output: step.error === null ? (output === undefined ? null : textOf(output)) : step.error.message,
    decisions: decisionsIn(state, own, stepId),
    attempts: String(step.attempts),
    cost: String(costOf(own)),
    time: isOver ? spanOf(last("STEP_STARTED")?.timestamp, own.at(-1)?.timestamp) : null,
  };
}

/** Returns the last word of the rules about the call, and how each gate was decided by whom. */
function decisionsIn({ gates }: WorkflowState, events: readonly LedgerEvent[], stepId: string): string | null {
  const ruled = events.findLast(
    ({ event_type, payload }) => event_type === "POLICY_DECIDED" && payload["stage"] === "action",
  );
  const rules = ruled === undefined ? [] : [`rules: ${String(ruled.payload["decision"])}`];
  const people = gates
    .filter(({ step_id }) => step_id === stepId)
    .map(({ status, decision }) => {
      const who = decision?.principal == null ? "" : ` by ${namePrincipal(decision.principal)}`;
      return `gate ${status}${who}${decision?.edited === true ? " as edited" : ""}`;
    });
  const all = [...rules, ...people];
  return all.length === 0 ? null : all.join("; ");
}

/** Returns the cost that the calls of a step have reported, of all attempts. */
function costOf(events: readonly LedgerEvent[]): number {
  const costs = events.map(({ payload }) => (payload["usage"] as { readonly cost?: Json } | undefined)?.cost ?? 0);
  return costs.reduce<number>((sum, cost) => sum + (typeof cost === "number" ? cost : 0), 0);
}
