/** Answers of people that are sent again, or by others, to a guard before a server of 2026-07-28. */
import type { Client } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { createHttpApp, serveHttp } from "../../src/faces/http/index.ts";
import { createMcpHandler } from "../../src/faces/mcp/index.ts";
import { definePolicySet } from "../../src/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { fixtures } from "../mcp/conformance-kernel.ts";
import { openGuard, refusalOf } from "./guard-fixture.ts";

/** A server of both eras over HTTP; each call of a tool is a workflow of its kernel. */
async function openModern() {
  const { kernel, [Symbol.asyncDispose]: stop } = await createTestKernel({ capabilities: fixtures });
  const face = createMcpHandler(kernel);
  const app = createHttpApp(kernel, { authenticate: () => testCaller, mounts: { "/mcp": face.handle } });
  const server = await serveHttp(app, { port: 0 });
  return {
    place: { url: `${server.url}/mcp` },
    calls: async () => (await kernel.workflows()).length,
    async [Symbol.asyncDispose]() {
      await face.close();
      await server.close();
      await stop();
    },
  };
}

const asking = definePolicySet({
  version: "1",
  rules: [
    {
      name: "all",
      stages: ["action"],
      when: { operators: ["Guard.Read"] },
      decision: "REQUIRE_HUMAN_APPROVAL",
      reason: "nobody trusts the server",
    },
  ],
});
interface Questioned {
  readonly requestState: string;
  readonly inputRequests: Readonly<Record<string, unknown>>;
}

it("takes a person's answer once, from the client that was asked: a replay calls nothing", async () => {
  await using server = await openModern();
  await using g = await openGuard(server.place, { answersGates: true }, { policies: [asking] });
  const capabilities = { elicitation: { form: {} } };
  const modern = {
    versionNegotiation: { mode: { pin: "2026-07-28" } },
    capabilities,
    inputRequired: { autoFulfill: false },
  } as const;
  const [client, colleague] = [await g.connect("own", modern), await g.connect("admin", modern)];
  const ask = (as: Client, params: object) =>
    as.callTool({ name: "test_simple_text", ...params } as never, { allowInputRequired: true } as never);
  const asked = (await ask(client, { arguments: { n: 1 } })) as unknown as Questioned;
  const [key = ""] = Object.keys(asked.inputRequests);
  const answer = { action: "accept", content: { decision: "approve" } };
  const approved = { arguments: { n: 1 }, requestState: asked.requestState, inputResponses: { [key]: answer } };
  const invalid = { code: -32602, data: { reason: "invalid_request_state" } };
  await expect(ask(colleague, approved)).rejects.toMatchObject(invalid);
  await expect(ask(client, { ...approved, name: "test_error_handling" })).rejects.toMatchObject(invalid);
  expect(await server.calls()).toBe(0);
  expect(await ask(client, approved)).toMatchObject({ structuredContent: { state: "completed" } });
  for (const n of [1, 2])
    expect(refusalOf((await ask(client, { ...approved, arguments: { n } })) as never)).toMatchObject({
      error: { code: "T0_GUARD_HANDED_OVER" },
    });
  expect(await server.calls()).toBe(1);
});
