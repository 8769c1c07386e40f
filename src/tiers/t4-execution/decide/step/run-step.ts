/**
 * The step kind `run`: a step that runs another capability as a child workflow, and gives its result.
 *
 * 1.  The start of the step is committed before its child is begun, and the step parks once the child is accepted.
 *     The key of the child names the run of the step: after a crash the step finds the child that it has begun.
 * 2.  Both sides commit before they look at the other: the child's end is handed over once it is committed, and the
 *     step looks for that end once its wait is. A sweep hands over what a crash has left between the two.
 * 3.  A run of the step goes on with the failed child of the run before, which is retried; any other begins a child.
 * 4.  A step whose workflow is cancelled stays open until its child has ended, unless the child is detached.
 */
import { checkBudget } from "../../../../contract/budget.ts";
import { type ChildEnd, depthOf } from "../../../../contract/child.ts";
import { type KernelError, raise, toExecutorError } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import type { Json } from "../../../../contract/json.ts";
import { RunParams } from "../../../../contract/step-kinds.ts";
import { addedBy, isTerminal, parkedSteps, type StepRecord } from "../../../../contract/workflow.ts";
import { isBlocking, isGateDenial } from "../run/end-step.ts";
import type { Order } from "../run/input.ts";
import { toHost } from "../run/intention.ts";
import { ask, oodaRef, type Run, scopeOf, stepOf } from "../run/run.ts";
import type { StepKindRow } from "./kinds.ts";
import { quietStep, readQuietParams, succeedQuietly } from "./quiet-step.ts";
import { resumeParked } from "./resume-parked.ts";

const runRef = oodaRef("run_child");

/** The row of the kind `run`. */
export const runStep: StepKindRow = {
  ...quietStep,
  ready: (run) => checkBudget(run.log.record.spent, run.settings.maxCost),
  resume: (run, stepId) => (stepOf(run, stepId).phase === "parked" ? look(run, stepId) : begin(run, stepId)),
  cancel: { isOpen: (_run, step) => isOpen(step), findOut },
};

function begin(run: Run, stepId: string): void {
  const params = readQuietParams(run, stepId, RunParams);
  requireShallow(run, params.intent);
  ask(run, "saved", toHost("saved", {}));
  const { run: round, child } = stepOf(run, stepId);
  const failed = round > 1 && child?.end?.state === "failed" ? child.end : null;
  const begun = ask(run, "begin_child", toHost("begin_child", { step_id: stepId, params, failed }));
  park(run, stepId, begun.workflow_id);
  if (!params.detached) return;
  resumeParked(run, stepId, { by: "workflow", end: null });
  succeedQuietly(run, stepId, { workflow_id: begun.workflow_id });
}

/** Asks whether the child has ended already; where it has not, its end is handed over once it comes. */
export function look(run: Run, stepId: string): void {
  ask(run, "parked", toHost("saved", {}));
  const child = awaited(stepOf(run, stepId)) ?? "";
  const ended = ask(run, "child_end", toHost("child_end", { child }));
  run.looked.add(stepId);
  if (ended !== null) takeChildEnd(run, { step_id: stepId, ...ended });
}

/** Refuses a child that would be too deep. @throws KernelErrorException T4_CHILD_TOO_DEEP. */
function requireShallow(run: Run, intent: string): void {
  const { maxChildDepth } = run.settings.limits;
  const depth = depthOf(run.log.record.parent) + 1;
  if (depth <= maxChildDepth) return;
  const message = `${intent} would be ${depth} levels below its root; limits.maxChildDepth is ${maxChildDepth}`;
  raise(kernelError("T4_CHILD_TOO_DEEP", message, runRef, { detail: { depth, limit: maxChildDepth } }));
}

/** Notes that a step waits for a child, under the name of what it does. */
export function park(run: Run, stepId: string, child: string): void {
  run.looked.delete(stepId);
  const { step } = stepOf(run, stepId);
  const name = String(step.params["intent"] ?? step.operator);
  run.log.note(draft("STEP_PARKED", { source: "workflow", name, key: child, due_at: null }, stepId));
}

/** Returns the child that a step waits for; undefined for any other step. */
const awaited = ({ phase, parked }: StepRecord): string | undefined =>
  phase === "parked" && parked?.source === "workflow" ? parked.key : undefined;

/** Returns whether the step may have a child that has not ended. */
const isOpen = ({ state, phase }: StepRecord): boolean =>
  state === "running" && (phase === "parked" || phase === "judging");

/** Ends the child of a step whose workflow ends. False where there is none. */
function findOut(run: Run, { step: { step_id } }: StepRecord): boolean {
  const scope = scopeOf(step_id);
  if (run.scopes.waits(scope)) return true;
  const through = run.scopes.pass(scope, () => {
    if (stepOf(run, step_id).phase !== "judging") return;
    const found = ask(run, "find_child", toHost("find_child", { step_id }));
    if (found !== null) park(run, step_id, found.workflow_id);
  });
  if (through && stepOf(run, step_id).phase !== "parked") return false;
  if (through) cancelChild(run, step_id);
  return true;
}

/** Asks for the end of the child that a parked step waits for, once in this process. */
function cancelChild(run: Run, stepId: string): void {
  const child = awaited(stepOf(run, stepId));
  if (child === undefined || run.cancelled.has(child)) return;
  run.cancelled.add(child);
  const { cancelling, workflow_id } = run.log.record;
  const reason = cancelling?.reason ?? `its parent ${workflow_id} has ended`;
  const principal = cancelling?.principal ?? run.log.record.intent.actor;
  // A parent that ends by itself undoes what it has done, and so do its children.
  const undo = cancelling === null || cancelling.undo === true;
  run.intend({ do: "order_child", child, kind: "cancel", reason, principal, undo });
}

/** Returns the ids of the live children of a workflow: those that it waits for. Detached ones are not among them. */
export const liveChildren = (record: Run["log"]["record"]): readonly string[] =>
  parkedSteps(record).flatMap((step) => awaited(step) ?? []);

/** Asks for the end of all children that the workflow waits for. Returns whether there are any. */
export function stopChildren(run: Run): boolean {
  const waiting = parkedSteps(run.log.record).filter((step) => awaited(step) !== undefined);
  for (const { step } of waiting) cancelChild(run, step.step_id);
  return waiting.length > 0;
}

/**
 * Passes an order on to all children that the workflow waits for, also to those that begin meanwhile. Whatever follows
 * in the pass follows once all of them have committed it. @throws pending; KernelErrorException if one could not.
 */
export function orderChildren(run: Run, { kind, reason, principal }: Omit<Order, "auth">): void {
  const ordered = new Set<string>();
  for (let round = 1; ; round += 1) {
    const children = liveChildren(run.log.record).filter((child) => !ordered.has(child));
    const steps = beginningSteps(run).filter((id) => !ordered.has(id));
    if (children.length + steps.length === 0) return;
    const order = toHost("order_children", { kind, reason, principal, children, steps });
    const answer = ask(run, `order_children:${round}`, order);
    for (const one of [...answer.children, ...answer.steps]) ordered.add(one);
  }
}

/** Returns the steps that are beginning a child, and wait for it. */
function beginningSteps({ log: { record } }: Run): readonly string[] {
  return [...record.standing.running].filter((id) => {
    const { step, phase } = record.steps.get(id) ?? {};
    return step?.kind === "run" && phase === "judging" && step.params["detached"] !== true;
  });
}

interface Ended {
  readonly step_id: string;
  readonly end: ChildEnd;
  readonly result: Json;
}

/**
 * Takes in the end of a child for the step that runs it, or for the one that has it rolled back, unless neither waits
 * for it any more: an end may be handed over more than once.
 */
export function takeChildEnd(run: Run, { step_id: of, end, result }: Ended): void {
  const { record } = run.log;
  const step = [record.steps.get(of), ...addedBy(record, of)].find(
    (one) => one !== undefined && awaited(one) === end.workflow_id,
  );
  if (step === undefined || isTerminal(record.state)) return;
  const { step_id, kind } = step.step;
  // A paused workflow takes nothing in: it looks for the end once it is resumed.
  if (record.paused !== null) return void run.looked.delete(step_id);
  resumeParked(run, step_id, { by: "workflow", end });
  if (kind === "rollback") succeedQuietly(run, step_id, { compensated: end.compensated ?? null });
  else if (end.state === "completed") succeedQuietly(run, step_id, result);
  else failBy(run, step, end);
}

function failBy(run: Run, { step }: StepRecord, end: ChildEnd): void {
  const error = errorOf(end, step.name);
  const { category } = toExecutorError(error);
  run.log.note(draft("STEP_FAILED", { error, category, blocked: isRefusal(end) }, step.step_id));
}

/** Returns whether policy, a person at a gate or the budget refused the child, and not a failure ended it. */
const isRefusal = ({ error }: ChildEnd): boolean => error !== null && (isBlocking(error) || isGateDenial(error));

function errorOf({ workflow_id, state, error }: ChildEnd, name: string): KernelError {
  const isFailed = state === "failed" || error !== null;
  const message = isFailed
    ? `${name}: the child ${workflow_id} ${state === "failed" ? "has failed" : "was refused"}: ${error?.message}`
    : `${name}: the child ${workflow_id} was cancelled`;
  return kernelError(isFailed ? "T4_CHILD_FAILED" : "T4_CHILD_CANCELLED", message, runRef, {
    detail: { workflow_id, state, ...(error !== null && { code: error.code }) },
    cause: error,
  });
}
