/**
 * Finds the sender and the first receiver of a ledger event: the arrows of the sequence diagram.
 *
 * Owns: the changes of the catalogue's arrow that the payload makes. Never: knows which actors are shown. A missing
 * actor is replaced by its container.
 */
import type { LedgerEvent } from "../../contract/event.ts";
import { type EventFacts, factsOf } from "../../contract/events.ts";
import { isPlainObject } from "../../contract/json.ts";

/** The sender and the first receiver of an event. */
export type Arrow = Pick<EventFacts, "from" | "to">;

/**
 * Returns the sender and the receiver of an event. The operator sends no answer that is from the record, a person sends
 * an edit, and an escalated error goes to the tier that it names.
 */
export function arrowOf(event: LedgerEvent): Arrow {
  const { event_type: type, payload } = event;
  const { from, to } = factsOf(type);
  const usual: Arrow = { from, to };
  if (payload["cached"] === true && usual.from === "operator") return { ...usual, from: "t4" };
  if (type === "GATE_REVISED" && payload["cause"] === "edit" && personIn(event) !== null)
    return { ...usual, from: "person" };
  if (type !== "ERROR_ESCALATED") return usual;
  return { ...usual, to: isTier(payload["tier"]) ? `t${payload["tier"]}` : usual.to };
}

const isTier = (tier: unknown): tier is 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 =>
  Number.isInteger(tier) && (tier as number) >= 0 && (tier as number) <= 7;

export interface Person {
  readonly type: string;
  readonly id: string | number;
}

/** Returns the person who caused it; null if no person did. */
export function personIn({ actor, payload }: LedgerEvent): Person | null {
  const { principal, from, intent } = payload;
  const asked = isPlainObject(intent) ? intent["actor"] : null;
  const person = [principal, from, asked].find(isPerson);
  return person ?? (actor.type === "system" ? null : actor);
}

const isPerson = (value: unknown): value is Person =>
  isPlainObject(value) && typeof value["type"] === "string" && ["string", "number"].includes(typeof value["id"]);
