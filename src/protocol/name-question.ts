/** The name of a question to a person, which identifies all that its gate shows. */
import { digest } from "../contract/digest.ts";
import type { Gate } from "../contract/gate.ts";
import { namedTargets } from "./named-targets.ts";

/** Names one opening of a gate. */
const openingOf = ({ gate_id, opened_at }: Gate): string => `${gate_id}.${Date.parse(opened_at).toString(36)}`;

/** Names the question: the same gate with another payload, or opened once more, is another one. */
export const questionKey = (gate: Gate): string => {
  const { payload_digest, basis_digest, votes } = gate;
  return [
    openingOf(gate),
    payload_digest,
    ...(basis_digest === undefined ? [] : [basis_digest]),
    ...Object.values(namedTargets(votes)).map(digest),
  ].join(".");
};

/**
 * Returns the digest of the payload that a question about this opening of the gate showed; null for other questions.
 */
export function payloadAsked(gate: Gate, question: string): string | null {
  const opening = `${openingOf(gate)}.`;
  if (!question.startsWith(opening)) return null;
  const [shown = ""] = question.slice(opening.length).split(".");
  return /^[0-9a-f]{64}$/.test(shown) ? shown : null;
}
