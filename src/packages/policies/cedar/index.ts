/** The entry `countersign/cedar`: policies written in Cedar as rules of a kernel. @module */
export { cedarBaseSchema } from "./base-schema.ts";
export { type CedarEntityProvider, type CedarOptions, cedar } from "./cedar.ts";
export type { CedarEntity } from "./make-request.ts";
export {
  type CedarBundle,
  type OpenBundleOptions,
  openBundle,
  type SignBundleOptions,
  signBundle,
} from "./signed-bundle.ts";
