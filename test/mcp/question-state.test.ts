/** What a question carries (`requestState`): it is good for the tool, the caller and the gate that it was put for. */

import type { ServerContext } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ScopedCaller } from "../../src/contract/auth-context.ts";
import { createMcpHandler } from "../../src/faces/mcp/index.ts";
import { questionStates } from "../../src/faces/mcp/question-state.ts";
import { counted, gatedSteps, step, story } from "../gates/story.ts";
import { type McpUnderTest, openMcp } from "./mcp-fixture.ts";

const tool = "Story_Note_Publish";
const approval = { action: "accept", content: { decision: "approve" } };

interface Answer {
  readonly result?: {
    readonly resultType?: string;
    readonly inputRequests?: Readonly<Record<string, unknown>>;
    readonly requestState?: string;
    readonly structuredContent?: { readonly workflow_id: string; readonly state: string };
  };
  readonly error?: { readonly code: number; readonly data?: { readonly reason?: string } };
}

/** A call as a client of 2026-07-28 sends it. */
async function callTool(
  face: Pick<McpUnderTest, "fetch">,
  name: string,
  { as = "own", headers = {}, ...params }: Readonly<Record<string, unknown>> & { readonly as?: string },
): Promise<Answer> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
  };
  const said = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": name,
    ...(headers as object),
  };
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {}, ...params, _meta } };
  const response = await face.fetch("/mcp", { method: "POST", headers: said, body: JSON.stringify(message) }, as);
  return (await response.json()) as Answer;
}

const refused = { error: { code: -32602, data: { reason: "invalid_request_state" } } };

async function asked(face: McpUnderTest, as = "own") {
  const { result } = await callTool(face, tool, { as });
  const [key = ""] = Object.keys(result?.inputRequests ?? {});
  return { requestState: result?.requestState ?? "", key };
}

describe("[API-08] the state of a question", () => {
  it("comes back with its answer, and what it was put for runs", async () => {
    const { capability, sent } = gatedSteps(1);
    await using face = await openMcp({ capabilities: [capability] });
    const { requestState, key } = await asked(face);
    const done = await callTool(face, tool, { requestState, inputResponses: { [key]: approval } });
    expect(done.result?.structuredContent?.state).toBe("completed");
    expect(sent()).toEqual(["s1"]);
    expect(await face.t.kernel.workflows()).toHaveLength(1);
  });

  it("stolen by another caller, used at another tool, changed or made up, it is refused and undecided", async () => {
    const { capability, sent } = gatedSteps(1);
    await using face = await openMcp({ capabilities: [capability] });
    const { requestState, key } = await asked(face);
    const [{ workflow_id = "" } = {}] = await face.t.kernel.workflows();
    const inputResponses = { [key]: approval };
    for (const [name, as, state] of [
      [tool, "admin", requestState],
      [tool, "foreign", requestState],
      ["list-workflows", "own", requestState],
      [tool, "own", `${requestState.slice(0, -2)}aa`],
      [tool, "own", workflow_id],
    ] as const)
      expect(await callTool(face, name, { as, requestState: state, inputResponses })).toMatchObject(refused);
    expect(sent()).toEqual([]);
    expect(await face.t.kernel.workflows()).toHaveLength(1);
  });

  it("put for one gate, it does not carry an answer to another", async () => {
    const { capability, sent } = gatedSteps(2);
    await using face = await openMcp({ capabilities: [capability] });
    const first = await asked(face);
    const [{ workflow_id = "" } = {}] = await face.t.kernel.workflows();
    const gates = await face.t.kernel.gates({ workflow_id });
    const other = gates.find(({ gate_id }) => !first.key.startsWith(`${gate_id}.`));
    const key = `${other?.gate_id}.${Date.parse(other?.opened_at ?? "").toString(36)}.${other?.payload_digest}`;
    const alone = { requestState: first.requestState, inputResponses: { [key]: approval } };
    expect(await callTool(face, tool, alone)).toMatchObject(refused);
    expect(sent()).toEqual([]);
    const both = { requestState: first.requestState, inputResponses: { [first.key]: approval, [key]: approval } };
    const next = await callTool(face, tool, both);
    expect(Object.keys(next.result?.inputRequests ?? {})).toEqual([key]);
    expect(sent()).toHaveLength(1);
  });

  it("used again once its gate is decided, it decides nothing", async () => {
    const { capability, sent } = gatedSteps(1);
    await using face = await openMcp({ capabilities: [capability] });
    const { requestState, key } = await asked(face);
    const answer = { requestState, inputResponses: { [key]: { action: "decline" } } };
    expect((await callTool(face, tool, answer)).result?.structuredContent?.state).toBe("cancelled");
    const again = await callTool(face, tool, { requestState, inputResponses: { [key]: approval } });
    expect(again.result?.structuredContent?.state).toBe("cancelled");
    expect(sent()).toEqual([]);
  });

  it("is bound to the tenant, the type, id and role of the principal, and the scopes of the credential", async () => {
    const principal = { type: "user", id: "own", role: "user" };
    const own = { tenant_id: 1, principal, scopes: ["gate:approve", "workflow:read"] };
    const states = (caller: ScopedCaller) =>
      questionStates({ caller, options: { stateKey: new Uint8Array(32), limits: { elicitationMs: 60_000 } } } as never);
    const context = {} as ServerContext;
    const state = { workflow_id: "wf_1", tool, question: "gate-s1" };
    const sealed = await states(own).mint(state, context);
    expect(await states(own).verify(sealed, context)).toEqual(state);
    expect(await states({ ...own, scopes: [...own.scopes].reverse() }).verify(sealed, context)).toEqual(state);
    for (const other of [
      { ...own, tenant_id: 2 },
      { ...own, principal: { ...principal, type: "service" } },
      { ...own, principal: { ...principal, id: "other" } },
      { ...own, principal: { ...principal, role: "admin" } },
      { ...own, scopes: ["gate:approve"] },
      { ...own, scopes: [] },
      { tenant_id: 1, principal },
    ] satisfies readonly ScopedCaller[])
      await expect(states(other).verify(sealed, context)).rejects.toThrow("bind");
  });

  it("a key that is too short is refused when the server is made", async () => {
    await using face = await openMcp();
    const stateKey = new Uint8Array(31);
    expect(() => createMcpHandler(face.t.kernel, { stateKey })).toThrow("T0_VALIDATION_SCHEMA_MISMATCH");
  });
});

describe("[API-08] headers that repeat what a call says", () => {
  const send = counted("Note.Send");
  const input = z.object({
    region: z.string().meta({ "x-mcp-header": "Region" }),
    page: z.object({ size: z.int().meta({ "x-mcp-header": "Size" }) }).optional(),
  });
  const capability = story([send], [step("send", send)], { input });
  const args = (more: object = {}) => ({ arguments: { region: "Zürich", ...more } });
  const encoded = `=?base64?${Buffer.from("Zürich").toString("base64")}?=`;

  it.each([
    ["as they are said", { "mcp-param-region": encoded, "mcp-param-size": "42.0" }, { page: { size: 42 } }],
    ["where the arguments say nothing", { "mcp-param-region": encoded, "mcp-param-size": "7" }, {}],
  ])("%s: the call runs", async (_name, headers, more) => {
    await using face = await openMcp({ capabilities: [capability] });
    const { result } = await callTool(face, tool, { ...args(more), headers });
    expect(result?.structuredContent?.state).toBe("completed");
  });

  it.each([
    ["missing", {}],
    ["of another value", { "mcp-param-region": "Bern" }],
    ["in bad Base64", { "mcp-param-region": `${encoded.slice(0, -4)}?=` }],
    ["with a method that is another", { "mcp-param-region": encoded, "mcp-method": "tools/list" }],
    ["with the name of another tool", { "mcp-param-region": encoded, "mcp-name": "list-gates" }],
    ["of another number", { "mcp-param-region": encoded, "mcp-param-size": "43" }],
  ])("%s: the call is refused, and nothing begins", async (_name, headers) => {
    await using face = await openMcp({ capabilities: [capability] });
    const refusal = await callTool(face, tool, { ...args({ page: { size: 42 } }), headers });
    expect(refusal.error?.code).toBe(-32020);
    expect(await face.t.kernel.workflows()).toEqual([]);
  });
});
