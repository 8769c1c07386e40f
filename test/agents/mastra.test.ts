/** Mastra's own agent over tools that a kernel judges and runs, resumed from the snapshots of its storage. */
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { expect, it } from "vitest";
import { z } from "zod";
import { countersigned } from "../../src/faces/agents/mastra/index.ts";
import { allowing, decideElsewhere, denying, ledgerPath, openDesk } from "./agents-fixture.ts";
import { type Answer, scriptedModel } from "./mock-model.ts";

const inThread = { memory: { thread: "chat-1", resource: "eve" } };
const refundCall: Answer = [["call-1", "refund", { order: "A7", cents: 900 }]];

type Desk = Awaited<ReturnType<typeof openDesk>>;

/** An agent with new objects of the framework, and the arguments that `refund` was called with. */
function openAgent(desk: Pick<Desk, "support">, answers: readonly Answer[], storage = new InMemoryStore()) {
  const refunds: unknown[] = [];
  const { model, prompts } = scriptedModel(answers);
  const refund = createTool({
    id: "refund",
    description: "Refunds.",
    inputSchema: z.object({ order: z.string(), cents: z.number() }),
    outputSchema: z.object({ refunded: z.number(), by: z.string() }),
    execute: async ({ order, cents }, { agent }) => {
      refunds.push({ order, cents });
      if (order === "none") throw new Error("no such order");
      if (order === "ask") await agent?.suspend({ question: "which?" });
      return { refunded: cents, by: agent?.toolCallId ?? "" };
    },
  });
  const short = createTool({
    id: "short",
    description: "Refunds, told in a few words.",
    inputSchema: z.object({ cents: z.number() }),
    execute: async ({ cents }) => ({ cents }),
    toModelOutput: (output) => ({ type: "text", value: `paid ${(output as { cents: number }).cents}` }),
  });
  const tools = countersigned(desk.support, { refund, short });
  const support = new Agent({ id: "support", name: "support", instructions: "Help.", model: model as never, tools });
  const agent = new Mastra({ agents: { support }, storage, logger: false }).getAgent("support");
  return { agent, refunds, prompts };
}

/** Runs an agent to its gate in a kernel that is then stopped; the storage stands for the app's database. */
async function pause(path: string, call: Answer = refundCall) {
  await using desk = await openDesk({ path });
  const storage = new InMemoryStore();
  const { agent, refunds } = openAgent(desk, [call], storage);
  const paused = await agent.generate("Refund order A7.", inThread);
  expect(paused.finishReason).toBe("suspended");
  expect(paused.suspendPayload).toMatchObject({
    suspendPayload: {
      type: "countersign",
      gates: [{ link: expect.stringContaining("https://desk.example/#/w/wf_") }],
    },
  });
  expect(refunds).toEqual([]);
  return { storage, runId: paused.runId as string };
}

/** Goes on from the storage with new objects on the same file. */
async function goOn(path: string, { storage, runId }: Awaited<ReturnType<typeof pause>>) {
  await using desk = await openDesk({ path, seed: 7 });
  const { agent, refunds, prompts } = openAgent(desk, ["It is done."], storage);
  const { text, finishReason } = await agent.resumeGenerate({ approved: true }, { runId });
  return { refunds, prompt: prompts[0], text, finishReason, verified: (await desk.kernel.verify()).ok };
}

it("suspends at a gate, and after restarts of both sides calls the tool once with the approved payload", async () => {
  const path = ledgerPath();
  const paused = await pause(path);
  const gate = await decideElsewhere(path, "approve");
  const first = await goOn(path, paused);
  expect(first.refunds).toEqual([(gate.payload as { arguments: unknown }).arguments]);
  expect(first.prompt).toContain('"refunded":900,"by":"call-1"');
  expect([first.text, first.verified]).toEqual(["It is done.", true]);
  await expect(goOn(path, paused)).rejects.toThrow("could not find a suspended run");
  await using desk = await openDesk({ path, seed: 9 });
  const again = openAgent(desk, [refundCall, "It was done before."]);
  await again.agent.generate("Refund order A7.", inThread);
  expect(again.refunds).toEqual([]);
  expect(again.prompts[1]).toContain('"refunded":900');
});

it("takes a rejection's words to the model, and calls nothing", async () => {
  const path = ledgerPath();
  const paused = await pause(path);
  await decideElsewhere(path, "reject", { comment: "ask the customer first" });
  const { refunds, prompt } = await goOn(path, paused);
  expect(refunds).toEqual([]);
  expect(prompt).toContain("user ann rejected the call: ask the customer first");
});

it("runs edited arguments and tells the model, also through the tool's own words for models", async () => {
  const path = ledgerPath();
  const paused = await pause(path);
  await decideElsewhere(path, "approve", { edit: { arguments: { order: "A7", cents: 100 } } });
  const { refunds, prompt } = await goOn(path, paused);
  expect(refunds).toEqual([{ order: "A7", cents: 100 }]);
  expect(prompt).toMatch(/user ann changed the arguments.*"refunded":100/);
  const other = ledgerPath();
  const short = await pause(other, [["call-1", "short", { cents: 900 }]]);
  await decideElsewhere(other, "approve", { edit: { arguments: { cents: 100 } } });
  expect((await goOn(other, short)).prompt).toMatch(/user ann changed the arguments.*paid 100/);
});

it("has the tool's schema check edited arguments, and the model reads what does not fit", async () => {
  const path = ledgerPath();
  const paused = await pause(path);
  await decideElsewhere(path, "approve", { edit: { arguments: { order: "A7", cents: "all" } } });
  const { refunds, prompt } = await goOn(path, paused);
  expect(refunds).toEqual([]);
  expect(prompt).toMatch(/user ann changed the arguments.*cents/);
});

it("suspends again while a call waits, whatever the agent is resumed with", async () => {
  const path = ledgerPath();
  const paused = await pause(path);
  const early = await goOn(path, paused);
  expect([early.finishReason, early.refunds]).toEqual(["suspended", []]);
  await decideElsewhere(path, "approve");
  expect((await goOn(path, paused)).refunds).toHaveLength(1);
});

it("never runs what a rule denies, nor what a budget has no room for", async () => {
  await using denied = await openDesk({ policies: [denying("refund")] });
  const one = openAgent(denied, [refundCall, "I cannot."]);
  await one.agent.generate("Refund.", inThread);
  expect([one.refunds, one.prompts[1]]).toEqual([[], expect.stringContaining("refunds are closed in November")]);
  await using spent = await openDesk({
    policies: [allowing("refund")],
    budgets: { limits: [{ scope: "operator", id: "Agent.Write", invocations: 1 }] },
  });
  const two = openAgent(spent, [refundCall, [["call-2", "refund", { order: "B", cents: 1 }]], "One."]);
  await two.agent.generate("Refund.", inThread);
  expect(two.refunds).toHaveLength(1);
  expect(two.prompts[2]).toContain("T5_BUDGET_EXHAUSTED");
});

it("runs nothing where the kernel is stopped, and the model reads the code", async () => {
  const desk = await openDesk({ policies: [allowing("refund")] });
  await desk[Symbol.asyncDispose]();
  const { agent, refunds, prompts } = openAgent(desk, [refundCall, "I cannot."]);
  await agent.generate("Refund.", inThread);
  expect([refunds, prompts[1]]).toEqual([[], expect.stringContaining("T0_KERNEL_STOPPED")]);
});

it("records what a tool throws as its answer, and refuses a tool that suspends by itself", async () => {
  await using desk = await openDesk({ policies: [allowing("*")] });
  const call = (id: string, order: string) => [[id, "refund", { order, cents: 1 }]] as const;
  const { agent, prompts } = openAgent(desk, [call("1", "none"), call("2", "ask"), "Well."]);
  await agent.generate("Refund.", inThread);
  expect(prompts[1]).toContain("no such order");
  expect(prompts[2]).toContain("refund suspends its agent, which it cannot do under a kernel");
});

it("takes the agent's run for the conversation where there is no memory", async () => {
  await using desk = await openDesk({ policies: [allowing("refund")] });
  const { agent, refunds } = openAgent(desk, [refundCall, "One.", refundCall, "Two."]);
  for (const _ of [1, 2]) await agent.generate("Refund.");
  expect(refunds).toHaveLength(2);
});

it("refuses anything but an agent and tools", async () => {
  await using desk = await openDesk();
  expect(() => countersigned({} as never, {})).toThrow("T0_VALIDATION_SCHEMA_MISMATCH");
  expect(() => countersigned(desk.support, { refund: 1 } as never)).toThrow("tools.refund");
});
