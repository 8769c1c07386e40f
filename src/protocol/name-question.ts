/** The name of a question to a person, which identifies all that its gate shows. */
import { digest } from "../contract/digest.ts";
import type { Gate } from "../contract/gate.ts";
import { namedTargets } from "./named-targets.ts";

/** Names the question: the same gate with another payload, or opened once more, is another one. */
export const questionKey = ({ gate_id, opened_at, payload_digest, basis_digest, votes }: Gate): string =>
  [
    gate_id,
    Date.parse(opened_at).toString(36),
    payload_digest,
    ...(basis_digest === undefined ? [] : [basis_digest]),
    ...Object.values(namedTargets(votes)).map(digest),
  ].join(".");
