/**
 * The turn: decides one input. Appends events to the record, and puts questions and intentions. Synchronous; reads
 * nothing but the given run.
 *
 * 1.  An input from outside is recorded first; then the workflow continues as far as it can.
 * 2.  A command is answered once its events are committed; a refused command appends nothing but the decisions of
 *     policy on it.
 * 3.  A fault of the kernel while deciding ends the workflow with a code.
 */

import { type KernelError, KernelErrorException, raise } from "../../../../contract/error.ts";
import { draft } from "../../../../contract/event.ts";
import { startOf } from "../../../../contract/work-start.ts";
import { isCancelled, isHeldBack, isTerminal, workflowNotFound } from "../../../../contract/workflow.ts";
import { errorOf } from "../../../../engine/actors/within.ts";
import { dropHold } from "../call/admit-call.ts";
import { handleEnd } from "../call/end-call.ts";
import { handleReported } from "../call/handle-reported.ts";
import { delegateGate, withdrawVote } from "../gate/delegate-gate.ts";
import { reviseOutdated } from "../gate/edit-gate.ts";
import { expireGates } from "../gate/expire-gates.ts";
import { decideGate } from "../gate/judge-gate.ts";
import { noteGate } from "../gate/note-gate.ts";
import { requireOperators } from "../payload/prepare-step.ts";
import type { Command, GateCommand, Input } from "../run/input.ts";
import { toHost } from "../run/intention.ts";
import { ask, type Commanding, oodaRef, type Run } from "../run/run.ts";
import { meetHalts } from "../step/meet-halts.ts";
import { takeChildEnd } from "../step/run-step.ts";
import { answerWait, deliverEvent } from "../step/wait-step.ts";
import { addInput } from "./add-input.ts";
import { beginCancelling, goOnCancelling, stateOfCancel } from "./cancel-workflow.ts";
import { cancelWorkflow, completeWorkflow, failWorkflow } from "./end-workflow.ts";
import { pauseWorkflow, resumeWorkflow } from "./pause-workflow.ts";
import { planWorkflow } from "./plan-workflow.ts";
import { restartWorkflow } from "./restart-workflow.ts";
import { answerOfRollback, rollBack } from "./roll-back.ts";
import { requireWaiting, supersedeOthers, takePlace } from "./take-place.ts";
import { mayGoOn, startPlan, workPlan } from "./work-plan.ts";

/** Returns the input to decide. An answer to a forgotten question only wakes the workflow. */
export function receive(run: Run, input: Input): Input {
  if (input.type !== "answered") return input;
  // If the workflow has ended meanwhile, the amount that was reserved for its call is released for others.
  if ((!mayGoOn(run) || isCancelled(run.log.record.state)) && input.key.startsWith("admit:"))
    dropHold(run, input.scope.slice("step:".length));
  return run.scopes.answered(input) ? input : { type: "woken" };
}

export function decide(run: Run, input: Input): void {
  switch (input.type) {
    case "begin":
      run.log.note(draft("INTENT_RECEIVED", input.facts));
      return run.intend({ do: "answer", re: input.re, data: null });
    case "ended":
      handleEnd(run, input);
      break;
    case "reported":
      handleReported(run, input);
      break;
    case "decided":
    case "commanded":
      handleCommand(run, input);
      break;
    case "answered":
      for (const [re, waiting] of run.commands) if (input.scope === commandScope(re)) handleCommand(run, waiting);
      break;
    default:
  }
  advance(run);
}

// --- commands ---

const commandScope = (re: number): string => `command:${re}`;

function handleCommand(run: Run, command: Commanding): void {
  const { re } = command;
  try {
    // The expiry of a gate is decided before any later command.
    if (command.type === "decided" && !isTerminal(run.log.record.state)) expireGates(run);
    const through = run.scopes.pass(commandScope(re), () => {
      const data = command.type === "decided" ? handleDecision(run, command.command) : obey(run, command.command);
      run.intend({ do: "answer", re, data });
    });
    if (through) run.commands.delete(re);
    else run.commands.set(re, command);
  } catch (thrown) {
    if (run.log.lost !== null) throw thrown;
    run.commands.delete(re);
    run.intend({ do: "refuse", re, error: errorOf(thrown, "T0_TIER_CRASHED", oodaRef("decide")) });
  }
}

/**
 * Requires that the workflow belongs to the caller's tenant. The refusal equals that for a workflow that does not
 * exist, so another tenant cannot tell the two apart. @throws KernelErrorException T4_WORKFLOW_NOT_FOUND.
 */
function requireTenant({ log }: Run, tenantId: string | number): void {
  if (log.record.tenant_id !== tenantId) raise(notFound(log.identity.workflow_id));
}

/** Returns the error for a missing workflow, which is byte for byte that for another tenant's workflow. */
export const notFound = (workflowId: string): KernelError => workflowNotFound(workflowId, oodaRef("execute"));

function handleDecision(run: Run, command: GateCommand) {
  requireTenant(run, command.auth.tenant_id);
  switch (command.kind) {
    case "decision":
      return decideGate(run, command);
    case "withdrawal":
      return withdrawVote(run, command.request);
    case "delegation":
      return delegateGate(run, command.request, command.auth);
    default:
      return noteGate(run, command);
  }
}

function obey(run: Run, command: Command): unknown {
  const { workflow_id, correlation_id } = run.log.identity;
  if ("auth" in command) requireTenant(run, command.auth.tenant_id);
  switch (command.kind) {
    case "cancel":
      if (command.if_waiting === true) requireWaiting(run);
      beginCancelling(run, command);
      return { workflow_id, status: stateOfCancel(run.log.record), correlation_id };
    case "rollback":
      rollBack(run, command);
      return { workflow_id, ...answerOfRollback(run.log.record), correlation_id };
    case "pause":
      pauseWorkflow(run, command);
      return { workflow_id, status: "paused", correlation_id };
    case "resume":
      resumeWorkflow(run, command);
      return { workflow_id, status: "resumed", correlation_id };
    case "input":
      addInput(run, command);
      return { workflow_id, status: "received", correlation_id };
    case "retry":
      restartWorkflow(run, command);
      return { workflow_id, status: "restarted", correlation_id };
    case "deliver":
      return { workflow_id, resumed: deliverEvent(run, command.event) };
    case "answer_wait":
      return answerWait(run, command);
    case "child_ended":
      takeChildEnd(run, command);
      return { workflow_id };
    case "forked":
      if (!run.log.record.forks.includes(command.by.fork)) run.log.note(draft("WORKFLOW_FORKED", command.by));
      return { workflow_id };
    case "pivot":
      run.objective = command.objective;
      return { workflow_id, objective: run.objective };
    case "sleep":
      run.asleep = true;
      return { workflow_id, asleep: true };
    default:
      run.asleep = false;
      return { workflow_id, state: run.log.record.state };
  }
}

// --- going on ---

/** Continues the workflow as far as possible: its plan, then what undoes it. An error ends it as failed. */
function advance(run: Run): void {
  const { compensating } = run.log.exists ? run.log.record : { compensating: null };
  advanceOnce(run);
  if (compensating === null && run.log.exists && run.log.record.compensating !== null) advanceOnce(run);
}

function advanceOnce(run: Run): void {
  if (!mayGoOn(run)) return;
  try {
    if (run.ending === null) goOn(run);
  } catch (thrown) {
    if (run.log.lost !== null || !mayGoOn(run)) throw thrown;
    if (!(thrown instanceof KernelErrorException)) run.warn({ thrown }, "workflow crashed");
    run.ending = { how: "fail", error: errorOf(thrown, "T0_TIER_CRASHED", oodaRef("drive")) };
  }
  endIfDue(run);
}

/** Ends the workflow with an error of deciding itself. @throws the error that keeps the end from being appended. */
export function endCrashed(run: Run, error: KernelError): void {
  if (!run.log.exists || run.ending !== null) return;
  run.ending = { how: "fail", error };
  advance(run);
}

function endIfDue(run: Run): void {
  const { ending } = run;
  if (ending === null || !mayGoOn(run)) return;
  const through = run.scopes.pass("end", () =>
    ending.how === "complete" ? completeWorkflow(run) : failWorkflow(run, ending.error),
  );
  if (through) run.ending = null;
}

function goOn(run: Run): void {
  if (run.log.record.state === "cancelling") return goOnCancelling(run);
  if (!supersedeOthers(run)) return;
  const start = startOf(run.log.record);
  if (start !== null && start > run.now && !isHeldBack(run.log.record)) return;
  // A plan that was asked for is recorded when its answer arrives, even while the workflow is held back.
  if (meetHalts(run) || run.log.record.paused !== null) return void (run.scopes.hasBegun("plan") && plan(run));
  if (start !== null && start > run.now) return;
  if (run.log.record.state === "accepted" && !hasParent(run)) return;
  // A workflow that is held back begins nothing. The deadlines of its open gates still hold.
  if (run.asleep) expireGates(run);
  else if (!takePlace(run)) return;
  if (!initialize(run)) return;
  if (run.log.record.gates.size > 0 && !lookAtGates(run)) return;
  for (let plans = run.log.record.plan === null; ; plans = true) {
    if (plans && !plan(run)) return;
    if (run.log.record.state === "planned" && !startPlanned(run)) return;
    if (!workPlan(run)) return;
  }
}

/**
 * Checks once whether the parent of a child is still running; a parent that is cancelled looks for its children from
 * then on. A child without a parent is cancelled before anything of it begins.
 */
function hasParent(run: Run): boolean {
  const { parent } = run.log.record;
  if (parent === null || parent.detached === true || run.initialized) return true;
  if (run.scopes.waits("parent")) return false;
  let isLeft = false;
  const through = run.scopes.pass("parent", () => {
    isLeft = ask(run, "has_no_parent", toHost("has_no_parent", {}));
  });
  if (isLeft)
    cancelWorkflow(run, { reason: `its parent ${parent.workflow_id} has ended`, error: null, principal: null });
  return through && !isLeft;
}

/**
 * Runs the host's initialisation before the workflow does anything in this process (LIF-04). Returns whether it is
 * done.
 */
function initialize(run: Run): boolean {
  if (run.initialized) return true;
  if (run.asleep || run.scopes.waits("initialize")) return false;
  run.initialized = run.scopes.pass("initialize", () => {
    run.mark?.("ensure_initialized");
    ask(run, "initialize", toHost("initialize", {}));
  });
  return run.initialized;
}

/**
 * Appends what has fallen due at the gates. Before an expiry lets a step continue under an outdated policy, the present
 * policy judges the gate.
 */
function lookAtGates(run: Run): boolean {
  if (run.asleep) return true;
  let isLeft = true;
  const look = (): void => {
    isLeft = reviseOutdated(run);
  };
  while (isLeft) if (run.scopes.waits("gates") || !run.scopes.pass("gates", look)) return false;
  expireGates(run);
  return true;
}

/** Makes the first plan or another one. A workflow that was put to sleep meanwhile rests as planned. */
function plan(run: Run): boolean {
  if (run.scopes.waits("plan") || (run.asleep && !run.scopes.hasBegun("plan"))) return false;
  const planned = run.scopes.pass("plan", () => planWorkflow(run));
  if (planned && run.log.record.state !== "planned") startPlan(run);
  return planned;
}

/** Starts a plan only if all its operators are registered, since another process may have made the plan. */
function startPlanned(run: Run): boolean {
  if (run.asleep) return false;
  requireOperators(run, run.log.record.plan?.steps ?? []);
  startPlan(run);
  return true;
}
