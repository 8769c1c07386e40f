/** The entry `countersign/cedar`: policies written in Cedar as rules of a kernel. @module */

export type { OpenBundleOptions, SignBundleOptions } from "../sign-bundles.ts";
export { cedarBaseSchema } from "./base-schema.ts";
export { type CedarEntityProvider, type CedarOptions, cedar } from "./cedar.ts";
export type { CedarEntity } from "./make-request.ts";
export { type CedarSchemaOptions, cedarSchema } from "./make-schema.ts";
export { type CedarBundle, openBundle, signBundle } from "./signed-bundle.ts";
