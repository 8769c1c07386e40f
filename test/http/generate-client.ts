/**
 * `node test/http/generate-client.ts DOCUMENT TYPES`: the types of a client, as openapi-typescript makes them by itself.
 * Runs in a process of its own, in which `typescript` is a release with the API that it prints with; ours has another.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";

const older = import.meta.resolve("./typescript-5.js");
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "typescript" ? { url: older, shortCircuit: true } : next(specifier, context),
  load: (url, context, next) =>
    url === older
      ? { format: "module", source: 'export { ts as default } from "@ts-morph/common";', shortCircuit: true }
      : next(url, context),
});

const [, , document = "", types = ""] = process.argv;
const { default: makeTypes, astToString } = await import("openapi-typescript");
writeFileSync(types, astToString(await makeTypes(JSON.parse(readFileSync(document, "utf8")))));
