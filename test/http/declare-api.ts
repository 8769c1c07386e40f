/**
 * `node test/http/declare-api.ts FILE`: the types of `countersign/api`, made by openapi-typescript of the document that
 * an API with all of its routes tells. Runs in a process of its own, whose `typescript` has the API that it prints
 * with.
 */
import { writeFileSync } from "node:fs";
import type { OpenAPI3 } from "openapi-typescript";
import { createHttpApp } from "../../src/faces/http/index.ts";
import { createKernel } from "../../src/index.ts";
import "../guide/older-compiler.ts";

const heading = "// The HTTP API as types, for any client of OpenAPI's: made from its document.\n\n";

async function readDocument(): Promise<OpenAPI3> {
  await using kernel = await createKernel();
  const app = createHttpApp(kernel, { sessions: {}, metrics: async () => "" });
  const response = await app.fetch(new Request("http://localhost/openapi.json"));
  return (await response.json()) as OpenAPI3;
}

const [, , file = ""] = process.argv;
const { default: makeTypes, astToString } = await import("openapi-typescript");
writeFileSync(file, heading + astToString(await makeTypes(await readDocument())));
