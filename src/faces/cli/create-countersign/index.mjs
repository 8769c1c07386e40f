#!/usr/bin/env node
// `npm create countersign [DIR]`: the command `countersign create` of the package itself.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

process.argv.splice(2, 0, "create");
const manifest = createRequire(import.meta.url).resolve("countersign/package.json");
await import(new URL("src/faces/cli/bin.mjs", pathToFileURL(manifest)).href);
