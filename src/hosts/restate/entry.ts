/**
 * The entry `countersign/restate` as Node imports it: the exports of `index.ts`, or an error that names the packages to
 * install. The entry of `countersign/http` explains it.
 */
import { loadPeers } from "../../protocol/load-peers.ts";

const packages = ["@restatedev/restate-sdk@1", "@restatedev/restate-sdk-clients@1"];

export const { restateHost } = await loadPeers({ user: "countersign/restate", packages }, () => import("./index.ts"));
