/**
 * Bundles of policies with a signature: a compact JWS over their texts.
 *
 * Owns: what a signed bundle holds, and whose signature counts. Never: keeps a key.
 * 1.  Nothing of a bundle is used unless one of the given keys has signed all of it.
 * 2.  A signature that was made over something else, such as an approval, is no signature of a bundle.
 */
import { z } from "zod";
import { jwsVerifier } from "../../../adapters/jws-verifier.ts";
import { canonicalJson } from "../../../contract/digest.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { readKeys } from "../../../contract/gate-vote.ts";
import { messageOf, raise } from "../../../contract/kernel-error.ts";
import { readStrictly } from "../../../contract/known-keys.ts";
import { PolicyStage } from "../../../contract/policy.ts";
import { cedarRef } from "./cedar-problem.ts";

const Bundle = z.strictObject({
  /** The name of the set. */
  name: z.string().min(1).max(64).optional(),
  /** The policies, as Cedar's text. */
  policies: z.string().min(1),
  /** The host's declarations in Cedar's schema language. */
  schema: z.string().optional(),
  /** The stages at which the policies are asked. */
  stages: z.array(PolicyStage).min(1).readonly().optional(),
});
/** The texts of a bundle, as `cedar` takes them. */
export interface CedarBundle extends Readonly<z.infer<typeof Bundle>> {}

/** The form of the signed text; the format tells it from every other signed text. */
const Signed = z.strictObject({ format: z.literal("countersign-cedar-1"), bundle: Bundle });

const Key = z.union([z.record(z.string(), z.unknown()), z.string().min(1)]);

const Signing = z.strictObject({
  /** A private Ed25519 key: a JWK, or PKCS #8 in PEM. */
  key: Key,
  /** The name of the key, which then must be the `kid` of the public key. */
  kid: z.string().min(1).max(256).optional(),
});
/** The key that signs a bundle. */
export interface SignBundleOptions extends Readonly<z.input<typeof Signing>> {}

const Opening = z.strictObject({
  /** The public Ed25519 keys, as JWKs, of those who may sign bundles. */
  keys: z.array(z.record(z.string(), z.unknown())).min(1).readonly(),
});
/** The keys whose signatures count. */
export interface OpenBundleOptions extends Readonly<z.input<typeof Opening>> {}

/**
 * Returns the bundle as a compact JWS.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for a bundle or a key that cannot be used.
 */
export async function signBundle(bundle: CedarBundle, options: SignBundleOptions): Promise<string> {
  const read = readStrictly(Bundle, bundle, { what: "bundle", source: cedarRef });
  const { key, kid } = readStrictly(Signing, options, { what: "signBundle", source: cedarRef });
  const { CompactSign, importJWK, importPKCS8 } = await import("jose");
  const text = canonicalJson({ format: "countersign-cedar-1", bundle: read });
  try {
    const secret = typeof key === "string" ? await importPKCS8(key, "EdDSA") : await importJWK({ ...key }, "EdDSA");
    return await new CompactSign(new TextEncoder().encode(text))
      .setProtectedHeader({ alg: "EdDSA", ...(kid !== undefined && { kid }) })
      .sign(secret);
  } catch (thrown) {
    const message = `the key cannot sign: ${messageOf(thrown)}`;
    return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, cedarRef));
  }
}

/**
 * Returns the texts of a signed bundle: `cedar({ ...(await openBundle(jws, { keys })), entities })`.
 * @throws KernelErrorException T5_POLICY_UNSIGNED unless one of the keys has signed it; T0_VALIDATION_SCHEMA_MISMATCH
 * for keys that are no Ed25519 keys.
 */
export async function openBundle(jws: string, options: OpenBundleOptions): Promise<CedarBundle> {
  const { keys } = readStrictly(Opening, options, { what: "openBundle", source: cedarRef });
  const known = readKeys(keys);
  if (known.length < keys.length)
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "openBundle: keys: each must be an Ed25519 JWK", cedarRef));
  const verified = typeof jws === "string" ? await jwsVerifier.verify(jws, known) : null;
  if (verified === null)
    return raise(kernelError("T5_POLICY_UNSIGNED", "none of the keys has signed the bundle of policies", cedarRef));
  const read = Signed.safeParse(parseText(verified.text));
  if (read.success) return read.data.bundle;
  const message = `the signed text is no bundle of policies: ${z.prettifyError(read.error)}`;
  return raise(kernelError("T5_POLICY_UNSIGNED", message, cedarRef));
}

/** Returns the JSON of a signed text; null if it is not JSON. */
function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
