/**
 * Bundles of policies with a signature: a compact JWS over what they hold.
 *
 * Owns: what a signed text looks like, and whose signature counts. Never: keeps a key; knows what a bundle holds.
 * 1.  Nothing of a bundle is used unless one of the given keys has signed all of it.
 * 2.  A signature that was made over something else, such as an approval or a bundle in another language, is no
 *     signature of this bundle.
 */
import { z } from "zod";
import { jwsVerifier } from "../../adapters/jws-verifier.ts";
import { canonicalJson } from "../../contract/digest.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { readKeys } from "../../contract/gate-vote.ts";
import { messageOf, raise } from "../../contract/kernel-error.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import type { PolicyLanguage } from "./refuse-policies.ts";

/** The form of the bundles of a language. */
export interface BundleForm<T> {
  /** The format in the signed text, which tells it from every other signed text. */
  readonly format: string;
  readonly shape: z.ZodType<T>;
  readonly language: PolicyLanguage;
}

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
export async function signBundleAs<T>(form: BundleForm<T>, bundle: T, options: SignBundleOptions): Promise<string> {
  const { source } = form.language;
  const read = readStrictly(form.shape, bundle, { what: "bundle", source });
  const { key, kid } = readStrictly(Signing, options, { what: "signBundle", source });
  const { CompactSign, importJWK, importPKCS8 } = await import("jose");
  const text = canonicalJson({ format: form.format, bundle: read });
  try {
    const secret = typeof key === "string" ? await importPKCS8(key, "EdDSA") : await importJWK({ ...key }, "EdDSA");
    return await new CompactSign(new TextEncoder().encode(text))
      .setProtectedHeader({ alg: "EdDSA", ...(kid !== undefined && { kid }) })
      .sign(secret);
  } catch (thrown) {
    const message = `the key cannot sign: ${messageOf(thrown)}`;
    return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, source));
  }
}

/**
 * Returns what a signed bundle holds.
 * @throws KernelErrorException T5_POLICY_UNSIGNED unless one of the keys has signed it; T0_VALIDATION_SCHEMA_MISMATCH
 * for keys that are no Ed25519 keys.
 */
export async function openBundleAs<T>(form: BundleForm<T>, jws: string, options: OpenBundleOptions): Promise<T> {
  const { source } = form.language;
  const { keys } = readStrictly(Opening, options, { what: "openBundle", source });
  const known = readKeys(keys);
  if (known.length < keys.length)
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "openBundle: keys: each must be an Ed25519 JWK", source));
  const verified = typeof jws === "string" ? await jwsVerifier.verify(jws, known) : null;
  if (verified === null)
    return raise(kernelError("T5_POLICY_UNSIGNED", "none of the keys has signed the bundle of policies", source));
  const shape = z.strictObject({ format: z.literal(form.format), bundle: form.shape });
  const read = shape.safeParse(parseText(verified.text));
  if (read.success) return read.data.bundle as T;
  const message = `the signed text is no bundle of policies: ${z.prettifyError(read.error)}`;
  return raise(kernelError("T5_POLICY_UNSIGNED", message, source));
}

/** Returns the JSON of a signed text; null if it is not JSON. */
function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
