/**
 * What a person says at a gate, as requests.
 *
 * D1  A decision carries the digest of what is on the screen, of the payload and of what it rests on, and nothing newer;
 *     and where those who approved would have it applied.
 */
import type { Gate, GateResponse } from "../../src/contract/gate.ts";
import type { Json, JsonObject } from "../../src/contract/json.ts";
import type { ListedGate } from "../../src/contract/listed-gate.ts";
import { namedTargets } from "../../src/protocol/named-targets.ts";
import { type Answer, ask, workflowPath } from "./api.ts";

export interface Said {
  readonly decision: "approve" | "reject";
  readonly comment?: string;
  readonly edit?: JsonObject;
  readonly resolution?: "done" | "retry";
  /** With `done`: what the call gave. */
  readonly result?: Json;
}

type Shown = Pick<Gate | ListedGate, "workflow_id" | "gate_id" | "payload_digest" | "basis_digest" | "votes">;

export function decide(
  shown: Shown,
  { decision, comment = "", edit, resolution, result }: Said,
): Promise<Answer<GateResponse>> {
  const payload = {
    payload_digest: shown.payload_digest,
    ...(shown.basis_digest !== undefined && { basis_digest: shown.basis_digest }),
    ...(comment.trim() !== "" && { comment }),
    ...(edit !== undefined && { edit }),
    ...(resolution !== undefined && { resolution }),
    ...(result !== undefined && { result }),
    ...(decision === "approve" && namedTargets(shown.votes)),
  };
  const body = { gate_id: shown.gate_id, decision, payload };
  return ask(workflowPath(shown.workflow_id, "/gate"), { method: "POST", body });
}

export const withdraw = ({ workflow_id, gate_id }: Shown): Promise<Answer<GateResponse>> =>
  ask(workflowPath(workflow_id, "/withdraw"), { method: "POST", body: { gate_id } });

interface Delegation {
  readonly to: { readonly type: string; readonly id: string | number };
  readonly expires_at: string;
}

export const delegate = ({ workflow_id, gate_id }: Shown, to: Delegation): Promise<Answer<GateResponse>> =>
  ask(workflowPath(workflow_id, "/delegate"), { method: "POST", body: { gate_id, ...to } });

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
    revised: "Your changes made a new version. It waits for a decision on it.",
  } as const;
  return sentences[status];
}
