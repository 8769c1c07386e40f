/** What people sign with: a key each, the same in every run of a story, and how they sign. */
import { createHash, createPrivateKey, createPublicKey } from "node:crypto";
import { signApproval } from "../../src/adapters/jws-signer.ts";
import type { Signing } from "../../src/contract/approval-claims.ts";
import type { Gate } from "../../src/contract/gate.ts";
import type { OutsideWorld } from "./outside-world.ts";

/** PKCS #8 of an Ed25519 key, up to its 32 bytes (RFC 8410). */
const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex");
const keys = new Map<unknown, ReturnType<typeof makeKey>>();

function makeKey(id: unknown) {
  const seed = createHash("sha256").update(`story ${id}`).digest();
  const secret = createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: "der", type: "pkcs8" });
  return { secret: secret.export({ format: "jwk" }), open: createPublicKey(secret).export({ format: "jwk" }) };
}

function keyOf(id: unknown) {
  const key = keys.get(id) ?? makeKey(id);
  keys.set(id, key);
  return key;
}

export const publicKeyOf = (id: unknown): object => keyOf(id).open;

interface Signs extends Signing {
  /** Whose key. */
  readonly key: unknown;
  readonly nonce: string;
}

/** Returns the part and the stage for which a person's vote counts, as the gate shows them to that person. */
function seatOf({ quorum, stage }: Gate, { principal }: Signing): NonNullable<Signing["seat"]> {
  const { role } = principal as { readonly role?: string };
  const part = quorum?.of === undefined ? undefined : role;
  return { ...(part !== undefined && { part }), ...(stage !== undefined && { stage }) };
}

/** The same words with the same nonce are the same signature. */
export async function signWord(world: OutsideWorld, gate: Gate, { key, ...signing }: Signs): Promise<string> {
  const signature = await signApproval(gate, { ...signing, seat: seatOf(gate, signing), key: keyOf(key).secret });
  if (key === signing.principal.id) world.signed.set(signature, key);
  return signature;
}
