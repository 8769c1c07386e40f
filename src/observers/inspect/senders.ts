/**
 * Who sends an event of the ledger, and who hears it first: the arrows of the sequence diagram.
 *
 * Owns: the table. Never: knows which of them are shown. Where one is not there, whoever contains it stands for it.
 */
import type { EventType, LedgerEvent } from "../../contract/event.ts";
import { isPlainObject } from "../../contract/json.ts";

/** `t4` is a tier; the others belong to the workflow that the event is of. */
export type Role = `t${0 | 1 | 2 | 3 | 4 | 5 | 6 | 7}` | "workflow" | "step" | "gate" | "operator" | "person";

export interface Arrow {
  readonly from: Role;
  readonly to: Role;
}

const arrow = (from: Role, to: Role): Arrow => ({ from, to });

const arrows: Readonly<Record<EventType, Arrow>> = {
  INTENT_RECEIVED: arrow("person", "workflow"),
  INTENT_REJECTED: arrow("person", "t0"),
  CONTEXT_BUILT: arrow("t2", "workflow"),
  PLAN_CREATED: arrow("t3", "workflow"),
  PLAN_TRUNCATED: arrow("t3", "workflow"),
  PLAN_REJECTED: arrow("t3", "workflow"),
  WORKFLOW_STARTED: arrow("t4", "workflow"),
  WORKFLOW_WAITING: arrow("t4", "workflow"),
  WORKFLOW_RESUMED: arrow("person", "workflow"),
  WORKFLOW_RESTARTED: arrow("person", "workflow"),
  WORKFLOW_COMPLETED: arrow("t4", "workflow"),
  WORKFLOW_FAILED: arrow("t4", "workflow"),
  WORKFLOW_CANCELLING: arrow("person", "workflow"),
  WORKFLOW_CANCELLED: arrow("person", "workflow"),
  STEP_QUEUED: arrow("workflow", "step"),
  STEP_STARTED: arrow("workflow", "step"),
  STEP_SUCCEEDED: arrow("workflow", "step"),
  STEP_FAILED: arrow("workflow", "step"),
  STEP_SKIPPED: arrow("workflow", "step"),
  STEP_STREAMED: arrow("operator", "step"),
  ACTION_STARTED: arrow("step", "operator"),
  ACTION_SUCCEEDED: arrow("operator", "step"),
  ACTION_FAILED: arrow("operator", "step"),
  ACTION_RETRY_SCHEDULED: arrow("t4", "step"),
  ACTION_IN_DOUBT: arrow("t4", "step"),
  ACTION_SETTLED: arrow("t4", "step"),
  POLICY_DECIDED: arrow("t5", "step"),
  GATE_OPENED: arrow("step", "gate"),
  GATE_REVISED: arrow("step", "gate"),
  GATE_DECISION_KEPT: arrow("person", "gate"),
  GATE_VOTED: arrow("person", "gate"),
  GATE_VOTE_WITHDRAWN: arrow("person", "gate"),
  GATE_DELEGATED: arrow("person", "gate"),
  GATE_EXPIRED: arrow("t4", "gate"),
  GATE_ESCALATED: arrow("t4", "gate"),
  GATE_REMINDED: arrow("t4", "gate"),
  GATE_SUSPENDED: arrow("t4", "gate"),
  USER_APPROVED: arrow("person", "step"),
  USER_REJECTED: arrow("person", "step"),
  OUTCOME_DRAFTED: arrow("step", "workflow"),
  OUTCOME_FINALIZED: arrow("step", "workflow"),
  OUTPUT_SANITIZED: arrow("t1", "step"),
  OUTPUT_UNCHECKED: arrow("t1", "step"),
  TEMPLATE_UNRESOLVED: arrow("t4", "step"),
  ERROR_ESCALATED: arrow("t4", "workflow"),
  OPERATOR_ALERT: arrow("step", "t7"),
  ROUTE_DECIDED: arrow("t7", "step"),
  MEMORY_WRITTEN: arrow("t2", "workflow"),
  MEMORY_SYNCED: arrow("t2", "workflow"),
  DOCUMENT_RECORDED: arrow("t2", "workflow"),
  BUDGET_RESERVED: arrow("t5", "step"),
  BUDGET_SETTLED: arrow("t5", "step"),
  BUDGET_REFUSED: arrow("t5", "step"),
  TOKEN_RECORDED: arrow("operator", "step"),
  BODY_ERASED: arrow("t4", "workflow"),
};

/** What was answered from the record was not asked of the operator; an escalated error goes to the tier that it names. */
export function arrowOf({ event_type: type, payload }: LedgerEvent): Arrow {
  const usual = arrows[type];
  if (payload["cached"] === true && usual.from === "operator") return { ...usual, from: "t4" };
  if (type !== "ERROR_ESCALATED") return usual;
  return { ...usual, to: isTier(payload["tier"]) ? `t${payload["tier"]}` : usual.to };
}

const isTier = (tier: unknown): tier is 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 =>
  Number.isInteger(tier) && (tier as number) >= 0 && (tier as number) <= 7;

export interface Person {
  readonly type: string;
  readonly id: string | number;
}

/** Who said it; null where it came by itself. */
export function personIn({ actor, payload }: LedgerEvent): Person | null {
  const { principal, from, intent } = payload;
  const asked = isPlainObject(intent) ? intent["actor"] : null;
  const person = [principal, from, asked].find(isPerson);
  return person ?? (actor.type === "system" ? null : actor);
}

const isPerson = (value: unknown): value is Person =>
  isPlainObject(value) && typeof value["type"] === "string" && ["string", "number"].includes(typeof value["id"]);
