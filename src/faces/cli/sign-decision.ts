/**
 * The signature over what a gate was shown to be, by the approver's own key. Never: keeps the key.
 */
import { signApproval } from "../../adapters/jws-signer.ts";
import { readAnswer } from "../../contract/answer-form.ts";
import type { Caller } from "../../contract/auth-context.ts";
import type { Gate, GateRequest } from "../../contract/gate.ts";
import { formOfGate } from "../../protocol/form-fields.ts";
import { UsageError } from "./report-error.ts";

interface Shown {
  /** Undefined where none is open. */
  readonly gate: Gate | undefined;
  /** The log's length makes each signature a new one. */
  readonly sequence: number;
}

interface Word {
  readonly decision: "approve" | "reject";
  readonly caller: Caller;
  readonly payload: GateRequest["payload"];
}

/** Nothing without a key. @throws UsageError where no such gate is open. */
export async function signDecision(
  { gate, sequence }: Shown,
  { decision, caller: { principal }, payload }: Word,
  key: object | string | undefined,
): Promise<{ readonly signature?: string }> {
  if (key === undefined) return {};
  if (gate === undefined) throw new UsageError("there is no open gate to sign a decision on");
  const nonce = String(sequence);
  const { resolution, result, answer, apply_targets } = payload ?? {};
  const settled = gate.kind !== "in_doubt" ? null : decision === "reject" ? "failed" : resolution;
  // What is signed is the answer as the form of the gate reads it, which is what the kernel records.
  const form = formOfGate(gate);
  const reading = form === null || answer === undefined ? null : readAnswer(form, answer);
  const read = reading?.ok === true ? reading.value : answer;
  const word = { principal, decision, resolution: settled, result, answer: read, apply_targets } as const;
  return { signature: await signApproval(gate, { ...word, key, nonce }) };
}
