/**
 * The signature over what a gate shows now, by the approver's own key. Never: keeps the key.
 */
import { signApproval } from "../adapters/jws-signer.ts";
import type { Caller } from "../contract/auth-context.ts";
import { isOpenGate } from "../contract/gate.ts";
import type { WorkflowState } from "../contract/workflow-state.ts";
import { UsageError } from "./report-error.ts";

interface Signed {
  readonly gateId: string | undefined;
  readonly decision: "approve" | "reject";
  readonly caller: Caller;
}

interface Signing {
  readonly sign?: object | string | undefined;
  readonly resolution?: "done" | "retry" | undefined;
}

/** The log's length makes each signature a new one. @throws UsageError where no such gate is open. */
export async function signDecision(
  { gates, sequence }: WorkflowState,
  { gateId, decision, caller }: Signed,
  { sign, resolution }: Signing,
): Promise<{ readonly signature?: string }> {
  if (sign === undefined) return {};
  const gate = gates.find((one) => isOpenGate(one) && (gateId === undefined || one.gate_id === gateId));
  if (gate === undefined) throw new UsageError("there is no open gate to sign a decision on");
  const { principal } = caller;
  const nonce = String(sequence);
  const told = gate.kind === "approval" ? null : decision === "reject" ? "failed" : resolution;
  return { signature: await signApproval(gate, { principal, decision, resolution: told, key: sign, nonce }) };
}
