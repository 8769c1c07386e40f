/**
 * Compact JWS over jose, which is loaded with the first signature: EdDSA on Ed25519 and nothing else (RFC 8037).
 */
import type { PublicJwk } from "../contract/gate-vote.ts";
import type { SignatureVerifier, VerifiedSignature } from "../ports/signature-verifier.ts";

const algorithms = ["EdDSA", "Ed25519"];

export const jwsVerifier: SignatureVerifier = Object.freeze({
  async verify(jws, keys) {
    for (const key of keys) {
      const verified = await verifyWith(jws, key);
      if (verified !== null) return verified;
    }
    return null;
  },
} satisfies SignatureVerifier);

async function verifyWith(jws: string, jwk: PublicJwk): Promise<VerifiedSignature | null> {
  const { compactVerify } = await import("jose");
  try {
    const { payload, protectedHeader } = await compactVerify(jws, { ...jwk }, { algorithms });
    return { text: new TextDecoder().decode(payload), jwk, kid: protectedHeader.kid ?? jwk.kid ?? null };
  } catch {
    return null;
  }
}
