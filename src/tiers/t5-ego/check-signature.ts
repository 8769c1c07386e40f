/**
 * The check of a decision's signature: made with a key of this approver, over exactly this decision on what the gate
 * now shows, and not used before.
 */

import { isSpent } from "../../../machines/quorum.ts";
import { type Signing, signingInput } from "../../contract/approval-claims.ts";
import type { AuthContext } from "../../contract/auth-context.ts";
import { raise } from "../../contract/error.ts";
import { type ErrorCode, kernelError } from "../../contract/error-codes.ts";
import type { Gate } from "../../contract/gate.ts";
import { type GateSignature, type PublicJwk, readKeys, refOf } from "../../contract/gate-vote.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import { callWithin } from "../../engine/actors/within.ts";
import type { ApproverKeys, SignatureVerifier } from "../../ports/signature-verifier.ts";

const signatureRef = moduleRef(5, "ego", "check_signature");

export interface Signatures {
  readonly verifier: SignatureVerifier;
  /** Null: this kernel knows no approver's keys and takes no signature. */
  readonly keysOf: ApproverKeys | null;
}

export interface SignedDecision extends Signing {
  readonly auth: AuthContext;
  readonly signature: string | null;
  /** An unsigned decision is taken all the same: it is advice, or makes a version that is still to be signed. */
  readonly optional: boolean;
}

interface Signed {
  readonly gate: Gate;
  readonly signatures: Signatures;
}

/**
 * Checks a signature. Returns null, synchronously, if there is none and none is needed.
 * @throws KernelErrorException T5_SIGNATURE_REQUIRED, T5_SIGNATURE_INVALID.
 */
export function checkSignature(
  runtime: Runtime,
  signed: Signed,
  decision: SignedDecision,
): null | Promise<GateSignature> {
  if (decision.signature !== null) return verifySignature(runtime, signed, decision, decision.signature);
  if (!signed.gate.signed || decision.optional) return null;
  return refuse(
    signed.gate,
    "T5_SIGNATURE_REQUIRED",
    "a decision on it must be signed; sign `signingInput` of the gate as you read it",
  );
}

async function verifySignature(
  runtime: Runtime,
  { gate, signatures }: Signed,
  decision: SignedDecision,
  jws: string,
): Promise<GateSignature> {
  const invalid = (why: string): never => refuse(gate, "T5_SIGNATURE_INVALID", why);
  if (isSpent(gate, jws)) return invalid("this signature was used here before");
  const verified = await signatures.verifier.verify(jws, await keysFor(runtime, gate, { signatures, decision }));
  if (verified === null) return invalid("no Ed25519 key of this approver made the signature");
  if (verified.text !== signingInput(gate, decision))
    return invalid("what was signed is not this decision on what the gate now shows");
  return { jws, jwk: verified.jwk, kid: verified.kid };
}

const refuse = ({ gate_id }: Gate, code: ErrorCode, why: string): never =>
  raise(kernelError(code, `${gate_id}: ${why}`, signatureRef, { detail: { gate_id } }));

async function keysFor(
  runtime: Runtime,
  gate: Gate,
  { signatures, decision }: { readonly signatures: Signatures; readonly decision: SignedDecision },
): Promise<readonly PublicJwk[]> {
  const { keysOf } = signatures;
  if (keysOf === null) return [];
  return readKeys(
    await callWithin(() => keysOf(refOf(decision.principal), gate.tenant_id), {
      clock: runtime.clock,
      timeoutMs: runtime.limits.authenticatorTimeoutMs,
      source: signatureRef,
      onTimeout: "T5_SIGNATURE_INVALID",
      onThrow: "T5_SIGNATURE_INVALID",
      what: "approverKeys",
    }),
  );
}
