/**
 * Running again.
 *
 * 1.  resume_failed_steps, from failed only: runs failed and never-run steps again, and those that the budget blocked.
 *     A step that policy or a person denied is never run again, nor is a failure after which the plan continued, unless
 *     a step that is run again needs it. A condition that left a step out is evaluated again if a step before it is run
 *     again.
 * 2.  regenerate, from failed, waiting or waiting_for_user: does named steps and their transitive dependents again. A
 *     step that had succeeded, is parked, has added steps, or was left out by its condition is done again under a new
 *     id `_rN`; any other keeps its id and follows the new inputs.
 * 3.  The keys of steps that are done again change with the draft version; all others stay.
 * 4.  A step whose child is running is not done again before that child has ended.
 * 5.  A step whose call is in doubt is not done again before a person has settled that call.
 */
import type { Condition } from "../../../../contract/condition.ts";
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import { gateIdOf, gatesIn } from "../../../../contract/gate.ts";
import type { Principal } from "../../../../contract/intent.ts";
import type { JsonObject } from "../../../../contract/json.ts";
import type { Plan, PlanStep, StepTemplate } from "../../../../contract/plan.ts";
import type { WorkflowStateName } from "../../../../contract/progress.ts";
import {
  addedBy,
  isHandled,
  isLeftOut,
  isStepDone,
  type StepRecord,
  stepsOf,
  type WorkflowRecord,
} from "../../../../contract/workflow.ts";
import { requireOthers } from "../gate/separate-duties.ts";
import { renameReferences } from "../payload/resolve-templates.ts";
import type { Command } from "../run/input.ts";
import { baseIdOf, oodaRef, type Run } from "../run/run.ts";
import { planEvents } from "./plan-workflow.ts";
import { queueSteps } from "./queue-steps.ts";
import { endedBy } from "./stop-by-plan.ts";

const retryRef = oodaRef("retry");
const recoverable: ReadonlySet<string> = new Set([
  "dependency_failed",
  "budget",
  "replanned",
  "plan_failed",
  "too_many_failed",
]);

const conflict = (message: string, record: WorkflowRecord): never =>
  raise(
    kernelError("T4_WORKFLOW_CONFLICT", message, retryRef, {
      detail: { state: record.state, workflow_id: record.workflow_id },
    }),
  );

type Restart = Omit<Extract<Command, { readonly kind: "retry" }>, "kind" | "auth">;

/**
 * Appends the changes of a restart; the run then continues by itself. @throws KernelErrorException
 * T4_WORKFLOW_CONFLICT.
 */
export function restartWorkflow(run: Run, request: Restart): void {
  if (run.log.record.compensating !== null)
    conflict("what this workflow has done is being undone, or is undone; submit the work anew", run.log.record);
  if (request.mode === "regenerate") regenerate(run, request);
  else resumeFailed(run, request);
}

function resumeFailed(run: Run, request: Restart): void {
  const { record } = run.log;
  if (record.state !== "failed")
    conflict(`only a failed workflow resumes its failed steps; this one is ${record.state}`, record);
  const ids = withAdded(record, stepsToResume(stepsOf(record)));
  if (record.plan !== null && ids.length === 0)
    conflict("nothing of this workflow may run again; regenerate it instead", record);
  leaveToOthers(run, request.principal, new Set());
  noteRestarted(run, ids, { ...request, mode: "resume_failed_steps" });
  run.log.note(...queueSteps(record, ids));
}

/** Returns the ids of the steps that a resumption runs again, or whose condition it evaluates again. */
function stepsToResume(steps: readonly StepRecord[]): ReadonlySet<string> {
  const open = steps.filter((one) => mayRunAgain(one) && !isHandled(one, steps));
  const again = new Set(open.map(({ step }) => step.step_id));
  for (const { step } of steps.toReversed())
    if (again.has(step.step_id)) for (const id of neededBy(step, steps)) again.add(id);
  const touched = new Set(again);
  for (const one of steps) {
    const { step_id, depends_on } = one.step;
    if (!depends_on.some((id) => touched.has(id))) continue;
    touched.add(step_id);
    if (isLeftOut(one)) again.add(step_id);
  }
  return again;
}

/** Returns these steps, each with those of its items and rounds that may run again. */
const withAdded = (record: WorkflowRecord, ids: ReadonlySet<string>): readonly string[] =>
  [...ids].flatMap((id) => [id, ...[...addedBy(record, id)].filter(mayRunAgain).map(({ step }) => step.step_id)]);

/** Returns the steps whose success a step needs, as far as they may run again. */
function neededBy({ depends_on, settled = [] }: PlanStep, steps: readonly StepRecord[]): readonly string[] {
  const needed = new Set(depends_on.filter((id) => !settled.includes(id)));
  return steps.filter((one) => needed.has(one.step.step_id) && mayRunAgain(one)).map(({ step }) => step.step_id);
}

function noteRestarted(run: Run, step_ids: readonly string[], { mode, principal, feedback }: Restart): void {
  const askedBy = { run: run.log.record.run + 1, step_ids, mode, principal };
  run.log.note(draft("WORKFLOW_RESTARTED", feedback === undefined ? askedBy : { ...askedBy, feedback }));
}

function mayRunAgain(step: StepRecord): boolean {
  if (step.state === "failed") return !step.blocked || step.error?.code === "T5_BUDGET_EXHAUSTED";
  return step.state === "queued" || (step.state === "skipped" && recoverable.has(step.skip_reason ?? ""));
}

const regenerable: ReadonlySet<WorkflowStateName> = new Set(["failed", "waiting_for_user", "waiting"]);

function regenerate(run: Run, request: Restart): void {
  const { principal, step_ids, feedback } = request;
  const { record } = run.log;
  const { plan } = record;
  if (plan === null || !regenerable.has(record.state))
    return conflict(`a ${record.state} workflow cannot be regenerated in place`, record);
  const affected = affectedSteps(record, plan, step_ids);
  requireNoDoubt(record, affected);
  requireNoChild(record, affected);
  requireNoEnd(record, affected);
  leaveToOthers(run, principal, affected);
  const next = regeneratedPlan(run, plan, affected);
  const rerun = [...affected].filter((id) => isNeverRun(record.steps.get(id)) && !record.standing.groups.has(id));
  if (record.state === "failed") noteRestarted(run, rerun, request);
  else {
    const askedBy = { ...(principal && { principal }), ...(feedback === undefined ? {} : { feedback }) };
    run.log.note(draft("WORKFLOW_RESUMED", { gate_id: null, step_id: null, ...askedBy }));
  }
  run.log.note(...planEvents(run, { plan: next, dropped: [], cost: 0 }, "regenerate", step_ids));
  const before = new Set(plan.steps.map((s) => s.step_id));
  const added = next.steps.map((s) => s.step_id).filter((id) => !before.has(id));
  run.log.note(...queueSteps(record, [...new Set([...rerun, ...added])]));
}

/** Yields the records of these steps, and of the items and rounds that they have added. */
function* eachWithAdded(record: WorkflowRecord, ids: ReadonlySet<string>): Iterable<StepRecord> {
  for (const id of ids) {
    const step = record.steps.get(id);
    if (step !== undefined) yield step;
    yield* addedBy(record, id);
  }
}

/**
 * Refuses to redo a step whose lost call a person is asked about: the question concerns that call, which must not be
 * repeated meanwhile.
 */
function requireNoDoubt(record: WorkflowRecord, affected: ReadonlySet<string>): void {
  for (const { step, phase } of eachWithAdded(record, affected))
    if (phase === "in_doubt")
      conflict(`whether the call of step ${step.step_id} took effect is asked at its gate: answer that first`, record);
}

/** Refuses to redo a step whose child is running, because the child's work would be done twice. */
function requireNoChild(record: WorkflowRecord, affected: ReadonlySet<string>): void {
  for (const { step, phase, parked } of eachWithAdded(record, affected))
    if (phase === "parked" && parked?.source === "workflow")
      conflict(`step ${step.step_id} waits for its child ${parked.key}: cancel the child first`, record);
}

/**
 * Refuses to continue after a step that has ended the workflow by the plan's choice, unless that step is evaluated
 * again.
 */
function requireNoEnd(record: WorkflowRecord, affected: ReadonlySet<string>): void {
  const id = endedBy(record)?.step.step_id;
  if (id !== undefined && !affected.has(id))
    conflict(`step ${id} has ended this workflow, as its plan chose: name ${id}, or a step that it depends on`, record);
}

/**
 * Requires enough other deciders at gates that separate duties, since the person who has work done again becomes a
 * requester.
 */
function leaveToOthers(run: Run, asker: Principal | null, affected: ReadonlySet<string>): void {
  const { plan, steps, gates } = run.log.record;
  const isAhead = (id: string): boolean => isNeverRun(steps.get(id)) || steps.get(id)?.state === "running";
  const isAsked = (id: string): boolean => isAhead(id) && gates.get(gateIdOf(id))?.status !== "approved";
  const asked = plan?.steps.filter(({ step_id: id }) => affected.has(id) || isAsked(id)) ?? [];
  if (asker !== null) requireOthers(run, asker, asked);
}

const isNeverRun = (step: StepRecord | undefined): boolean => step !== undefined && mayRunAgain(step);

/**
 * Returns the named steps (without names, those that drafted an outcome) and all steps that depend on them.
 * @throws KernelErrorException T4_WORKFLOW_CONFLICT if a name is not in the plan, or nothing is left to regenerate.
 */
export function affectedSteps(
  record: WorkflowRecord,
  plan: Plan,
  named: readonly string[] | undefined,
): ReadonlySet<string> {
  const seeds =
    named ??
    plan.steps
      .filter((s) => s.outcome !== null && record.steps.get(s.step_id)?.state === "succeeded")
      .map((s) => s.step_id);
  const unknown = seeds.find((id) => !plan.steps.some((s) => s.step_id === id));
  if (unknown !== undefined || seeds.length === 0)
    conflict(
      unknown === undefined
        ? "no step has drafted an outcome to regenerate; name step_ids"
        : `step ${unknown} is not in the current plan`,
      record,
    );
  const affected = new Set(seeds);
  for (const step of plan.steps) if (step.depends_on.some((id) => affected.has(id))) affected.add(step.step_id);
  return affected;
}

function regeneratedPlan(run: Run, plan: Plan, affected: ReadonlySet<string>): Plan {
  const { record } = run.log;
  const round = record.plans.length;
  const renamed = new Map(
    [...affected]
      .filter((id) => isOver(record.steps.get(id)) || record.standing.groups.has(id))
      .map((id) => [id, `${baseIdOf(id)}_r${round}`]),
  );
  // Each round has its own number, even if no round before it has drafted anything.
  const draftVersion = Math.max(record.draft_version, ...plan.steps.map((step) => step.draft_version)) + 1;
  const steps = plan.steps.map((step) => (affected.has(step.step_id) ? redo(step, renamed, draftVersion) : step));
  return {
    ...plan,
    plan_id: run.drawId("plan"),
    parent_plan_id: plan.plan_id,
    reasoning: `regenerated: ${[...affected].join(", ")}`,
    steps,
    gates: gatesIn(steps),
  };
}

/** Returns whether a step succeeded, is parked, or ended in a way that cannot be taken up under the same id. */
const isOver = (step: StepRecord | undefined): boolean =>
  step !== undefined && (step.phase === "parked" || (isStepDone(step.state) && !mayRunAgain(step)));

function redo(step: PlanStep, renamed: ReadonlyMap<string, string>, draftVersion: number): PlanStep {
  const named = (id: string): string => renamed.get(id) ?? id;
  const target = step.applies === null ? null : named(step.applies);
  const rename = (params: unknown, literals?: PlanStep["literals"]) =>
    renameReferences({ params, literals } as Parameters<typeof renameReferences>[0], renamed);
  return {
    ...step,
    step_id: named(step.step_id),
    depends_on: step.depends_on.map(named),
    params: rename(step.params, step.literals) as JsonObject,
    ...(step.settled !== undefined && { settled: step.settled.map(named) }),
    ...(step.when !== undefined && {
      when: rename(step.when, step.when_literals) as Condition,
    }),
    ...(step.undo !== undefined && { undo: redoTemplate(step.undo, rename) }),
    ...(step.each !== undefined && { each: { ...step.each, do: redoTemplate(step.each.do, rename) } }),
    ...(step.repeat !== undefined && {
      repeat: {
        ...step.repeat,
        do: redoTemplate(step.repeat.do, rename),
        until: rename(step.repeat.until, step.repeat.until_literals) as Condition,
      },
    }),
    applies: target,
    idempotency: { ...step.idempotency, target },
    draft_version: draftVersion,
  };
}

const redoTemplate = (
  template: StepTemplate,
  rename: (written: unknown, literals?: PlanStep["literals"]) => unknown,
): StepTemplate => ({
  ...template,
  params: rename(template.params, template.literals) as JsonObject,
  ...(template.undo !== undefined && { undo: redoTemplate(template.undo, rename) }),
  ...(template.when !== undefined && { when: rename(template.when, template.when_literals) as Condition }),
});
