/**
 * Makes the plan of an accepted intent, or of a failed round: context (T2), budget, planning (T3), policy (T5).
 *
 * 1.  If the budget is exhausted the planner is not asked (PLN-05, RPL-07).
 * 2.  The plan passes policy before any of its steps runs (PLN-11).
 * 3.  Steps of a planner's plan beyond the limit are dropped with an event each, and the state warns of it.
 */

import type { AddedInput } from "../../../../contract/added-input.ts";
import type { ChangedCall } from "../../../../contract/capability.ts";
import { digest } from "../../../../contract/digest.ts";
import { type KernelError, KernelErrorException } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft, type EventDraft, type EventPayloads } from "../../../../contract/event.ts";
import type { DeclinedOutput } from "../../../../contract/events/step-events.ts";
import { gateIdOf, gatesIn } from "../../../../contract/gate.ts";
import { t2 } from "../../../../contract/messages/t2.ts";
import { type PlanAnswer, t3 } from "../../../../contract/messages/t3.ts";
import { t5 } from "../../../../contract/messages/t5.ts";
import { t6 } from "../../../../contract/messages/t6.ts";
import { addMoney } from "../../../../contract/money.ts";
import type { Plan, PlanStep, StepTemplate } from "../../../../contract/plan.ts";
import { planSubject } from "../../../../contract/policy-subject.ts";
import { addsSteps, callsOperator } from "../../../../contract/step-kinds.ts";
import { isStepDone, plannedSteps, type StepRecord, type WorkflowRecord } from "../../../../contract/workflow.ts";
import { workOf } from "../call/admit-call.ts";
import { tellTier, toTier } from "../run/intention.ts";
import { judgeSubject, requireAllowed } from "../run/note-decision.ts";
import { ask, capabilityOf, hasGoneThrough, oodaRef, type Run } from "../run/run.ts";
import { isTaken, planTakenOver, requireSameWork } from "./take-over.ts";

const planRef = oodaRef("plan");

/** Makes and appends a plan. @throws KernelErrorException if there can be no plan; PLAN_REJECTED is appended. */
export function planWorkflow(run: Run): void {
  const { record } = run.log;
  const round = record.plan === null ? 0 : record.round + 1;
  if (record.bundle === null) buildContext(run);
  const data = { spent: run.log.record.spent, work: planningOf(run) };
  ask(run, "budget", toTier(t5.checkPlanningBudget, { fn: "plan", data }));
  const cause = round === 0 ? "submit" : hasGoneThrough(record, record.plan) ? "continue" : "replan";
  if (cause === "replan") run.mark?.("replan", { round });
  try {
    const taken = planTakenOver(run);
    if (taken !== null) {
      const judged = judgePlan(run, taken);
      return run.log.note(...planEvents(run, { plan: judged, dropped: [], cost: 0 }, "fork"));
    }
    run.mark?.("plan.create", { round });
    const request = run.scopes.keep("request", () => planRequest(run, round));
    const answer = ask(run, "plan", toTier(t3.plan, { fn: "orient", data: request }));
    run.mark?.("policy.record_cost", { total_cost: answer.cost });
    requireSameWork(record, answer.plan);
    const judged = judgePlan(run, answer.plan);
    if (record.pipeline === "enhanced") reviewPlan(run, judged);
    run.log.note(...planEvents(run, { ...answer, plan: judged }, cause));
  } catch (thrown) {
    if (thrown instanceof KernelErrorException && run.log.lost === null) rejectPlan(run, thrown.error);
    throw thrown;
  }
}

/** Has T6's load monitor review the plan of an enhanced pipeline; a finding is a warning. */
function reviewPlan(run: Run, plan: Plan): void {
  run.intend(tellTier(t6.reviewPlan, { fn: "plan", data: { calls: callsOf(plan) } }));
}

const callsOf = ({ steps }: Plan): string[] => steps.map((s) => `${s.operator}(${JSON.stringify(s.params)})`);

function buildContext(run: Run): void {
  const { objective } = run;
  const { intent, auth, thread_id, workflow_id } = run.log.record;
  const data = { intent, auth, thread_id, workflow_id, objective };
  const answer = ask(run, "context", toTier(t2.buildContext, { fn: "observe", data }));
  run.log.note(draft("CONTEXT_BUILT", answer));
}

/** Returns the work of a round of planning as T5 admits it: a token that counts for the package. */
function planningOf(run: Run) {
  const { tokens, intent } = run.log.record;
  const resources = { cpu_time: 0, memory_bytes: 0, network_bytes: 0, tokens: 0 };
  return workOf(run, { token_id: tokens + 1, name: intent.type, resources, budget: { limit: null, consumed: 0 } });
}

function planRequest(run: Run, round: number) {
  const { objective } = run;
  const { record } = run.log;
  return {
    intent: record.intent,
    auth: record.auth,
    bundle: record.bundle,
    objective: objective ?? (record.intent.text || record.intent.type),
    workflow_id: record.workflow_id,
    plan_id: round === 0 ? record.plan_id : run.drawId("plan"),
    parent_plan_id: record.plan?.plan_id ?? null,
    used_step_ids: [...record.standing.planned],
    regenerate: { steps: record.regenerate, draft_version: record.draft_version, kept: record.kept_drafts },
    requesters: record.requesters,
    situation: { ...situationOf(record, round, objective), max_steps: maxStepsOf(run) },
  };
}

/** Returns the number of steps that a plan of this workflow may have. */
const maxStepsOf = (run: Run): number => capabilityOf(run).limits.maxSteps ?? run.settings.limits.maxSteps;

/** Returns the state of the rounds before, for the planner. */
function situationOf(record: WorkflowRecord, round: number, objective: string | null) {
  const steps = [...plannedSteps(record)];
  return {
    round,
    completed: steps
      .filter((s) => s.state === "succeeded")
      .map((s) => ({ step_id: s.step.step_id, output: s.output, ...changeOf(record, s) })),
    failed: steps
      .filter((s) => s.state === "failed" || s.skip_reason === "declined")
      .map((s) => ({ step_id: s.step.step_id, ...failureOf(record, s), ...changeOf(record, s) })),
    ...(round > 0 && { used: usedOf(record) }),
    objective,
    ...(record.inputs.length > 0 && { inputs: record.inputs.flatMap(placedInput) }),
  };
}

/** Returns the tokens and the money that the calls of a workflow have reported. */
function usedOf({ actions }: WorkflowRecord) {
  let [tokens, money] = [0, 0];
  for (const { record } of actions.values()) {
    tokens += record.tokens?.total ?? 0;
    money = addMoney(money, record.cost?.total ?? 0);
  }
  return { tokens, money };
}

/** Returns a message whose place is known: no plan was being made when it came, or that plan is there. */
const placedInput = ({ text, author, follows }: WorkflowRecord["inputs"][number]): readonly AddedInput[] =>
  follows === undefined ? [] : [{ text, author, follows }];

/** Returns the code and the message of a step that failed or was rejected, with the comment of the person. */
function failureOf({ gates }: WorkflowRecord, { step, error, output }: StepRecord) {
  const { decision, status } = gates.get(gateIdOf(step.step_id)) ?? {};
  const isRejected = decision?.decision === "reject" && status === "rejected";
  const comment = isRejected && decision.comment !== null ? `: ${decision.comment}` : "";
  if (error !== null) return { code: error.code, message: `${error.message}${comment}` };
  const { code } = (output as unknown as DeclinedOutput).rejected;
  const why = code === "T5_GATE_EXPIRED" ? "nobody decided on it in time" : "a person rejected it";
  return { code, message: `${why}${comment}` };
}

const changing: ReadonlySet<unknown> = new Set(["TRANSFORM", "ALLOW_WITH_REDACTION"]);

/**
 * Returns the changes that a person's edit, a transform or a redaction made to the call; nothing if it was made as
 * planned.
 */
function changeOf(record: WorkflowRecord, { step, action_id, input, policy_events }: StepRecord) {
  const ran = record.actions.get(action_id ?? "")?.record.input_payload ?? input;
  if (action_id === null || digest(ran) === digest(step.params)) return {};
  const gate = record.gates.get(gateIdOf(step.step_id));
  const byRules = (policy_events as unknown as readonly PolicyEvent[])
    .filter(({ stage, decision }) => stage === "action" && changing.has(decision))
    .map(({ reason }) => ({ by: "rule" as const, reason: reason || null }));
  const byPerson = gate?.edited === true ? [{ by: "person" as const, reason: gate.decision?.comment ?? null }] : [];
  const changes = [...byRules, ...byPerson];
  const changed: ChangedCall = { input: ran, changes };
  return changes.length === 0 ? {} : { changed };
}

type PolicyEvent = Pick<EventPayloads["POLICY_DECIDED"], "stage" | "decision" | "reason">;

/**
 * Judges the plan by policy; a demand for approval becomes a gate on the plan's first steps. Such a demand on the plan
 * of its parent holds for a child that the first step of that plan runs.
 */
function judgePlan(run: Run, plan: Plan): Plan {
  const asked = { key: "judge", stage: "plan", subject: plan.plan_id, step_id: null, keep: true } as const;
  const decision = judgeSubject(run, planSubject(plan.plan_id, plan.steps), asked);
  requireAllowed(decision, { otherwise: "the plan was denied by policy", source: planRef });
  const { record } = run.log;
  const isOver = (id: string): boolean => isTaken(record, id);
  if (decision.decision === "REQUIRE_HUMAN_APPROVAL") return gateFirstSteps(plan, decision.reason, isOver);
  const { approval } = record.parent ?? {};
  return approval === undefined ? plan : gateFirstSteps(plan, approval, isOver);
}

/**
 * Adds a gate to the first steps: the calls and children that come after no other of this plan, also those of each item
 * and round. Steps of an earlier round, and those that a fork takes over, do not count. The demand on a step that runs
 * a child is passed to that child.
 */
function gateFirstSteps(plan: Plan, reason: string, isOver: (stepId: string) => boolean): Plan {
  const after = new Set<string>();
  const steps = plan.steps.map((step) => {
    const acts = (doesWork(step) || addsSteps(step)) && !isOver(step.step_id);
    const isFirst = !step.depends_on.some((id) => after.has(id));
    if (acts || !isFirst) after.add(step.step_id);
    const why = reason || "policy asks for approval of the plan";
    return acts && isFirst ? withGate(step, why) : step;
  });
  return { ...plan, steps, gates: gatesIn(steps) };
}

/** Returns whether a step, or the template of one, calls an operator or runs a child. */
const doesWork = (step: Pick<PlanStep, "kind">): boolean => callsOperator(step) || step.kind === "run";

/** Adds a gate to a step that does work, or to the template of what it does. One that has a gate keeps it. */
function withGate(step: PlanStep, reason: string): PlanStep {
  const { each, repeat } = step;
  if (each !== undefined) return { ...step, each: { ...each, do: gated(each.do, reason) } };
  if (repeat !== undefined) return { ...step, repeat: { ...repeat, do: gated(repeat.do, reason) } };
  return gated(step, reason);
}

function gated<S extends StepTemplate>(step: S, reason: string): S {
  if (step.gate !== null) return step;
  return step.kind === "run" ? { ...step, approval: reason } : { ...step, gate: { reason } };
}

/**
 * Returns PLAN_CREATED, the event of the cut if there was one, and the skips of the steps that the new plan leaves
 * behind.
 */
export function planEvents(
  run: Run,
  { plan, dropped, cost }: PlanAnswer,
  cause: EventPayloads["PLAN_CREATED"]["cause"],
  named?: readonly string[],
): EventDraft[] {
  const kept = new Set(plan.steps.map((s) => s.step_id));
  const isLeft = ({ state, phase, step, added }: StepRecord): boolean =>
    (state === "queued" || phase === "parked" || (added !== null && !isStepDone(state))) &&
    !kept.has(added?.of ?? step.step_id);
  const left = [...run.log.record.steps.values()].filter(isLeft);
  return [
    draft("PLAN_CREATED", { plan, planner_cost: cost, cause, ...(named === undefined ? {} : { named }) }),
    ...(dropped.length === 0 ? [] : [truncated(run, plan, dropped)]),
    ...dropped.map((id) => draft("STEP_SKIPPED", { reason: "max_steps", because: null }, id)),
    ...left.map((s) => draft("STEP_SKIPPED", { reason: "replanned", because: plan.plan_id }, s.step.step_id)),
  ];
}

/** Returns the event of a cut plan, with the warning that the state of the workflow shows. */
function truncated(run: Run, { steps }: Plan, dropped: readonly string[]): EventDraft {
  const maxSteps = maxStepsOf(run);
  const kept = steps.length;
  const planned = `the plan has ${kept + dropped.length} steps, more than limits.maxSteps = ${maxSteps}`;
  const message = `${planned}; left out: ${dropped.join(", ")}`;
  const detail = { limit: "maxSteps", maxSteps, dropped };
  const warning = kernelError("T3_PLAN_TRUNCATED", message, planRef, { detail });
  return draft("PLAN_TRUNCATED", { kept, dropped, warning });
}

function rejectPlan(run: Run, error: KernelError): void {
  const rejected = draft("PLAN_REJECTED", { plan_id: run.log.record.plan_id, error });
  if (run.log.accepts(rejected)) run.log.note(rejected);
}

/** Has T6's load monitor detect a failed plan that is about to be tried again unchanged. */
export function warnOfLoop(run: Run): void {
  const { workflow_id, plans } = run.log.record;
  const data = { workflow_id, plans: plans.map(callsOf) };
  run.intend(tellTier(t6.reviewReplan, { fn: "replan", data }));
}
