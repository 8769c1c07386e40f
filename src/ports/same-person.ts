/** A host's knowledge of its people: which principals are one person. */
import type { PrincipalRef } from "../contract/gate-vote.ts";

/**
 * Returns whether two principals are one person, such as `user:ann` and `service:ann`; it is called in both orders, and
 * never with a principal and itself. It answers synchronously. If it throws, or returns anything but true or false, the
 * request is refused.
 */
export type SamePerson = (a: PrincipalRef, b: PrincipalRef) => boolean;
