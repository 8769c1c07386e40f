/**
 * Compact JWS over jose, which is loaded with the first signature: EdDSA on Ed25519 and nothing else (RFC 8037).
 *
 * 1.  A key that the header brings is never used; a header that names a key by `kid` was not made for one of another
 *     name.
 * 2.  The text is the signed bytes, to the byte.
 */
import type { PublicJwk } from "../contract/gate-vote.ts";
import type { SignatureVerifier, VerifiedSignature } from "../ports/signature-verifier.ts";

const algorithms = ["EdDSA", "Ed25519"];
const exactly = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

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
    const { kid = jwk.kid ?? null } = protectedHeader as { readonly kid?: unknown };
    if (kid !== null && (typeof kid !== "string" || kid !== (jwk.kid ?? kid))) return null;
    return { text: exactly.decode(payload), jwk, kid };
  } catch {
    return null;
  }
}
