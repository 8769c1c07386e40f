/**
 * The entry `countersign/ai-sdk` as Node imports it: the exports of `index.ts`, or an error that names the packages to
 * install. The entry of `countersign/http` explains it.
 */
import { loadPeers } from "../../../protocol/load-peers.ts";

const packages = ["ai@7"];

export const { countersigned, createAgents } = await loadPeers(
  { user: "countersign/ai-sdk", packages },
  () => import("./index.ts"),
);
