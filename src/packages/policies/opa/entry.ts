/**
 * The entry `countersign/opa` as Node imports it: the exports of `index.ts`, or an error that names the package to
 * install. The entry of `countersign/http` explains it.
 */
import { loadPeers } from "../../../protocol/load-peers.ts";

const packages = ["@open-policy-agent/opa-wasm@1"];

export const { opa, openBundle, signBundle } = await loadPeers(
  { user: "countersign/opa", packages },
  () => import("./index.ts"),
);
