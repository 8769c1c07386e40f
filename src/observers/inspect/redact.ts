/**
 * The parts of an event that an inspector shows: by default ids, states, digests, counts and instants.
 *
 * Never: passes on text of people, models or programs: no payload, no title, no message, no text.
 * 1.  A field is shown because it is listed here, inside a record that is listed here; a field that comes later is not.
 * 2.  The code of an error is shown if it is the kernel's own: operators choose theirs.
 */
import { isErrorCode } from "../../contract/error-codes.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";

/** Returns the shown content of an event beside its type. */
export type Redact = (event: LedgerEvent) => JsonObject;

const shown: ReadonlySet<string> = new Set([
  ...["intent_id", "plan_id", "action_id", "gate_id", "outcome_id", "token_id", "step_id", "regenerated_from"],
  ...["step_ids", "gates", "depends_on", "applies", "id", "role", "roles"],
  ...["payload_hash", "payload_digest", "basis_digest", "policy_version", "version", "type"],
  ...["operator", "operator_name", "operator_version", "intent_type", "pipeline", "stage", "decision", "cause"],
  ...["status", "state", "mode", "action", "kind", "resolution", "risk_level", "effect", "category", "confidence"],
  ...["edited", "advisory", "cached", "late", "pending", "final", "retryable", "blocked", "recovered", "cache_hit"],
  ...["round", "run", "attempt", "draft_version", "cost", "planner_cost", "percent", "sequence", "kept", "tier"],
  ...["duration_ms", "timeout_ms", "opened_at", "due_at", "expires_at"],
]);
/** Records whose own fields are examined. */
const opened: ReadonlySet<string> = new Set(["intent", "actor", "plan", "steps", "gate", "target", "outcome"]);
const people: ReadonlySet<string> = new Set(["principal", "on_behalf_of", "requester", "from", "to"]);
const maxChars = 200;

/** Shows ids, states, digests, counts and instants of an event; the default. */
export const redactEvent: Redact = ({ sequence, step_id, payload }) => ({
  sequence,
  ...(step_id !== null && { step_id }),
  ...keepFields(payload),
});

/** Shows all that an event carries: for viewers who may read all of it. */
export const showPayload: Redact = ({ sequence, step_id, payload }) => ({
  sequence,
  ...(step_id !== null && { step_id }),
  ...payload,
});

function keepFields(record: JsonObject): JsonObject {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(record)) {
    const part = keepField(key, value);
    if (part !== undefined) kept[key] = part;
  }
  return kept;
}

function keepField(key: string, value: unknown): unknown {
  if (key === "error") return keepCode(value);
  if (opened.has(key) || people.has(key)) return keepRecord(value);
  if (!shown.has(key)) return undefined;
  if (Array.isArray(value)) return value.filter(isShort);
  return isShort(value) ? value : undefined;
}

function keepRecord(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter(isPlainObject).map(keepFields);
  return isPlainObject(value) ? keepFields(value) : undefined;
}

function keepCode(error: unknown): unknown {
  const code = isPlainObject(error) ? error["code"] : null;
  return typeof code === "string" && isErrorCode(code) ? { code } : undefined;
}

const isShort = (value: unknown): boolean =>
  typeof value === "string" ? value.length <= maxChars : value === null || typeof value !== "object";
