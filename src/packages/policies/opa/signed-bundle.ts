/** Signed bundles of Rego policies: what `opa` takes, with the bytes as base64. */
import { z } from "zod";
import { readStrictly } from "../../../contract/known-keys.ts";
import { PolicyStage } from "../../../contract/policy.ts";
import { type OpenBundleOptions, openBundleAs, type SignBundleOptions, signBundleAs } from "../sign-bundles.ts";
import { Bytes } from "./opa.ts";
import { opaLanguage } from "./opa-problem.ts";

const Bundle = z.strictObject({
  /** The name of the set. */
  name: z.string().min(1).max(64).optional(),
  /** The module. */
  wasm: Bytes.optional(),
  /** The data of the module. */
  data: z.record(z.string(), z.json()).optional(),
  /** The bundle that `opa build -t wasm` writes, in place of module and data. */
  bundle: Bytes.optional(),
  /** The entry point with the decisions. */
  entrypoint: z.string().min(1).max(200).optional(),
  /** The stages at which the policies are asked. */
  stages: z.array(PolicyStage).min(1).readonly().optional(),
});
/** The members of a bundle, as `opa` takes them. */
export interface OpaBundle extends Readonly<z.infer<typeof Bundle>> {}

const { wasm: _wasm, bundle: _bundle, ...others } = Bundle.shape;
const Signed = z.strictObject({ ...others, wasm: z.base64().optional(), bundle: z.base64().optional() });
type Signed = z.output<typeof Signed>;

const form = { format: "countersign-opa-1", shape: Signed, language: opaLanguage };

/**
 * Returns the bundle as a compact JWS.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for a bundle or a key that cannot be used.
 */
export async function signBundle(bundle: OpaBundle, options: SignBundleOptions): Promise<string> {
  const reading = { what: "bundle", source: opaLanguage.source };
  const { wasm, bundle: packed, ...rest } = readStrictly(Bundle, bundle, reading);
  const bytes = {
    ...(wasm !== undefined && { wasm: Buffer.from(wasm).toString("base64") }),
    ...(packed !== undefined && { bundle: Buffer.from(packed).toString("base64") }),
  };
  return signBundleAs<Signed>(form, { ...rest, ...bytes }, options);
}

/**
 * Returns what a signed bundle holds: `opa(await openBundle(jws, { keys }))`.
 * @throws KernelErrorException T5_POLICY_UNSIGNED unless one of the keys has signed it; T0_VALIDATION_SCHEMA_MISMATCH
 * for keys that are no Ed25519 keys.
 */
export async function openBundle(jws: string, options: OpenBundleOptions): Promise<OpaBundle> {
  const { wasm, bundle, ...rest } = await openBundleAs<Signed>(form, jws, options);
  return {
    ...rest,
    ...(wasm !== undefined && { wasm: Buffer.from(wasm, "base64") }),
    ...(bundle !== undefined && { bundle: Buffer.from(bundle, "base64") }),
  };
}
