/** Where the approvals that stand would have an outcome applied: who approves what is shown names the same. */
import type { GateVote } from "../contract/gate-vote.ts";

/** Empty where none names any. */
export function namedTargets(votes: readonly GateVote[]): Pick<GateVote, "apply_targets"> {
  const { apply_targets } = votes.find(({ advisory, decision }) => !advisory && decision === "approve") ?? {};
  return apply_targets === undefined ? {} : { apply_targets };
}
