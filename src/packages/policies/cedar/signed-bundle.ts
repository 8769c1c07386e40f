/** Signed bundles of Cedar policies: their texts, as `cedar` takes them. */
import { z } from "zod";
import { PolicyStage } from "../../../contract/policy.ts";
import { type OpenBundleOptions, openBundleAs, type SignBundleOptions, signBundleAs } from "../sign-bundles.ts";
import { cedarLanguage } from "./cedar-problem.ts";

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

const form = { format: "countersign-cedar-1", shape: Bundle, language: cedarLanguage };

/**
 * Returns the bundle as a compact JWS.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for a bundle or a key that cannot be used.
 */
export const signBundle = (bundle: CedarBundle, options: SignBundleOptions): Promise<string> =>
  signBundleAs<CedarBundle>(form, bundle, options);

/**
 * Returns the texts of a signed bundle: `cedar({ ...(await openBundle(jws, { keys })), entities })`.
 * @throws KernelErrorException T5_POLICY_UNSIGNED unless one of the keys has signed it; T0_VALIDATION_SCHEMA_MISMATCH
 * for keys that are no Ed25519 keys.
 */
export const openBundle = (jws: string, options: OpenBundleOptions): Promise<CedarBundle> =>
  openBundleAs<CedarBundle>(form, jws, options);
