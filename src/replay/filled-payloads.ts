/**
 * What an operator's schema filled in when the record was made: a default may be drawn anew at each reading, so that a replay
 * takes it from the record.
 *
 * Never: takes what the params themselves say, or what the schema of today would change: there a replay tells the difference.
 */
import { digest } from "../contract/digest.ts";
import type { LedgerEvent } from "../contract/event.ts";
import type { Json } from "../contract/json.ts";
import type { SchemaReading } from "../contract/schema-reading.ts";
import type { RecordedLog } from "./recorded-log.ts";

interface Reading {
  readonly log: RecordedLog;
  readonly stepId: string | null;
  /** Reads params with the schema of today. */
  readonly read: (params: Json) => SchemaReading;
}

/** Reads params as the record has it: with the values that the schema filled in then. */
export function readAsRecorded(params: Json, { log, stepId, read }: Reading): SchemaReading {
  const today = read(params);
  if (!today.ok || today.isSame) return today;
  const ofStep = log.events.slice(log.position).filter((event) => event.step_id === stepId);
  const hash = ofStep.map(hashIn).find((one) => one !== undefined);
  if (hash === undefined || hash === digest(today.value)) return today;
  const recorded = ofStep.map(payloadIn).find((one) => one !== undefined && digest(one) === hash);
  if (recorded === undefined || !isFilledAlike(params, today.value, recorded)) return today;
  const again = read(recorded);
  return again.ok && again.isSame ? { ...again, isSame: false } : today;
}

/** The digest of the payload that an event is about. */
function hashIn({ event_type: type, payload }: LedgerEvent): string | undefined {
  if (type === "POLICY_DECIDED" && payload["stage"] !== "action") return undefined;
  if (type === "GATE_OPENED" || type === "GATE_REVISED") return memberOf(payload["gate"], "payload_digest");
  return type === "POLICY_DECIDED" || type === "ACTION_STARTED" ? memberOf(payload, "payload_hash") : undefined;
}

/** The payload that an event holds. */
function payloadIn({ event_type: type, payload }: LedgerEvent): Json | undefined {
  if (type === "GATE_OPENED" || type === "GATE_REVISED") return memberOf(payload["gate"], "payload");
  if (type === "POLICY_DECIDED") return memberOf(payload, "payload");
  return type === "ACTION_STARTED" ? memberOf(payload, "input") : undefined;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const memberOf = <T extends Json>(value: unknown, name: string): T | undefined =>
  isObject(value) && Object.hasOwn(value, name) ? ((value as Readonly<Record<string, T>>)[name] as T) : undefined;

/** Tells whether two payloads of the same params differ only where the params say nothing. */
function isFilledAlike(params: Json | undefined, one: Json | undefined, other: Json | undefined): boolean {
  if (params === undefined || one === other) return true;
  if (!isObject(one) || !isObject(other)) return false;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => isFilledAlike(memberOf(params, name), memberOf(one, name), memberOf(other, name)));
}
