/** The OpenAI Agents SDK's runner over tools that a kernel judges and runs, with states that outlive the process. */
import { Agent, hostedMcpTool, Runner, RunState, tool } from "@openai/agents";
import { expect, it } from "vitest";
import { z } from "zod";
import { guardTools, resume } from "../../src/faces/agents/openai-agents/index.ts";
import { keepsLaws } from "./adapter-laws.ts";
import { allowing, openDesk } from "./agents-fixture.ts";
import { openaiAgents, scripted } from "./drivers/openai-agents.ts";

keepsLaws(openaiAgents);

it("leaves the state as it is while a call waits", async () => {
  await using desk = await openDesk();
  const { model } = scripted([[["call-1", "refund", { order: "A7" }]]]);
  const execute = () => "done";
  const refund = tool({
    name: "refund",
    description: "Refunds.",
    parameters: z.object({ order: z.string() }),
    execute,
  });
  const thread = desk.support.thread("chat-1");
  const agent = guardTools(new Agent({ name: "support", model, tools: [refund] }), thread);
  const { state } = await new Runner({ tracingDisabled: true }).run(agent, "Refund order A7.");
  const stored = state.toString();
  const restored = await RunState.fromString(agent, stored);
  expect(await resume(restored, thread)).toMatchObject({ waiting: [{ status: "waiting" }] });
  expect(restored.toString()).toBe((await RunState.fromString(agent, stored)).toString());
});

it("refuses agents whose calls the kernel cannot judge", async () => {
  await using desk = await openDesk();
  const thread = desk.support.thread("chat-1");
  const hosted = hostedMcpTool({ serverLabel: "far", serverUrl: "https://mcp.test" });
  const other = new Agent({ name: "other" });
  for (const more of [{ tools: [hosted] }, { handoffs: [other] }])
    expect(() => guardTools(new Agent({ name: "open", ...more }), thread)).toThrow(/T0_AGENT_UNGUARDED|cannot judge/);
  const inner = guardTools(other, thread);
  expect(guardTools(new Agent({ name: "whole", handoffs: [inner] }), thread).handoffs).toEqual([inner]);
  expect(() => guardTools({} as never, thread)).toThrow(/guardTools/);
});

it("judges the calls of an agent that is a tool, and goes on in it once they are decided", async () => {
  await using desk = await openDesk({ policies: [allowing("ask_clerk")] });
  const thread = desk.support.thread("chat-1");
  const refunds: unknown[] = [];
  const parameters = z.object({ order: z.string() });
  const refund = tool({ name: "refund", description: "Refunds.", parameters, execute: (args) => refunds.push(args) });
  const inner = scripted([[["call-2", "refund", { order: "A7" }]]]);
  const outer = scripted([[["call-1", "ask_clerk", { input: "Refund A7." }]]]);
  const clerk = guardTools(new Agent({ name: "clerk", model: inner.model, tools: [refund] }), thread);
  const tools = [clerk.asTool({ toolName: "ask_clerk", toolDescription: "Asks." })];
  const agent = guardTools(new Agent({ name: "support", model: outer.model, tools }), thread);
  const runner = new Runner({ tracingDisabled: true });
  const paused = await runner.run(agent, "Refund order A7.");
  expect([paused.interruptions.map(({ name }) => name), refunds]).toEqual([["refund"], []]);
  const state = await RunState.fromString(agent, paused.state.toString());
  expect((await resume(state, thread)).waiting).toHaveLength(1);
  await desk.decide("approve");
  expect((await resume(state, thread)).waiting).toEqual([]);
  const ended = await runner.run(agent, state);
  expect([refunds, ended.interruptions]).toEqual([[{ order: "A7" }], []]);
  expect(outer.prompts.at(-1)).toContain("It is done.");
});
