/**
 * Compensation: what the steps of a workflow have done is undone, before it ends as failed or cancelled, or once a
 * person rolls back a workflow that has ended.
 *
 * 1.  The steps that have succeeded and have an `undo` are undone one after another, in the reverse order of their
 *     ends. Each undo is a step of its own, a call under policy, budget, key and gates like any other. Two steps that
 *     share one call are undone once. A call that another workflow made is undone if that workflow has left its work.
 *     A step that ran a child is undone by rolling back that child, if the child has done something that can be undone.
 * 2.  What was done up to the last success of a step with `pivot` is not undone.
 * 3.  A person is asked about an undo that failed or was refused: it is done by other means, it is called once more, or
 *     it stays. Nothing is passed over silently.
 * 4.  The budget of the request does not keep anything from being undone; budgets over workflows do.
 */
import { addedIdOf, isUndoing } from "../../../../../machines/added-id.ts";
import { type Compensated, type Ending, undoForm } from "../../../../contract/compensation.ts";
import { draft } from "../../../../contract/event.ts";
import { gateIdOf } from "../../../../contract/gate.ts";
import type { Json, JsonObject } from "../../../../contract/json.ts";
import type { PlanStep, StepTemplate } from "../../../../contract/plan.ts";
import type { AddedAs } from "../../../../contract/step-group.ts";
import { kindNames } from "../../../../contract/step-kinds.ts";
import { addedBy, type StepRecord, type WorkflowRecord } from "../../../../contract/workflow.ts";
import type { Run } from "../run/run.ts";
import { queueSteps } from "./queue-steps.ts";

/** Notes that the workflow undoes what it has done before it ends. Returns false if there is nothing to undo. */
export function beginCompensating(run: Run, ending: Ending): boolean {
  const { record } = run.log;
  const steps = record.compensating === null ? stepsToUndo(record) : [];
  if (steps.length === 0) return false;
  run.log.note(draft("WORKFLOW_COMPENSATING", { ending, steps }));
  return true;
}

/** Returns the ids of the steps that are to be undone: the one that succeeded last is the first. */
export function stepsToUndo(record: WorkflowRecord): readonly string[] {
  const { steps, standing } = record;
  const seen = new Set<string>();
  const isFirst = (id: string): boolean => !seen.has(id) && seen.add(id) === seen;
  const found: string[] = [];
  for (const id of standing.succeeded.toReversed()) {
    const step = steps.get(id);
    if (step?.state !== "succeeded" || !isFirst(id)) continue;
    if (step.step.pivot === true) break;
    if (!canBeUndone(step)) continue;
    // A call that several steps share is undone with the last of them, also if that was in an earlier compensation.
    const isOwn = step.action_id === null || isFirst(step.action_id);
    if (isOwn && !isUndone(record, id)) found.push(id);
  }
  return found;
}

/** Returns whether the plan, or the child that a step ran, states how what it did is undone. */
function canBeUndone({ step, child, answered_by, takes_over }: StepRecord): boolean {
  if (step.kind === "run") return child?.end?.undoable === true;
  return step.undo !== undefined && (answered_by === null || takes_over);
}

/** Returns whether a call of a workflow is undone, or is being undone. */
export function isTakenBack(record: WorkflowRecord, actionId: string): boolean {
  const { compensating, steps, finished_at } = record;
  const of = compensating?.steps.find((id) => steps.get(id)?.action_id === actionId);
  return of !== undefined && (finished_at === null || isUndone(record, of));
}

/** Adds the next undo, or the question about one. Returns false if nothing is left to undo, or something runs. */
export function undoNext(run: Run): boolean {
  const { record } = run.log;
  if (record.compensating === null || record.standing.running.size > 0) return false;
  for (const id of record.compensating.steps) {
    const next = nextFor(record, id);
    if (next === null) continue;
    run.log.note(draft("STEPS_ADDED", next, next.of));
    run.log.note(...queueSteps(record, [addedIdOf(next.of, next.as, Number(next.items[0].key) - 1)]));
    return true;
  }
  return false;
}

interface Addition {
  readonly of: string;
  readonly as: AddedAs;
  readonly items: readonly [{ readonly key: string; readonly value: Json }];
  readonly asks?: StepTemplate;
}

/** Returns what is to be added so that a step is undone; null if it is undone, or is to stay as it is. */
function nextFor(record: WorkflowRecord, of: string): Addition | null {
  const attempts = [...addedBy(record, of)];
  const again: Addition = {
    ...{ of, as: "undo", items: [{ key: String(attempts.length + 1), value: null }] },
    ...rollbackOf(record, of),
  };
  const last = attempts.at(-1);
  if (last === undefined || attempts.length === record.compensating?.attempts?.[of]) return again;
  if (last.state === "succeeded") return null;
  const answer = answerTo(record, last);
  if (answer === undefined)
    return {
      of: last.step.step_id,
      as: "question",
      items: [{ key: "1", value: errorOf(last) }],
      asks: questionAbout(last.step),
    };
  return answer === "retry" ? again : null;
}

/** Returns the step that rolls back the child of a step, as a member of its addition; nothing for any other step. */
function rollbackOf(record: WorkflowRecord, of: string): Pick<Addition, "asks"> {
  const { step, child } = record.steps.get(of) as StepRecord;
  if (step.kind !== "run" || child === null) return {};
  return {
    asks: {
      kind: "rollback",
      name: `Roll back ${step.name}`.slice(0, 256),
      operator: kindNames.rollback,
      operator_version: "1.0",
      params: { child: child.workflow_id },
      outputs: [],
      policy_tags: step.policy_tags,
      risk_level: step.risk_level,
      effect: "none",
      gate: null,
      estimated_cost: 0,
    },
  };
}

/**
 * Returns what people stated about an undo that did not succeed; undefined if they were not asked. Their answer stands
 * with the gate, whatever the host's screening made of it as an output.
 */
function answerTo(record: WorkflowRecord, undo: StepRecord): string | undefined {
  const [question] = addedBy(record, undo.step.step_id);
  if (question === undefined) return undefined;
  const { answer } = record.gates.get(gateIdOf(question.step.step_id))?.decision ?? {};
  const { resolution = "leave" } = (answer ?? {}) as { readonly resolution?: string };
  return question.state === "succeeded" ? resolution : "leave";
}

/** Returns the question to people about an undo that did not succeed. */
const questionAbout = ({ step_id, name, operator, policy_tags, risk_level }: PlanStep): StepTemplate => ({
  kind: "ask",
  name: `${name} did not succeed`.slice(0, 256),
  operator: kindNames.ask,
  operator_version: "1.0",
  params: {
    question: `${operator} did not undo what was done. What holds now?`,
    show: { undo: step_id, error: "{{item.output}}" },
    form: undoForm as unknown as JsonObject,
  },
  outputs: [],
  policy_tags,
  risk_level,
  effect: "none",
  gate: { reason: "an undo did not succeed" },
  estimated_cost: 0,
});

const errorOf = ({ error, skip_reason }: StepRecord): Json =>
  error === null ? { skipped: skip_reason } : { code: error.code, message: error.message };

/** Returns how much of what was to be undone is undone; undefined if nothing was. */
export function compensatedIn(record: WorkflowRecord): Compensated | undefined {
  if (record.compensating === null) return undefined;
  const parts = new Set(record.compensating.steps.map((id) => partOf(record, id)));
  const [only = "all"] = parts;
  return parts.size > 1 ? "partly" : only;
}

const isUndone = (record: WorkflowRecord, of: string): boolean => partOf(record, of) === "all";

/** Returns the part of what a step has done that is undone; of a child's work the part that the child has undone. */
function partOf(record: WorkflowRecord, of: string): Compensated {
  const last = [...addedBy(record, of)].at(-1);
  if (last === undefined || !isUndoing(last.added?.as ?? "item")) return "none";
  if (last.state !== "succeeded") return answerTo(record, last) === "done" ? "all" : "none";
  return last.step.kind === "rollback" ? (last.child?.end?.compensated ?? "none") : "all";
}
