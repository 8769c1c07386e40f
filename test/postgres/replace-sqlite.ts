/**
 * Loaded before the tests of the project "kernel on postgres": whatever imports the SQLite ledger gets one in Postgres.
 */
import { registerHooks } from "node:module";

const replacement = new URL("in-place-of-sqlite.ts", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    return resolved.url.endsWith("/src/ledger/sqlite/index.ts") ? { ...resolved, url: replacement } : resolved;
  },
});
