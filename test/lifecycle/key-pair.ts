/** A pair of keys to sign with, as an approver has one. */
import { exportJWK, generateKeyPair } from "jose";

export async function keyPairOf(): Promise<{ readonly secret: object; readonly open: object }> {
  const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
  return { secret: await exportJWK(privateKey), open: await exportJWK(publicKey) };
}
