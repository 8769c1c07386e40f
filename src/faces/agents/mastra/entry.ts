/**
 * The entry `countersign/mastra` as Node imports it: the exports of `index.ts`, or an error that names the package to
 * install. The entry of `countersign/http` explains it.
 */
import { loadPeers } from "../../../protocol/load-peers.ts";

const packages = ["@mastra/core@1"];

export const { countersigned, createAgents } = await loadPeers(
  { user: "countersign/mastra", packages },
  () => import("./index.ts"),
);
