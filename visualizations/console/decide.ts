/**
 * What a person says at a gate, as messages.
 *
 * 1.  A decision carries the digest of what is on the screen, of the payload and of what it rests on, and nothing
 *     newer; and where those who approved would have it applied.
 */
import type { Gate, GateResponse } from "../../src/contract/gate.ts";
import type { Json, JsonObject } from "../../src/contract/json.ts";
import type { ListedGate } from "../../src/contract/listed-gate.ts";
import { tellSettled } from "../../src/protocol/doubt-words.ts";
import { namedTargets } from "../../src/protocol/named-targets.ts";
import type { Message, MessageBody } from "./unsent.ts";

export interface GivenDecision {
  readonly decision: "approve" | "reject";
  readonly comment?: string;
  readonly edit?: JsonObject;
  readonly resolution?: "done" | "retry";
  /** With `done`: what the call gave. */
  readonly result?: Json;
  /** The answer to a question. */
  readonly answer?: JsonObject;
}

type Shown = Pick<
  Gate | ListedGate,
  "workflow_id" | "gate_id" | "title" | "kind" | "payload_digest" | "basis_digest" | "votes"
>;

/** A page that was not loaded over TLS has no `crypto.randomUUID`. */
export const makeKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

const messageAt = (
  { workflow_id, gate_id, title }: Shown,
  { words, command, ...body }: Pick<Message, "words" | "command"> & Omit<MessageBody, "gate_id">,
): Message => ({
  key: makeKey(),
  ...{ workflow_id, gate_id, title, words, command },
  body: { gate_id, ...body },
});

export function decide(shown: Shown, recorded: GivenDecision): Message {
  const { decision, comment = "", edit, resolution, result, answer } = recorded;
  const payload = {
    payload_digest: shown.payload_digest,
    ...(shown.basis_digest !== undefined && { basis_digest: shown.basis_digest }),
    ...(comment.trim() !== "" && { comment }),
    ...(edit !== undefined && { edit }),
    ...(resolution !== undefined && { resolution }),
    ...(result !== undefined && { result }),
    ...(answer !== undefined && { answer }),
    ...(decision === "approve" && namedTargets(shown.votes)),
  };
  return messageAt(shown, { words: wordsOf(shown, recorded), command: "gate", decision, payload });
}

/** The words of the button that was pressed. */
function wordsOf({ kind }: Pick<Shown, "kind">, recorded: GivenDecision): string {
  if (kind === "in_doubt") return tellSettled(recorded);
  if (recorded.decision === "reject") return "Reject";
  if (kind === "ask") return "Answer";
  return recorded.edit === undefined ? "Approve" : "Approve with changes";
}

export const withdraw = (shown: Shown): Message => messageAt(shown, { words: "Withdraw my vote", command: "withdraw" });

interface Delegation {
  readonly to: { readonly type: string; readonly id: string | number };
  readonly expires_at: string;
}

export const delegate = (shown: Shown, to: Delegation): Message =>
  messageAt(shown, { words: `Lend my seat to ${to.to.id}`, command: "delegate", ...to });

/** What came of it, in a sentence. */
export function tellAnswer({ status, tally }: GateResponse): string {
  const votes = tally?.needed == null ? "" : ` ${tally.approvals} of ${tally.needed.approvals} approvals are in.`;
  const sentences = {
    resumed: "Approved. The work goes on.",
    rejected: "Rejected. It will not run.",
    kept: "Your answer is kept until the gate opens.",
    voted: `Your vote counts.${votes}`,
    withdrawn: "Your vote is withdrawn.",
    delegated: "Your seat is lent.",
    noted: "It is noted.",
    revised: "Your changes made a new version. It waits for a decision on it.",
  } as const;
  return sentences[status];
}
