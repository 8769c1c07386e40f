/**
 * The token of a call: what it asks for, and T5's admission of it before the call begins (seed 001; C-23, C-49).
 *
 * C1  A call begins only as T5 found it to fit, with nothing admitted in between: what stood when it was asked is what
 *     stands when the start is noted. What no ceiling concerns fits whatever stands.
 * C2  A refusal leaves one event and charges nothing.
 * C3  A call that the record answers asks for nothing.
 */
import type { Usage } from "../../../contract/action.ts";
import type { BoundReservation, Charge, Reservation } from "../../../contract/budget.ts";
import { raise } from "../../../contract/error.ts";
import { draft } from "../../../contract/event.ts";
import type { OperatorMetadata } from "../../../contract/operator.ts";
import type { ResourceRequest } from "../../../contract/token.ts";
import { isBlocking } from "./end-step.ts";
import type { Prepared } from "./prepare-step.ts";
import { ask, type Run, stepOf } from "./run.ts";

/** What T5 answered for a step's next call. */
export interface Admission {
  /** Calls admitted when it was asked; null where no ceiling concerns the call. */
  readonly stamp: number | null;
  readonly reservation: BoundReservation | null;
}

/** What the ledger keeps of an admitted call's token; zeros are left out. */
export interface CallToken {
  readonly id: number;
  readonly cost?: number;
  readonly resources?: ResourceRequest;
}

/** T5's words: whether any ceiling concerns the work, and what was set aside for it. */
export interface AdmissionAnswer {
  readonly unlimited: boolean;
  readonly reservation: BoundReservation | null;
}

const noUsage = { invocations: 0, tokens: 0 } as const;

/** The token of a step's next call: the one that was scheduled for it, or, if that has started already, one more. */
function nextTokenOf(run: Run, stepId: string): number {
  const { token_id, token_started } = stepOf(run, stepId);
  return token_id === null || token_started ? run.log.record.tokens + 1 : token_id;
}

/** What a step's next call asks of capability, governor and token budget. Its cost is the tokens that it may take. */
export function workOf(run: Run, stepId: string, { name, resources }: OperatorMetadata) {
  const { used } = run.log.record;
  const { token_cost } = stepOf(run, stepId);
  return {
    token_id: nextTokenOf(run, stepId),
    name,
    cost: resources.tokens,
    budget: { limit: run.settings.perToken, consumed: token_cost },
    resources,
    used: { capability: used.capabilities.get(name) ?? noUsage, resources: used.resources },
  };
}

export function keepAdmission(run: Run, stepId: string, answer: AdmissionAnswer, stamp: number): void {
  run.admissions.set(stepId, { stamp: answer.unlimited ? null : stamp, reservation: answer.reservation });
}

/** The admission of the step's next call, if it stands. */
export function standingAdmission(run: Run, stepId: string): Admission | null {
  const known = run.admissions.get(stepId);
  if (known === undefined) return null;
  return known.stamp === null || known.stamp === run.log.record.admitted ? known : null;
}

/** Asks T5 and keeps its answer. @throws KernelErrorException T5_BUDGET_EXHAUSTED, T5_CAPABILITY_NOT_FOUND, or why T5 could not tell. */
export function askAdmission(run: Run, { step, operator }: Prepared, timeoutMs: number): void {
  const { admitted, tenant_id, auth, workflow_id } = run.log.record;
  const { metadata } = operator;
  const who = { tenant_id, principal: auth.principal_id, workflow: workflow_id, operator: metadata.name };
  const amounts: Charge = {
    tokens: metadata.resources.tokens,
    money: step.estimated_cost,
    invocations: 1,
    wall_ms: timeoutMs,
  };
  const data = {
    ...workOf(run, step.step_id, metadata),
    hold: holdOf(run, step.step_id),
    who: { ...who, at: run.now },
    amounts,
  };
  const question = { ask: "data", to: 5, schema: "CallQuestion", fn: "admit", data } as const;
  // An answer of an earlier pass was given on what stood then: what was admitted since asks again.
  let { answer } = run.scopes.hear(`admit:${admitted}`, question);
  if (answer.error?.detail["kind"] === "scoped_budget") {
    // Counters are what is committed: what calls before this one gave back may be noted only.
    ask(run, `saved:${admitted}`, { ask: "saved" });
    answer = run.scopes.hear(`admit:${admitted}:again`, question).answer;
  }
  const { error } = answer;
  // That T5 could not tell is no refusal.
  if (error !== null && isBlocking(error)) run.log.note(draft("BUDGET_REFUSED", { error }, step.step_id));
  if (error !== null) raise(error);
  keepAdmission(run, step.step_id, answer.data as AdmissionAnswer, admitted);
}

/** The token as the start of its call writes it down. */
export function tokenOf(run: Run, { step, operator }: Prepared): CallToken {
  const { resources } = operator.metadata;
  const asks = Object.values(resources).some((amount) => amount > 0);
  return {
    id: nextTokenOf(run, step.step_id),
    ...(resources.tokens > 0 ? { cost: resources.tokens } : {}),
    ...(asks ? { resources } : {}),
  };
}

const holdOf = (run: Run, stepId: string): string => `${run.log.identity.workflow_id}/${stepId}`;

/** T5 is told that what it set aside for the step will not be used. */
export function dropHold(run: Run, stepId: string): void {
  if (!run.settings.reserves) return;
  run.intend({ do: "tell", to: 5, fn: "release_hold", schema: "HoldRelease", data: { hold: holdOf(run, stepId) } });
}

/** What T5 set aside in memory is in the ledger now, or will not be used: the next call is asked for anew. */
export function releaseHold(run: Run, stepId: string): void {
  if (!run.settings.reserves) return;
  const reserved = run.admissions.get(stepId)?.reservation;
  run.admissions.delete(stepId);
  if (reserved != null) dropHold(run, stepId);
}

/** What was set aside for one call: a key that is called again reserves again. */
export interface Charged {
  readonly action_id: string;
  readonly reservation: Reservation;
  /** Epoch ms. */
  readonly started_at: number;
}

export function reserve(run: Run, stepId: string, action_id: string): Charged | null {
  const reservation = standingAdmission(run, stepId)?.reservation ?? null;
  if (reservation === null) return null;
  const started_at = run.log.instantOf("BUDGET_RESERVED", stepId);
  const { counters, amounts, ceilings } = reservation;
  const reserved = draft("BUDGET_RESERVED", { action_id, counters, amounts }, stepId);
  run.log.note(ceilings === undefined ? reserved : { ...reserved, ceilings });
  return { action_id, reservation, started_at };
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
    wall_ms: Math.max(0, run.log.instantOf("BUDGET_SETTLED", stepId) - started_at),
  };
  run.log.note(draft("BUDGET_SETTLED", { action_id, counters, reserved, amounts }, stepId));
}
