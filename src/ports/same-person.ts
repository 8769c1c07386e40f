/** What a host knows of its people: which principals are one person. */
import type { PrincipalRef } from "../contract/gate-vote.ts";

/**
 * Whether two principals are one person, such as `user:ann` and `service:ann`; asked in both orders, and never of a principal
 * and itself. It answers at once. One that throws, or answers anything but true or false, closes what it was asked for.
 */
export type SamePerson = (a: PrincipalRef, b: PrincipalRef) => boolean;
