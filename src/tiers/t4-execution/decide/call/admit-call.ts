/**
 * The token of a call: what it asks for, and T5's admission of it before the call begins.
 *
 * 1.  A call begins only as T5 found it to fit, with nothing admitted in between: what stood when it was asked is what
 *     stands when the start is noted. What no ceiling concerns fits whatever stands.
 * 2.  A refusal leaves one event and charges nothing.
 * 3.  A call that the record answers asks for nothing.
 */
import type { Usage } from "../../../../contract/action.ts";
import { type BoundReservation, type Charge, checkBudget } from "../../../../contract/budget.ts";
import { pathTo } from "../../../../contract/child.ts";
import { raise } from "../../../../contract/error.ts";
import { draft } from "../../../../contract/event.ts";
import { type AdmissionAnswer, t5, type WorkQuestion } from "../../../../contract/messages/t5.ts";
import type { OperatorMetadata } from "../../../../contract/operator.ts";
import type { ResourceRequest } from "../../../../contract/token.ts";
import type { Prepared } from "../payload/prepare-step.ts";
import { isBlocking } from "../run/end-step.ts";
import { tellTier, toHost, toTier } from "../run/intention.ts";
import { ask, type Charged, type Run, stepOf } from "../run/run.ts";

/** What the ledger keeps of an admitted call's token; zeros are left out. */
export interface CallToken {
  readonly id: number;
  readonly cost?: number;
  readonly resources?: ResourceRequest;
}

const noUsage = { invocations: 0, tokens: 0 } as const;

/** The token of a step's next call: the one that was scheduled for it, or, if that has started already, one more. */
function nextTokenOf(run: Run, stepId: string): number {
  const { token_id, token_started } = stepOf(run, stepId);
  return token_id === null || token_started ? run.log.record.tokens + 1 : token_id;
}

interface Token {
  readonly token_id: number;
  readonly name: string;
  readonly resources: ResourceRequest;
  readonly budget: { readonly limit: number | null; readonly consumed: number };
}

/** What a token asks of capability, governor and its own budget. Its cost is the tokens that it may take. */
export function workOf(run: Run, { token_id, name, resources, budget }: Token): WorkQuestion {
  const { used } = run.log.record;
  const usage = { capability: used.capabilities.get(name) ?? noUsage, resources: used.resources };
  return { token_id, name, cost: resources.tokens, budget, resources, used: usage };
}

/** What a step's next call asks. */
export function callWorkOf(run: Run, stepId: string, { name, resources }: OperatorMetadata): WorkQuestion {
  const budget = { limit: run.settings.perToken, consumed: stepOf(run, stepId).token_cost };
  return workOf(run, { token_id: nextTokenOf(run, stepId), name, resources, budget });
}

/** A call that reserves is asked for at the last moment, each time: a person may take days over its gate. */
export function keepAdmission(run: Run, stepId: string, { unlimited }: AdmissionAnswer): void {
  if (!run.settings.reserves) run.admissions.set(stepId, unlimited ? null : run.log.record.admitted);
}

/** Returns whether what T5 found of the step's next call still stands. */
function isAdmitted(run: Run, stepId: string): boolean {
  const stamp = run.admissions.get(stepId);
  return stamp === null || stamp === run.log.record.admitted;
}

/**
 * Asks T5, unless its answer stands; gives what it set aside.
 * @throws KernelErrorException T5_BUDGET_EXHAUSTED, T5_CAPABILITY_NOT_FOUND, or why T5 could not tell.
 */
export function admitCall(run: Run, { step, operator }: Prepared, timeoutMs: number): BoundReservation | null {
  if (isAdmitted(run, step.step_id)) return null;
  const { admitted, tenant_id, auth, workflow_id, parent } = run.log.record;
  const { metadata } = operator;
  const above = pathTo(parent).map((one) => one.workflow_id);
  const who = { tenant_id, principal: auth.principal_id, workflow: workflow_id, above, operator: metadata.name };
  const amounts: Charge = {
    tokens: metadata.resources.tokens,
    money: step.estimated_cost,
    invocations: 1,
    wall_ms: timeoutMs,
  };
  const data = {
    ...callWorkOf(run, step.step_id, metadata),
    hold: holdOf(run, step.step_id),
    who: { ...who, at: run.now },
    amounts,
  };
  const question = toTier(t5.admitCall, { fn: "admit", data });
  // An answer of an earlier pass was given on what stood then: what was admitted since asks again.
  let { answer } = run.scopes.hear(`admit:${admitted}`, question);
  if (answer.error?.detail["kind"] === "scoped_budget") {
    // Counters are what is committed: what calls before this one gave back may be noted only.
    ask(run, `saved:${admitted}`, toHost("saved", {}));
    answer = run.scopes.hear(`admit:${admitted}:again`, question).answer;
  }
  const { error } = answer;
  // That T5 could not tell is no refusal.
  if (error !== null && isBlocking(error)) run.log.note(draft("BUDGET_REFUSED", { error }, step.step_id));
  if (error !== null) raise(error);
  const admission = answer.data;
  keepAdmission(run, step.step_id, admission);
  return admission.reservation;
}

/** What waited at a gate begins with its call: others may have spent what the request had left. @throws T5_BUDGET_EXHAUSTED. */
export function requireUnspent(run: Run, stepId: string): void {
  const refusal = checkBudget(run.log.record.spent, run.settings.maxCost);
  if (refusal === null) return;
  dropHold(run, stepId);
  run.log.note(draft("BUDGET_REFUSED", { error: refusal }, stepId));
  raise(refusal);
}

/** The token as the start of its call writes it down. */
export function tokenOf(run: Run, { step, operator }: Prepared): CallToken {
  const { resources } = operator.metadata;
  const { cpu_time, memory_bytes, network_bytes, tokens } = resources;
  const id = nextTokenOf(run, step.step_id);
  if (tokens > 0) return { id, cost: tokens, resources };
  return cpu_time > 0 || memory_bytes > 0 || network_bytes > 0 ? { id, resources } : { id };
}

const holdOf = (run: Run, stepId: string): string => `${run.log.identity.workflow_id}/${stepId}`;

/** T5 is told that what it set aside in memory for the step is in the ledger now, or will not be used. */
export function dropHold(run: Run, stepId: string): void {
  if (!run.settings.reserves) return;
  run.intend(tellTier(t5.releaseHold, { fn: "release_hold", data: { hold: holdOf(run, stepId) } }));
}

export function reserve(run: Run, stepId: string, { action_id, reservation }: Omit<Charged, "started_at">): Charged {
  const { counters, amounts, ceilings } = reservation;
  const reserved = draft("BUDGET_RESERVED", { action_id, counters, amounts }, stepId);
  run.log.note(ceilings === undefined ? reserved : { ...reserved, ceilings });
  return { action_id, reservation, started_at: run.now };
}

/**
 * What was set aside for the call becomes what it used, as far as the operator said; what it did not say counts as
 * reserved. A call whose end nobody knows stays charged as reserved.
 */
export function settleCharge(run: Run, stepId: string, charged: Charged | null, usage: Usage): void {
  if (charged === null) return;
  const { action_id, reservation, started_at } = charged;
  const { counters, amounts: reserved } = reservation;
  const amounts = {
    tokens: usage.tokens?.total ?? reserved.tokens,
    money: usage.cost?.total ?? reserved.money,
    invocations: reserved.invocations,
    wall_ms: Math.max(0, run.now - started_at),
  };
  run.log.note(draft("BUDGET_SETTLED", { action_id, counters, reserved, amounts }, stepId));
}
