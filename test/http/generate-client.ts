/**
 * `node test/http/generate-client.ts DOCUMENT TYPES`: the types of a client, as openapi-typescript makes them by itself.
 * Runs in a process of its own, whose `typescript` has the API that it prints with.
 */
import { readFileSync, writeFileSync } from "node:fs";
import "../guide/older-compiler.ts";

const [, , document = "", types = ""] = process.argv;
const { default: makeTypes, astToString } = await import("openapi-typescript");
writeFileSync(types, astToString(await makeTypes(JSON.parse(readFileSync(document, "utf8")))));
