/** The vote that whoever is signed in has given at a gate, and the button that withdraws it. */
import type { Gate } from "../../../src/contract/gate.ts";
import type { GateVote } from "../../../src/contract/gate-vote.ts";
import { tellSettled } from "../../../src/protocol/doubt-words.ts";
import { withdraw } from "../decide.ts";
import type { Message } from "../unsent.ts";

interface OwnVoteProps {
  readonly gate: Gate;
  readonly vote: GateVote;
  readonly isBusy: boolean;
  readonly say: (message: Message) => Promise<void>;
}

export const OwnVote = ({ gate, vote, isBusy, say }: OwnVoteProps) => (
  <p class="note">
    You voted {gate.kind === "in_doubt" ? `“${tellSettled(vote)}”` : `to ${vote.decision}`}.{" "}
    <button type="button" disabled={isBusy} onClick={() => void say(withdraw(gate))}>
      Withdraw my vote
    </button>
  </p>
);
