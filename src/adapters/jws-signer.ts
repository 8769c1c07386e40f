/**
 * Signing a decision as an approver does: a compact JWS over the gate's claims, with a private Ed25519 key.
 * Never: keeps the key.
 */
import { claimsVersion, type Signing, signingInput } from "../contract/approval-claims.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { Gate } from "../contract/gate.ts";
import { moduleRef } from "../contract/module-ref.ts";

export interface ApprovalSigning extends Signing {
  /** A private Ed25519 key: a JWK, or PKCS #8 in PEM. */
  readonly key: object | string;
  readonly kid?: string;
  /**
   * A member of the protected header. Ed25519 gives equal signatures for equal texts, and a gate accepts a signature
   * once: a person who votes again after a withdrawal signs with another nonce.
   */
  readonly nonce?: string;
}

/**
 * Returns the signature of a decision on this gate as it now stands, to be sent as `payload.signature`.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for a key that cannot sign.
 */
export async function signApproval(gate: Gate, { key, kid, nonce, ...signing }: ApprovalSigning): Promise<string> {
  const { CompactSign, importJWK, importPKCS8 } = await import("jose");
  const text = new TextEncoder().encode(signingInput(gate, signing));
  try {
    const secret = typeof key === "string" ? await importPKCS8(key, "EdDSA") : await importJWK({ ...key }, "EdDSA");
    const extra = { ...(kid === undefined ? {} : { kid }), ...(nonce === undefined ? {} : { nonce }) };
    return await new CompactSign(text)
      .setProtectedHeader({ alg: "EdDSA", claims: claimsVersion, ...extra })
      .sign(secret);
  } catch (thrown) {
    const message = `the key cannot sign: ${(thrown as Error).message}`;
    return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, moduleRef(0, "signatures", "sign_approval")));
  }
}
