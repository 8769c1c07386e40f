/**
 * The turn: one input, what it does to the record, what it asks for. Synchronous; reads nothing but the run it is given.
 *
 * 1.  What comes from outside is noted first; then the workflow is taken on as far as it goes.
 * 2.  A command is answered by what is committed; what it is refused with changes nothing but what policy said of it.
 * 3.  What of deciding is a fault of the kernel's ends the workflow with a code.
 */

import { type KernelError, KernelErrorException, raise } from "../../../../contract/error.ts";
import { draft } from "../../../../contract/event.ts";
import { isCancelled, isHeldBack, isTerminal, startOf, workflowNotFound } from "../../../../contract/workflow.ts";
import { errorOf } from "../../../../engine/actors/within.ts";
import { dropHold } from "../call/admit-call.ts";
import { handleEnd } from "../call/end-call.ts";
import { handleReported } from "../call/handle-reported.ts";
import { delegateGate, withdrawVote } from "../gate/delegate-gate.ts";
import { reviseOutdated } from "../gate/edit-gate.ts";
import { expireGates } from "../gate/expire-gates.ts";
import { decideGate } from "../gate/judge-gate.ts";
import { requireOperators } from "../payload/prepare-step.ts";
import type { Command, Input, Word } from "../run/input.ts";
import { toHost } from "../run/intention.ts";
import { ask, type Commanding, oodaRef, type Run } from "../run/run.ts";
import { meetHalts } from "../step/meet-halts.ts";
import { takeChildEnd } from "../step/run-step.ts";
import { deliverEvent } from "../step/wait-step.ts";
import { beginCancelling, goOnCancelling } from "./cancel-workflow.ts";
import { cancelWorkflow, completeWorkflow, failWorkflow } from "./end-workflow.ts";
import { pauseWorkflow, resumeWorkflow } from "./pause-workflow.ts";
import { planWorkflow } from "./plan-workflow.ts";
import { restartWorkflow } from "./restart-workflow.ts";
import { mayGoOn, startPlan, workPlan } from "./work-plan.ts";

/** The input as it is decided: an answer that nobody waits for any more does no more than wake. */
export function hear(run: Run, input: Input): Input {
  if (input.type !== "answered") return input;
  // What was set aside for a call of a workflow that ended meanwhile is not kept from others.
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
    case "told":
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
    // What is said after a gate's time meets its expiry first.
    if (command.type === "decided" && !isTerminal(run.log.record.state)) expireGates(run);
    const through = run.scopes.pass(commandScope(re), () => {
      const data = command.type === "decided" ? handleDecision(run, command.word) : obey(run, command.command);
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

/** Another tenant's workflow does not exist for this caller: the refusal is that of one that never was, to the letter. */
function requireTenant({ log }: Run, tenantId: string | number): void {
  if (log.record.tenant_id !== tenantId) raise(notFound(log.identity.workflow_id));
}

/** What is said of a workflow that is not there, and of another tenant's: the same, to the byte. */
export const notFound = (workflowId: string): KernelError => workflowNotFound(workflowId, oodaRef("execute"));

function handleDecision(run: Run, word: Word) {
  requireTenant(run, word.auth.tenant_id);
  switch (word.kind) {
    case "decision":
      return decideGate(run, word);
    case "withdrawal":
      return withdrawVote(run, word.request);
    default:
      return delegateGate(run, word.request, word.auth);
  }
}

function obey(run: Run, command: Command): unknown {
  const { workflow_id, correlation_id } = run.log.identity;
  if ("auth" in command) requireTenant(run, command.auth.tenant_id);
  switch (command.kind) {
    case "cancel":
      beginCancelling(run, command);
      return { workflow_id, status: run.log.record.state, correlation_id };
    case "pause":
      pauseWorkflow(run, command);
      return { workflow_id, status: "paused", correlation_id };
    case "resume":
      resumeWorkflow(run, command);
      return { workflow_id, status: "resumed", correlation_id };
    case "retry":
      restartWorkflow(run, command);
      return { workflow_id, status: "restarted", correlation_id };
    case "deliver":
      return { workflow_id, resumed: deliverEvent(run, command.event) };
    case "child_ended":
      takeChildEnd(run, command);
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

/** Takes the workflow on as far as it goes. What cannot be done for it ends it, as failed. */
function advance(run: Run): void {
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

/** What deciding itself failed with ends the workflow. @throws what keeps that from being noted. */
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
  const start = startOf(run.log.record);
  if (start !== null && start > run.now && !isHeldBack(run.log.record)) return;
  // A plan that was asked for is recorded when it comes.
  if (meetHalts(run) || run.log.record.paused !== null) return void (run.scopes.hasBegun("plan") && plan(run));
  if (start !== null && start > run.now) return;
  if (run.log.record.state === "accepted" && !hasParent(run)) return;
  // A workflow that is held back begins nothing. The deadlines of its open gates hold all the same.
  if (run.asleep) expireGates(run);
  if (!initialize(run)) return;
  if (run.log.record.gates.size > 0 && !lookAtGates(run)) return;
  for (let plans = run.log.record.plan === null; ; plans = true) {
    if (plans && !plan(run)) return;
    if (run.log.record.state === "planned" && !startPlanned(run)) return;
    if (!workPlan(run)) return;
  }
}

/**
 * Looks once whether the parent of a child still stands: a parent that is cancelled looks for its children from then
 * on. A child without one is cancelled before anything of it begins.
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

/** The host's own initialisation comes before anything of the workflow is done here (LIF-04). */
function initialize(run: Run): boolean {
  if (run.initialized) return true;
  if (run.asleep || run.scopes.waits("initialize")) return false;
  run.initialized = run.scopes.pass("initialize", () => {
    run.mark?.("ensure_initialized");
    ask(run, "initialize", toHost("initialize", {}));
  });
  return run.initialized;
}

/** What fell due is noted; what would go on under a policy of before is put to the one of now. */
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

/** Another plan, or the first. A workflow that was put to sleep meanwhile rests as planned. */
function plan(run: Run): boolean {
  if (run.scopes.waits("plan") || (run.asleep && !run.scopes.hasBegun("plan"))) return false;
  const planned = run.scopes.pass("plan", () => planWorkflow(run));
  if (planned && run.log.record.state !== "planned") startPlan(run);
  return planned;
}

/** Nothing of a plan runs unless all of it can: it may have been made by another process. */
function startPlanned(run: Run): boolean {
  if (run.asleep) return false;
  requireOperators(run, run.log.record.plan?.steps ?? []);
  startPlan(run);
  return true;
}
