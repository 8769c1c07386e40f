/** The parts of a quorum in words, for every face. */
import type { QuorumPart } from "../contract/gate-quorum.ts";

/** Describes parts, as in `1 of risk and 2 of finance`. */
export const describeParts = (parts: readonly QuorumPart[]): string =>
  parts.map(({ role, approvals }) => `${approvals} of ${role}`).join(" and ");
