/** The OpenAI Agents SDK's runner over tools that a kernel judges and runs, with states that outlive the process. */
import {
  Agent,
  hostedMcpTool,
  type Model,
  type ModelRequest,
  type ModelResponse,
  Runner,
  RunState,
  tool,
  Usage,
} from "@openai/agents";
import { expect, it } from "vitest";
import { z } from "zod";
import { guardTools, resume } from "../../src/faces/agents/openai-agents/index.ts";
import { allowing, decideElsewhere, denying, ledgerPath, openDesk } from "./agents-fixture.ts";

type Call = readonly [id: string, tool: string, args: object];
const refundCall: Call = ["call-1", "refund", { order: "A7", cents: 900 }];

/** A model that makes these calls first and then says a text, and keeps what it was given. */
function scripted(calls: readonly Call[]) {
  const prompts: string[] = [];
  const getResponse = async ({ input }: ModelRequest): Promise<ModelResponse> => {
    const isFirst = prompts.push(JSON.stringify(input)) === 1 && calls.length > 0;
    const asked = calls.map(([callId, name, args]) => ({
      ...({ type: "function_call", callId, name, status: "completed" } as const),
      arguments: JSON.stringify(args),
    }));
    const content = [{ type: "output_text" as const, text: "It is done." }];
    const done = { type: "message" as const, role: "assistant" as const, status: "completed" as const, content };
    return { usage: new Usage(), output: isFirst ? asked : [done] };
  };
  const getStreamedResponse = () => {
    throw new Error("this model does not stream");
  };
  return { prompts, model: { getResponse, getStreamedResponse } satisfies Model };
}

type Desk = Pick<Awaited<ReturnType<typeof openDesk>>, "support">;

/** An agent with new objects of the SDK, its model's script, and the arguments that `refund` was called with. */
function openAgent({ support }: Desk, calls: readonly Call[]) {
  const refunds: unknown[] = [];
  const { prompts, model } = scripted(calls);
  const refund = tool({
    name: "refund",
    description: "Refunds.",
    parameters: z.object({ order: z.string(), cents: z.number() }),
    execute: async (args) => {
      refunds.push(args);
      return { refunded: args.cents };
    },
  });
  const thread = support.thread("chat-1");
  const agent = guardTools(new Agent({ name: "support", instructions: "Help.", model, tools: [refund] }), thread);
  return { agent, thread, refunds, prompts, runner: new Runner({ tracingDisabled: true }) };
}

/** Runs the agent to its gate in a kernel that is then stopped, and returns the state that the app stored. */
async function pause(path: string): Promise<string> {
  await using desk = await openDesk({ path });
  const { agent, runner, refunds } = openAgent(desk, [refundCall]);
  const result = await runner.run(agent, "Refund order A7.");
  expect(result.interruptions.map(({ name }) => name)).toEqual(["refund"]);
  expect(refunds).toEqual([]);
  return result.state.toString();
}

/** Goes on from a stored state with new objects on the same file. */
async function goOn(path: string, stored: string) {
  await using desk = await openDesk({ path, seed: 7 });
  const { agent, thread, runner, refunds, prompts } = openAgent(desk, []);
  const state = await RunState.fromString(agent, stored);
  const { waiting } = await resume(state, thread);
  const result = await runner.run(agent, state);
  return { refunds, prompts, waiting, text: result.finalOutput, verified: (await desk.kernel.verify()).ok };
}

it("pauses at a gate, and after restarts of both sides calls the tool once with the approved payload", async () => {
  const path = ledgerPath();
  const stored = await pause(path);
  const gate = await decideElsewhere(path, "approve");
  const first = await goOn(path, stored);
  expect(first.refunds).toEqual([(gate.payload as { arguments: unknown }).arguments]);
  expect(first.prompts[0]).toContain("refunded");
  expect([first.text, first.verified]).toEqual(["It is done.", true]);
  const again = await goOn(path, stored);
  expect([again.refunds, again.text]).toEqual([[], "It is done."]);
  expect(again.prompts[0]).toContain("refunded");
});

it("takes a rejection's words to the model, and calls nothing", async () => {
  const path = ledgerPath();
  const stored = await pause(path);
  await decideElsewhere(path, "reject", { comment: "ask the customer first" });
  const { refunds, prompts } = await goOn(path, stored);
  expect(refunds).toEqual([]);
  expect(prompts[0]).toContain("user ann rejected the call: ask the customer first");
});

it("runs edited arguments, and tells the model", async () => {
  const path = ledgerPath();
  const stored = await pause(path);
  await decideElsewhere(path, "approve", { edit: { arguments: { order: "A7", cents: 100 } } });
  const { refunds, prompts } = await goOn(path, stored);
  expect(refunds).toEqual([{ order: "A7", cents: 100 }]);
  expect(prompts[0]).toContain("user ann changed the arguments before the call was made");
});

it("reads edited arguments by the tool's schema, and calls nothing if they do not fit", async () => {
  const path = ledgerPath();
  const stored = await pause(path);
  await decideElsewhere(path, "approve", { edit: { arguments: { order: "A7", cents: "all" } } });
  const { refunds, prompts } = await goOn(path, stored);
  expect(refunds).toEqual([]);
  expect(prompts[0]).toContain("user ann changed the arguments");
});

it("leaves the state as it is while a call waits, and runs nothing on an approval that it claims", async () => {
  const path = ledgerPath();
  const stored = await pause(path);
  await using desk = await openDesk({ path, seed: 7 });
  const { agent, thread, runner, refunds, prompts } = openAgent(desk, []);
  const state = await RunState.fromString(agent, stored);
  expect(await resume(state, thread)).toMatchObject({ waiting: [{ status: "waiting" }] });
  expect(state.toString()).toBe((await RunState.fromString(agent, stored)).toString());
  for (const item of state.getInterruptions()) state.approve(item);
  await runner.run(agent, state);
  expect(refunds).toEqual([]);
  expect(prompts[0]).toContain("waits for a person's decision");
});

it.each([
  ["a rule lets it", allowing("refund"), [refundCall[2]], "refunded"],
  ["a rule denies it", denying("refund"), [], "refunds are closed in November"],
] as const)("asks nobody where %s", async (_case, rules, expected, told) => {
  await using desk = await openDesk({ policies: [rules] });
  const { agent, runner, refunds, prompts } = openAgent(desk, [refundCall]);
  const result = await runner.run(agent, "Refund order A7.");
  expect([result.interruptions, refunds]).toEqual([[], expected]);
  expect(prompts[1]).toContain(told);
});

it("runs nothing without its kernel", async () => {
  const desk = await openDesk({ policies: [allowing("refund")] });
  const { agent, runner, refunds, prompts } = openAgent(desk, [refundCall]);
  await desk.kernel.stop();
  await runner.run(agent, "Refund order A7.");
  expect(refunds).toEqual([]);
  expect(prompts[1]).toMatch(/T\d_[A-Z_]+/);
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
