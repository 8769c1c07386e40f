/**
 * The members that a row leaves out because they have the documented default of row format 3.
 *
 * Owns: the defaults. Never: reads another event, or another row: a member is left out for its own value alone.
 * A change of a default is a new row format.
 */
import type { EventPayloads, EventType } from "./event.ts";
import type { Gate } from "./gate.ts";
import { isPlainObject, type Json, type JsonObject } from "./json.ts";
import type { PlanStep } from "./plan.ts";

/** The defaults of one record, and of records that stand in a member of it (or in each entry of a list there). */
export interface RecordDefaults {
  readonly values: JsonObject;
  readonly inside?: Readonly<Record<string, RecordDefaults>>;
}

const planStep = {
  values: {
    outcome: null,
    applies: null,
    outputs: ["data"],
    policy_tags: [],
    risk_level: "low",
    gate: null,
    idempotency: { strategy: "inputs", target: null },
    weight: 1,
    estimated_cost: 0,
    priority: 0,
    draft_version: 1,
  } satisfies Partial<PlanStep>,
};

const gate = {
  values: {
    kind: "approval",
    status: "open",
    target: null,
    diff: null,
    risk_level: "low",
    estimated_cost: 0,
    ui_actions: [],
    roles: null,
    due_at: null,
    expiry_action: null,
    escalate_to: null,
    ladder: [],
    quorum: null,
    approvers: null,
    advisors: [],
    separation: false,
    delegation: true,
    signed: false,
    votes: [],
    delegations: [],
    edited: false,
    spent_signatures: [],
    decision: null,
  } satisfies Partial<Gate>,
};

const decided = { outcome_id: null, outcome_version: null, edited: false, resolution: null, comment: null } as const;
const action = { attempt: 1, outcome_id: null } as const;

const byType: { readonly [T in EventType]?: RecordDefaults } = {
  POLICY_DECIDED: {
    values: {
      decision: "ALLOW",
      transform: null,
      redactions: [],
      policies: [],
    } satisfies Partial<EventPayloads["POLICY_DECIDED"]>,
  },
  PLAN_CREATED: { values: {}, inside: { plan: { values: {}, inside: { steps: planStep } } } },
  ACTION_STARTED: { values: action satisfies Partial<EventPayloads["ACTION_STARTED"]> },
  ACTION_SUCCEEDED: {
    values: { ...action, usage: {}, cached: false, late: false } satisfies Partial<EventPayloads["ACTION_SUCCEEDED"]>,
  },
  ACTION_FAILED: {
    values: { ...action, usage: {}, cached: false } satisfies Partial<EventPayloads["ACTION_FAILED"]>,
  },
  STEP_SUCCEEDED: {
    values: { status: "COMPLETED", cost: 0 } satisfies Partial<EventPayloads["STEP_SUCCEEDED"]>,
  },
  GATE_OPENED: { values: {}, inside: { gate } },
  GATE_REVISED: { values: {}, inside: { gate } },
  USER_APPROVED: { values: { ...decided, apply_targets: [] } satisfies Partial<EventPayloads["USER_APPROVED"]> },
  USER_REJECTED: { values: { ...decided, apply_targets: [] } satisfies Partial<EventPayloads["USER_REJECTED"]> },
};

/** The defaults of the payload of each event type that has some. */
export const payloadDefaults: { readonly [T in EventType]?: RecordDefaults } = byType;

/** Returns the record with all members that have a default, and the other members behind them. */
export function fillDefaults(record: JsonObject, { values, inside }: RecordDefaults): JsonObject {
  const filled: Record<string, unknown> = { ...values, ...record };
  for (const [name, defaults] of Object.entries(inside ?? {}))
    if (name in record) filled[name] = mapRecords(record[name], (inner) => fillDefaults(inner, defaults));
  return filled;
}

/** Returns the record without the members that have their default value. */
export function leaveOutDefaults(record: JsonObject, { values, inside }: RecordDefaults): JsonObject {
  const kept = Object.entries(record).filter(
    ([name, value]) => !Object.hasOwn(values, name) || !isSame(value, values[name]),
  );
  if (inside === undefined) return Object.fromEntries(kept);
  return Object.fromEntries(
    kept.map(([name, value]) => {
      const defaults = Object.hasOwn(inside, name) ? inside[name] : undefined;
      return [name, defaults === undefined ? value : mapRecords(value, (inner) => leaveOutDefaults(inner, defaults))];
    }),
  );
}

function mapRecords(value: unknown, change: (record: JsonObject) => JsonObject): unknown {
  if (Array.isArray(value)) return value.map((one: unknown) => (isPlainObject(one) ? change(one) : one));
  return isPlainObject(value) ? change(value) : value;
}

const isSame = (value: unknown, standard: unknown): boolean =>
  value === standard ||
  (typeof value === "object" && value !== null && JSON.stringify(value as Json) === JSON.stringify(standard));
