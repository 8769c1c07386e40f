/**
 * The entry `countersign/langgraph` as Node imports it: the exports of `index.ts`, or an error that names the packages
 * to install. The entry of `countersign/http` explains it.
 */
import { loadPeers } from "../../../protocol/load-peers.ts";

const packages = ["langchain@1", "@langchain/langgraph@1", "@langchain/core@1"];

export const { countersigned, createAgents } = await loadPeers(
  { user: "countersign/langgraph", packages },
  () => import("./index.ts"),
);
