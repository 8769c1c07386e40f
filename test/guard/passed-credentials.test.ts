/** What a guard passes to a server over HTTP: the credential that it was started with, and none of its clients'. */
import { expect, it } from "vitest";
import { createHttpApp, serveHttp } from "../../src/faces/http/index.ts";
import { createMcpHandler } from "../../src/faces/mcp/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { fixtures } from "../mcp/conformance-kernel.ts";
import { call, openGuard } from "./guard-fixture.ts";

/** A server of both eras, which keeps the headers of every request. */
async function openServer() {
  const { kernel, [Symbol.asyncDispose]: stop } = await createTestKernel({ capabilities: fixtures });
  const face = createMcpHandler(kernel);
  const app = createHttpApp(kernel, { authenticate: () => testCaller, mounts: { "/mcp": face.handle } });
  const seen: Headers[] = [];
  const fetch = (request: Request): Promise<Response> => {
    seen.push(request.headers);
    return app.fetch(request);
  };
  const server = await serveHttp({ fetch }, { port: 0 });
  return {
    place: { url: `${server.url}/mcp`, headers: { authorization: "Bearer of-the-guard" } },
    seen,
    async [Symbol.asyncDispose]() {
      await face.close();
      await server.close();
      await stop();
    },
  };
}

const eras = [{}, { versionNegotiation: { mode: { pin: "2026-07-28" } } }] as const;

it.each(eras)("passes no credential of a client to the server (%j)", async (era) => {
  await using server = await openServer();
  await using g = await openGuard(server.place);
  const client = await g.connect("own", era);
  await client.listTools();
  await call(client, "test_simple_text");
  await g.t.clock.settle();
  expect(server.seen.length).toBeGreaterThan(1);
  expect(new Set(server.seen.map((headers) => headers.get("authorization")))).toEqual(new Set(["Bearer of-the-guard"]));
  const values = server.seen.flatMap((headers) => [...headers.values()]);
  expect(values.filter((value) => /\bown\b/.test(value))).toEqual([]);
});
