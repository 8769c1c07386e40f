/**
 * The usage of a workflow's tokens, from its events: token ids, capability and resource counters.
 *
 * 1.  A token's id is its index among the workflow's tokens, in the order in which the ledger schedules them.
 * 2.  Counters rise with each call that is made, and with nothing else; they never fall.
 */
import type { ChildEnd } from "../src/contract/child.ts";
import type { EventPayloads } from "../src/contract/event.ts";
import type { StepRecord, WorkflowRecord } from "../src/contract/workflow.ts";

/** Adds amounts in whole millionths exactly, as `src/contract/money.ts` does, without binary fractions. */
export const addCost = (spent: number, cost: number): number => Number((spent + cost).toFixed(6));

/** Schedules one more token. */
export function scheduleToken(record: WorkflowRecord): void {
  record.tokens += 1;
}

/** Schedules the step's next attempt. */
export function scheduleAttempt(record: WorkflowRecord, step: StepRecord): void {
  scheduleToken(record);
  step.token_id = record.tokens;
  step.token_started = false;
}

/**
 * Starts an attempt's token. A call that repeats an interrupted one, or one that a person settled, is scheduled as it
 * starts.
 */
export function startToken(record: WorkflowRecord, step: StepRecord, token: { readonly id: number } | undefined): void {
  if (token !== undefined && token.id > record.tokens) scheduleAttempt(record, step);
  step.token_started = true;
}

/** Charges a token's call to its capability, the governed resources and the token's own budget. */
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

/** Counts one more invocation of the definition with this name. */
export function chargeCapability(record: WorkflowRecord, name: string, cost: number): void {
  const { invocations, tokens } = record.used.capabilities.get(name) ?? { invocations: 0, tokens: 0 };
  record.used.capabilities.set(name, { invocations: invocations + 1, tokens: tokens + cost });
  record.admitted += 1;
}

/** Charges what a child has spent since its parent knew of it last, and keeps its end. */
export function chargeChild(record: WorkflowRecord, step: StepRecord, end: ChildEnd): void {
  // A step that rolls back a child learns of the further costs of the step that ran it.
  const of = step.added?.as === "undo" ? record.steps.get(step.added.of) : undefined;
  const before = [of, step].find((one) => one?.child?.workflow_id === end.workflow_id && one.child.end !== null);
  record.spent = addCost(record.spent, end.spent - (before?.child?.end?.spent ?? 0));
  const child = { workflow_id: end.workflow_id, end };
  step.child = child;
  if (of !== undefined) of.child = child;
}
