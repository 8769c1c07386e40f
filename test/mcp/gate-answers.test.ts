/**
 * An agent's connection answers no gate: not by the tool, not by a question, not by a task; people's do where the host
 * says so.
 */
import type { ClientOptions } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { StaticToken } from "../../src/faces/http/index.ts";
import { intent, publishing } from "../gates/story.ts";
import { call, type McpUnderTest, openMcp, workflowOf } from "./mcp-fixture.ts";

const name = "Story_Note_Publish";
const Anything = z.looseObject({});
const agent: StaticToken = { token: "agent", tenant_id: 1, principal: { type: "agent", id: "bot", role: "user" } };
const submitter: StaticToken = {
  token: "submitter",
  tenant_id: 1,
  principal: { type: "user", id: 1, role: "user" },
  scopes: ["intent:submit", "workflow:execute", "outcome:read"],
};
const modern: ClientOptions = {
  versionNegotiation: { mode: { pin: "2026-07-28" } },
  capabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } },
};

/** Who connects, and whether the host lets people answer gates. */
const refused = [
  ["a person, where the host has not turned it on", "own", false, "T0_MCP_GATE_REFUSED"],
  ["an agent, where the host has turned it on", "agent", true, "T0_MCP_GATE_REFUSED"],
  ["an agent, where it has not", "agent", false, "T0_MCP_GATE_REFUSED"],
  ["a person whose credential lacks gate:approve", "submitter", true, "T5_AUTHZ_FORBIDDEN"],
] as const;

const open = (answersGates: boolean): Promise<McpUnderTest> =>
  openMcp({ capabilities: [publishing().capability] }, { answersGates }, [agent, submitter]);

describe.each(refused)("%s", (_who, as, answersGates, code) => {
  const stays = async ({ t }: McpUnderTest, workflowId: string) => {
    await t.clock.settle();
    expect((await t.kernel.workflow(workflowId)).gates).toMatchObject([{ status: "open", votes: [] }]);
  };

  it("[GAT-07] does not decide by decide-gate, also where its name is known", async () => {
    await using face = await open(answersGates);
    const { workflow_id, gates } = await face.t.run(intent);
    const client = await face.connect(as);
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    for (const tool of ["decide-gate", "decide-gates"])
      expect(names.includes(tool)).toBe(answersGates && as !== "agent");
    const args = { workflow_id, payload_digest: gates[0]?.payload_digest, decision: "approve" };
    const answer = await call(client, "decide-gate", args).catch((thrown: { readonly data?: object }) => thrown);
    const unknown = { data: { kernel: { code: "T0_MCP_TOOL_UNKNOWN" } } };
    const told = { structuredContent: { error: { code } } };
    expect(answer).toMatchObject(names.includes("decide-gate") ? told : unknown);
    await stays(face, workflow_id);
  });

  it.each([{}, modern])(
    "[GAT-07] is asked nothing by a call, and what it answers all the same is not heard",
    async (era) => {
      await using face = await open(answersGates);
      const asked: unknown[] = [];
      const person = (question: unknown) => {
        asked.push(question);
        return { action: "accept", content: { decision: "approve" } } as const;
      };
      const { capabilities: _, ...plain } = era as ClientOptions;
      const client = await face.connect(as, { ...plain, person });
      const waiting = workflowOf(await call(client, name));
      expect([waiting.state, asked]).toEqual(["waiting_for_user", []]);
      expect(waiting.next).toContain("A person decides");
      await stays(face, waiting.workflow_id);
    },
  );

  it("[GAT-07] is shown no question by a task, and tasks/update decides nothing", async () => {
    await using face = await open(answersGates);
    const { workflow_id } = workflowOf(await call(await face.connect(as), name));
    const { gates } = await face.t.kernel.workflow(workflow_id);
    const client = await face.connect(as, { ...modern, person: () => ({ action: "decline" }) });
    const ask = (method: string, params: object) => client.request({ method, params: params as never }, Anything);
    expect((await ask("tasks/get", { taskId: workflow_id }))["inputRequests"]).toEqual({});
    const [{ gate_id, opened_at, payload_digest }] = gates as unknown as [
      Record<"gate_id" | "opened_at" | "payload_digest", string>,
    ];
    const key = `${gate_id}.${Date.parse(opened_at).toString(36)}.${payload_digest}`;
    const inputResponses = { [key]: { action: "accept", content: { decision: "approve" } } };
    const updated = ask("tasks/update", { taskId: workflow_id, inputResponses });
    await expect(updated).rejects.toMatchObject({ data: { kernel: { code } } });
    await stays(face, workflow_id);
  });
});

it("a person's connection answers gates where the host has turned it on", async () => {
  await using face = await open(true);
  const { workflow_id, gates } = await face.t.run(intent);
  const args = { workflow_id, payload_digest: gates[0]?.payload_digest, decision: "approve" };
  expect((await call(await face.connect(), "decide-gate", args)).structuredContent).toMatchObject({
    status: "resumed",
  });
});
