/**
 * The entry `countersign/http` as Node imports it: the exports of `index.ts`, or an error that names the packages to
 * install.
 *
 * Static imports would fail before any code of this package runs, hence the dynamic one. Bundlers and `require` load
 * `index.ts` itself; the types are those of `index.ts`.
 */
import { loadPeers } from "../../protocol/load-peers.ts";

const packages = ["hono@4", "@hono/node-server@2", "marked@18", "github-slugger@2", "yaml@2"];

export const { createHttpApp, defaultHttpLimits, defaultServerLimits, HttpCaller, SessionView, serveHttp } =
  await loadPeers({ user: "countersign/http", packages }, () => import("./index.ts"));
