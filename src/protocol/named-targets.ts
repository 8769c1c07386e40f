/** The places at which the standing approvals would have an outcome applied; a further approval must name the same. */
import type { GateVote } from "../contract/gate-vote.ts";

/** Returns the named targets; empty if none are named. */
export function namedTargets(votes: readonly GateVote[]): Pick<GateVote, "apply_targets"> {
  const { apply_targets } = votes.find(({ advisory, decision }) => !advisory && decision === "approve") ?? {};
  return apply_targets === undefined ? {} : { apply_targets };
}
