/** The keys that approvers signed with, as a record holds them: whose they are was checked when they were taken. */
import type { EventPayloads, LedgerEvent } from "../contract/event.ts";
import type { ApproverKeys } from "../ports/signature-verifier.ts";

export function keysIn(events: readonly LedgerEvent[]): ApproverKeys {
  const signed = events.flatMap(({ event_type: type, payload }) => {
    if (type !== "GATE_VOTED" && type !== "USER_APPROVED" && type !== "USER_REJECTED") return [];
    const { principal, signature } = payload as unknown as EventPayloads["USER_APPROVED"];
    return principal === null || signature == null ? [] : [{ principal, jwk: signature.jwk }];
  });
  return ({ type, id }) => {
    const own = signed.filter(({ principal }) => principal.type === type && String(principal.id) === String(id));
    return own.map(({ jwk }) => jwk);
  };
}
