/** Signed approvals: the verifier of a signature, and the source of an approver's keys. */
import type { PrincipalRef, PublicJwk } from "../contract/gate-vote.ts";

/** A compact JWS that one of the keys has made. */
export interface VerifiedSignature {
  readonly text: string;
  readonly jwk: PublicJwk;
  readonly kid: string | null;
}

/** Checks a signature against an approver's keys. */
export interface SignatureVerifier {
  /** Null where no key of these made the signature, or its algorithm is not EdDSA over Ed25519. Never rejects. */
  readonly verify: (jws: string, keys: readonly PublicJwk[]) => Promise<VerifiedSignature | null>;
}

/**
 * Returns the public keys (JWK) with which this principal may sign; null or none if they cannot. Keys that are not
 * Ed25519 are ignored.
 */
export type ApproverKeys = (
  principal: PrincipalRef,
  tenantId: string | number,
) => object | readonly object[] | null | Promise<object | readonly object[] | null>;
