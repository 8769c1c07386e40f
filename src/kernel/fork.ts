/**
 * Forks: begins a workflow that takes over what another one has done, up to a step or an event.
 *
 * Owns: which steps are taken over, and what cannot be forked. Never: a step's result that nobody has recorded.
 * 1.  A step that succeeded, or was left out, is taken over unless it is the one at which the fork is, or depends on
 *     it. Of a sequence, all steps that had ended so by then are.
 * 2.  No call is made twice: a fork is refused at a point at which a call, a child or an item would be left behind.
 * 3.  A fork is a workflow of its own: it has a new intent, so that its calls have new keys, its own budget, and no
 *     parent.
 */
import { capabilityRef } from "../contract/capability.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { ForkResponse, ParsedForkRequest, TakenRecord, TakenStep } from "../contract/fork.ts";
import { requestFrom } from "../contract/intent.ts";
import type { Json } from "../contract/json.ts";
import { raise } from "../contract/kernel-error.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Plan, PlanStep } from "../contract/plan.ts";
import { readWith } from "../contract/schema-reading.ts";
import { textOf } from "../contract/step.ts";
import { callsOperator } from "../contract/step-kinds.ts";
import {
  isHandled,
  isThrough,
  plannedSteps,
  type StepRecord,
  stepsOf,
  type WorkflowRecord,
} from "../contract/workflow.ts";
import type { Registry } from "../engine/actors/registry.ts";
import { affectedSteps } from "../tiers/t4-execution/decide/plan/restart-workflow.ts";
import { digestOfWork } from "../tiers/t4-execution/decide/plan/take-over.ts";
import { recordAt } from "./reads.ts";
import { type ReachParts, requireReach } from "./require-reach.ts";

const forkRef = moduleRef(0, "gateway", "fork");

const refuse = (message: string, detail: Readonly<Record<string, Json>>): never =>
  raise(kernelError("T4_FORK_INVALID", message, forkRef, { detail }));

/** Begins a fork for a caller. @throws KernelErrorException T4_FORK_INVALID, T4_SEQUENCE_NOT_FOUND, as `submit`. */
export async function forkFor(parts: ReachParts, workflowId: string, given: unknown): Promise<ForkResponse> {
  const { gateway, reading, registry } = parts;
  const request = await gateway.admitFork(given);
  const caller = { tenant_id: request.tenant_id, principal: request.principal };
  await requireReach(parts, workflowId, { caller, scope: "workflow:retry" });
  const now = await reading.readWorkflowState(workflowId, caller);
  const { at } = request;
  const record = typeof at === "string" ? now : recordAt(now, await reading.events(workflowId, caller), { at });
  const taken = takeRecord(record, request, registry);
  const { intent, thread_id, requesters } = now;
  const { input, ...terms } = requestFrom(intent);
  const again = {
    ...terms,
    ...caller,
    thread_id,
    input: { ...input, text: intent.text },
    intent_hint: {
      intent_type: capabilityRef(intent.type, intent.version),
      inputs: request.inputs ?? intent.inputs,
    },
    ...(request.idempotency_key !== undefined && { idempotency_key: request.idempotency_key }),
  };
  const asked = { at, ...(request.outputs !== undefined && { outputs: request.outputs }) };
  const fork = { taken, requesters, asked };
  const { workflow_id, correlation_id } = await gateway.submit(again, { fork });
  return { workflow_id, status: "accepted", forked_from: workflowId, correlation_id };
}

/** Returns what a fork takes over of a record. @throws KernelErrorException T4_FORK_INVALID. */
function takeRecord(
  record: WorkflowRecord,
  { at, inputs, outputs, reason }: ParsedForkRequest,
  registry: Registry,
): TakenRecord {
  const { workflow_id, sequence, plan, compensating } = record;
  if (compensating !== null) refuse(`what ${workflow_id} has done is undone; submit the work anew`, { workflow_id });
  if (plan === null) return refuse(`${workflow_id} had no plan yet; submit the work anew`, { workflow_id, sequence });
  const whole = wholePlan(record, plan);
  const anew = stepsAnew(record, whole, at);
  const behind = stepsBehind(record, whole, anew);
  const taken = whole.steps.filter(({ step_id }) => !behind.has(step_id));
  for (const step_id of behind) if (!anew.has(step_id)) requireLeavable(record, step_id, at);
  requireTaken(taken, outputs ?? {});
  return {
    workflow_id,
    sequence,
    step_id: typeof at === "string" ? at : null,
    reason,
    plan: inputs === undefined ? whole : null,
    steps: taken.map((step) => takeStep(record, step, { outputs: outputs ?? {}, registry })),
    outcomes: [...record.outcomes.values()]
      .flatMap((versions) => versions.slice(-1))
      .filter(({ step_id }) => taken.some((step) => step.outcome !== null && isOf(step_id, step))),
  };
}

const isOf = (stepId: string | null, { step_id }: PlanStep): boolean =>
  stepId !== null && (step_id === stepId || step_id.replace(/_r\d+$/, "") === stepId);

/** Returns the newest plan with the steps of earlier ones that have succeeded, since its steps may refer to them. */
function wholePlan(record: WorkflowRecord, plan: Plan): Plan {
  const known = new Set(plan.steps.map(({ step_id }) => step_id));
  const earlier = [...plannedSteps(record)].filter(
    ({ step, state }) => state === "succeeded" && !known.has(step.step_id),
  );
  return { ...plan, steps: [...earlier.map(({ step }) => step), ...plan.steps] };
}

/** Returns the step at which the fork is, and all that depend on it; none if the fork is at a sequence. */
function stepsAnew(record: WorkflowRecord, plan: Plan, at: string | number): ReadonlySet<string> {
  if (typeof at === "number") return new Set();
  requireStep(record, at);
  return affectedSteps(record, plan, [at]);
}

/** Returns the steps that the fork does: those done anew, those that are not through, and all that depend on these. */
function stepsBehind(record: WorkflowRecord, plan: Plan, anew: ReadonlySet<string>): ReadonlySet<string> {
  const behind = new Set(anew);
  for (const { step_id, depends_on } of plan.steps)
    if (!isThrough(record.steps.get(step_id)) || depends_on.some((id) => behind.has(id))) behind.add(step_id);
  return behind;
}

function requireStep(record: WorkflowRecord, stepId: string): void {
  const step = record.steps.get(stepId);
  if (record.plan?.steps.some(({ step_id }) => step_id === stepId) === true) return;
  const detail = { step_id: stepId };
  if (step?.added != null) refuse(`${stepId} belongs to step ${step.added.of}: fork at that step`, detail);
  refuse(`${stepId} is ${step === undefined ? "no step" : "a step of an earlier plan"} of this workflow`, detail);
}

/** Requires that no call, child or item of a step is left behind that the fork would make again. */
function requireLeavable(record: WorkflowRecord, stepId: string, at: string | number): void {
  const step = record.steps.get(stepId) as StepRecord;
  const detail = { step_id: stepId, at };
  const isUnderWay =
    step.state === "running" && (step.action_id !== null || step.child !== null || hasAdded(record, stepId));
  if (isUnderWay) refuse(`step ${stepId} was under way: wait for its end, or fork at it`, detail);
  if (step.state === "succeeded" || isHandled(step, stepsOf(record)))
    refuse(`step ${stepId} ended after a failure before it: fork at a step before that failure`, detail);
}

const hasAdded = ({ standing }: WorkflowRecord, stepId: string): boolean => standing.groups.has(stepId);

function requireTaken(taken: readonly PlanStep[], outputs: Readonly<Record<string, unknown>>): void {
  for (const step_id of Object.keys(outputs)) {
    const step = taken.find((one) => one.step_id === step_id);
    if (step === undefined) refuse(`outputs: ${step_id} is no step that the fork takes over`, { step_id });
    if (step?.outcome != null) refuse(`outputs: ${step_id} has drafted an outcome; fork at it`, { step_id });
  }
}

interface Given {
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly registry: Registry;
}

function takeStep(record: WorkflowRecord, step: PlanStep, { outputs, registry }: Given): TakenStep {
  const { step_id } = step;
  const { state, output, output_text, status, skip_reason } = record.steps.get(step_id) as StepRecord;
  const own = { step_id, work: digestOfWork(step) };
  if (state !== "succeeded") return { ...own, state: "skipped", output, output_text, status, skip_reason };
  const taken = { ...own, state, output, output_text, status, skip_reason } as const;
  if (!Object.hasOwn(outputs, step_id)) return taken;
  const given = readOutput(step, outputs[step_id] as Json, registry);
  return { ...taken, output: given, output_text: given === null ? "" : textOf(given), given: true };
}

/** Reads an output that a person gives in place of a call's, by the schema of its operator. */
function readOutput(step: PlanStep, given: Json, registry: Registry): Json {
  const operator = callsOperator(step) ? registry.findOperator(step.operator, step.operator_version) : null;
  if (operator === null) return given;
  const reading = readWith(operator.output, given);
  if (reading.ok) return reading.value;
  return refuse(`outputs: ${step.step_id}: ${reading.problem}`, { step_id: step.step_id });
}
