/** The entry `countersign/opa`: policies written in Rego as rules of a kernel. @module */
export type { OpenBundleOptions, SignBundleOptions } from "../sign-bundles.ts";
export { type OpaLimits, type OpaOptions, opa } from "./opa.ts";
export { type OpaBundle, openBundle, signBundle } from "./signed-bundle.ts";
