/** Signs a decision on a gate as it was shown, with the approver's own key. Never: keeps the key. */
import { signApproval } from "../../adapters/jws-signer.ts";
import { readAnswer } from "../../contract/answer-form.ts";
import type { Caller } from "../../contract/auth-context.ts";
import type { Gate, GateRequest } from "../../contract/gate.ts";
import { formOfGate } from "../../protocol/form-fields.ts";
import { UsageError } from "./report-error.ts";

interface Shown {
  /** The open gate; undefined if none is open. */
  readonly gate: Gate | undefined;
  /** The length of the log, which makes each signature unique. */
  readonly sequence: number;
}

interface SignableDecision {
  readonly decision: "approve" | "reject";
  readonly caller: Caller;
  readonly payload: GateRequest["payload"];
}

/** Signs a decision; returns no signature if there is no key. @throws UsageError if the gate is not open. */
export async function signDecision(
  { gate, sequence }: Shown,
  { decision, caller: { principal }, payload }: SignableDecision,
  key: object | string | undefined,
): Promise<{ readonly signature?: string }> {
  if (key === undefined) return {};
  if (gate === undefined) throw new UsageError("there is no open gate to sign a decision on");
  const nonce = String(sequence);
  const { resolution, result, answer, apply_targets } = payload ?? {};
  const settled = gate.kind !== "in_doubt" ? null : decision === "reject" ? "failed" : resolution;
  // The signature covers the answer as the gate's form parses it, which is what the kernel records.
  const form = formOfGate(gate);
  const reading = form === null || answer === undefined ? null : readAnswer(form, answer);
  const read = reading?.ok === true ? reading.value : answer;
  const word = { principal, decision, resolution: settled, result, answer: read, apply_targets } as const;
  return { signature: await signApproval(gate, { ...word, key, nonce }) };
}
