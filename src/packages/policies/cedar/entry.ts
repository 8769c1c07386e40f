/**
 * The entry `countersign/cedar` as Node imports it: the exports of `index.ts`, or an error that names the package to
 * install. The entry of `countersign/http` explains it.
 */
import { loadPeers } from "../../../protocol/load-peers.ts";

const packages = ["@cedar-policy/cedar-wasm@4"];

export const { cedar, cedarBaseSchema, cedarSchema, openBundle, signBundle } = await loadPeers(
  { user: "countersign/cedar", packages },
  () => import("./index.ts"),
);
