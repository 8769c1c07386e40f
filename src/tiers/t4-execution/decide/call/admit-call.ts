/**
 * The token of a call: the resources that it asks for, and T5's admission of it before the call begins.
 *
 * 1.  A call begins only as T5 admitted it, with no other admission in between: the record that T5 judged is the one on
 *     which the start is appended. A call without a ceiling fits any record.
 * 2.  A refusal appends one event and charges nothing.
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
import { ask, type Charged, type Run, spentFor, stepOf } from "../run/run.ts";

/** The token of an admitted call in the form that the ledger keeps; zeros are left out. */
export interface CallToken {
  readonly id: number;
  readonly cost?: number;
  readonly resources?: ResourceRequest;
}

const noUsage = { invocations: 0, tokens: 0 } as const;

/**
 * Returns the token of a step's next call: the one that was scheduled for it, or a new one if that one has started
 * already.
 */
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

/**
 * Returns the resources that a token asks of capability, governor and its own budget. Its cost is the number of tokens
 * that it may use.
 */
export function workOf(run: Run, { token_id, name, resources, budget }: Token): WorkQuestion {
  const { used } = run.log.record;
  const usage = { capability: used.capabilities.get(name) ?? noUsage, resources: used.resources };
  return { token_id, name, cost: resources.tokens, budget, resources, used: usage };
}

/** Returns the resources that a step's next call asks for. */
export function callWorkOf(run: Run, stepId: string, { name, resources }: OperatorMetadata): WorkQuestion {
  const budget = { limit: run.settings.perToken, consumed: stepOf(run, stepId).token_cost };
  return workOf(run, { token_id: nextTokenOf(run, stepId), name, resources, budget });
}

/**
 * Keeps T5's admission of a step's next call. If calls reserve amounts, it is not kept: T5 is asked again immediately
 * before the call, since a gate may wait for days.
 */
export function keepAdmission(run: Run, stepId: string, { unlimited }: AdmissionAnswer): void {
  if (!run.settings.reserves) run.admissions.set(stepId, unlimited ? null : run.log.record.admitted);
}

/** Returns whether T5's admission of the step's next call still holds. */
function isAdmitted(run: Run, stepId: string): boolean {
  const stamp = run.admissions.get(stepId);
  return stamp === null || stamp === run.log.record.admitted;
}

/**
 * Asks T5 to admit the call, unless an admission holds. Returns the amounts that T5 reserved.
 * @throws KernelErrorException T5_BUDGET_EXHAUSTED, T5_CAPABILITY_NOT_FOUND, or the reason for which T5 could not
 * decide.
 */
export function admitCall(run: Run, prepared: Prepared, timeoutMs: number): BoundReservation | null {
  const { step, operator } = prepared;
  if (isAdmitted(run, step.step_id)) return null;
  const { admitted, tenant_id, auth, workflow_id, parent } = run.log.record;
  const { metadata } = operator;
  const above = pathTo(parent).map((one) => one.workflow_id);
  const who = { tenant_id, principal: auth.principal_id, workflow: workflow_id, above, operator: metadata.name };
  const amounts: Charge = { ...estimateOf(run, prepared), invocations: 1, wall_ms: timeoutMs };
  const data = {
    ...callWorkOf(run, step.step_id, metadata),
    hold: holdOf(run, step.step_id),
    who: { ...who, at: run.now },
    amounts,
  };
  const question = toTier(t5.admitCall, { fn: "admit", data });
  // The answer of an earlier pass holds only for the admissions of that time; the key makes T5 be asked again after
  // another.
  let { answer } = run.scopes.ask(`admit:${admitted}`, question);
  if (answer.error?.detail["kind"] === "scoped_budget") {
    // The counters hold committed amounts only, so refunds of earlier calls are committed before T5 is asked again.
    ask(run, `saved:${admitted}`, toHost("saved", {}));
    answer = run.scopes.ask(`admit:${admitted}:again`, question).answer;
  }
  const { error } = answer;
  // A failure of T5 to decide is not a refusal.
  if (error !== null && isBlocking(error)) run.log.note(draft("BUDGET_REFUSED", { error }, step.step_id));
  if (error !== null) raise(error);
  const admission = answer.data;
  keepAdmission(run, step.step_id, admission);
  return admission.reservation;
}

/**
 * Returns the tokens and the money that a call may use: as its operator estimates them of the payload, else as
 * declared.
 */
function estimateOf(run: Run, { step, operator, payload, hash }: Prepared): Pick<Charge, "tokens" | "money"> {
  const { name, version, resources } = operator.metadata;
  const declared = { tokens: resources.tokens, money: step.estimated_cost };
  if (!run.settings.reserves) return declared;
  return { ...declared, ...ask(run, `estimate:${hash}`, toHost("estimate", { name, version, payload })) };
}

/**
 * Requires that the request's budget is not exhausted when a call begins after its gate, since other calls may have
 * used it meanwhile. @throws KernelErrorException T5_BUDGET_EXHAUSTED.
 */
export function requireUnspent(run: Run, stepId: string): void {
  const refusal = checkBudget(spentFor(run.log.record, stepId), run.settings.maxCost);
  if (refusal === null) return;
  dropHold(run, stepId);
  run.log.note(draft("BUDGET_REFUSED", { error: refusal }, stepId));
  raise(refusal);
}

/** Returns the token in the form in which the start of its call records it. */
export function tokenOf(run: Run, { step, operator }: Prepared): CallToken {
  const { resources } = operator.metadata;
  const { cpu_time, memory_bytes, network_bytes, tokens } = resources;
  const id = nextTokenOf(run, step.step_id);
  if (tokens > 0) return { id, cost: tokens, resources };
  return cpu_time > 0 || memory_bytes > 0 || network_bytes > 0 ? { id, resources } : { id };
}

const holdOf = (run: Run, stepId: string): string => `${run.log.identity.workflow_id}/${stepId}`;

/** Tells T5 that the amount it holds in memory for the step is committed now, or will not be used. */
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
 * Settles a reservation: it becomes the usage that the operator reported, and unreported amounts count as reserved. A
 * call without a known end stays charged as reserved.
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
