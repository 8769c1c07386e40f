/**
 * Replaces the SQLite ledger in the project "kernel on postgres": each module that imports it gets a ledger in
 * Postgres. Node loads this file before the tests.
 */
import { registerHooks } from "node:module";

const replacement = new URL("in-place-of-sqlite.ts", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    return resolved.url.endsWith("/src/ledger/sqlite/index.ts") ? { ...resolved, url: replacement } : resolved;
  },
});
