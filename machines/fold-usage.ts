/**
 * What a workflow's tokens have used, as its events tell: token ids, capability and resource counters.
 *
 * 1.  A token's id is its place among the workflow's tokens, in the order in which the ledger schedules them.
 * 2.  Counters rise with each call that is made, and with nothing else; they never fall.
 */
import type { EventPayloads } from "../src/contract/event.ts";
import type { StepRecord, WorkflowRecord } from "../src/contract/workflow.ts";

/** Exact for amounts in whole millionths, as `src/contract/money.ts` adds them: no binary fraction adds up. */
export const addCost = (spent: number, cost: number): number => Number((spent + cost).toFixed(6));

/** One more token. */
export function scheduleToken(record: WorkflowRecord): void {
  record.tokens += 1;
}

/** The step's next attempt waits to start. */
export function scheduleAttempt(record: WorkflowRecord, step: StepRecord): void {
  scheduleToken(record);
  step.token_id = record.tokens;
  step.token_started = false;
}

/** An attempt begins. A call that follows one that was lost, or that a person settled, is scheduled as it starts. */
export function startToken(record: WorkflowRecord, step: StepRecord, token: { readonly id: number } | undefined): void {
  if (token !== undefined && token.id > record.tokens) scheduleAttempt(record, step);
  step.token_started = true;
}

/** The call of a token: it counts for its capability, the governed resources and the token's own budget. */
export function chargeCall(
  record: WorkflowRecord,
  step: StepRecord,
  { token, operator_name }: EventPayloads["ACTION_STARTED"],
): void {
  if (token === undefined) return;
  const { cost = 0, resources } = token;
  chargeCapability(record, operator_name, cost);
  step.token_cost += cost;
  const { resources: used } = record.used;
  if (resources === undefined) return;
  record.used.resources = {
    cpu_time: used.cpu_time + resources.cpu_time,
    memory_bytes: used.memory_bytes + resources.memory_bytes,
    network_bytes: used.network_bytes + resources.network_bytes,
    tokens: used.tokens + resources.tokens,
  };
}

/** One more invocation of what is registered under this name. */
export function chargeCapability(record: WorkflowRecord, name: string, cost: number): void {
  const { invocations, tokens } = record.used.capabilities.get(name) ?? { invocations: 0, tokens: 0 };
  record.used.capabilities.set(name, { invocations: invocations + 1, tokens: tokens + cost });
  record.admitted += 1;
}
