/** Mastra's own agent over tools that a kernel judges and runs, resumed from the snapshots of its storage. */
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { expect, it } from "vitest";
import { z } from "zod";
import { countersigned } from "../../src/faces/agents/mastra/index.ts";
import { keepsLaws } from "./adapter-laws.ts";
import { allowing, openDesk } from "./agents-fixture.ts";
import { mastra } from "./drivers/mastra.ts";
import { type Answer, scriptedModel } from "./mock-model.ts";

keepsLaws(mastra);

const inThread = { memory: { thread: "chat-1", resource: "eve" } };
type Desk = Awaited<ReturnType<typeof openDesk>>;

/** An agent whose tool suspends it or answers in words of its own, and what the tool was called with. */
function openAgent({ support }: Pick<Desk, "support">, answers: readonly Answer[]) {
  const calls: unknown[] = [];
  const { model, prompts } = scriptedModel(answers);
  const pay = createTool({
    id: "pay",
    description: "Pays, told in a few words.",
    inputSchema: z.object({ cents: z.number() }),
    outputSchema: z.object({ cents: z.number() }),
    execute: async ({ cents }, { agent }) => {
      calls.push(cents);
      if (cents === 0) await agent?.suspend({ question: "how much?" });
      return { cents };
    },
    toModelOutput: (output) => ({ type: "text", value: `paid ${(output as { cents: number }).cents}` }),
  });
  const agent = new Agent({
    id: "support",
    name: "support",
    instructions: "Help.",
    model: model as never,
    tools: countersigned(support, { pay }),
  });
  const app = new Mastra({ agents: { agent }, storage: new InMemoryStore(), logger: false });
  return { agent: app.getAgent("agent"), calls, prompts };
}

it("tells the model of an edit before the tool's own words for models", async () => {
  await using desk = await openDesk();
  const { agent, prompts } = openAgent(desk, [[["call-1", "pay", { cents: 900 }]], "It is done."]);
  const paused = await agent.generate("Pay.", inThread);
  await desk.decide("approve", { edit: { arguments: { cents: 100 } } });
  await agent.resumeGenerate({}, { runId: paused.runId ?? "" });
  expect(prompts[1]).toMatch(/user ann changed the arguments.*paid 100/);
});

it("refuses a tool that suspends by itself", async () => {
  await using desk = await openDesk({ policies: [allowing("*")] });
  const { agent, prompts } = openAgent(desk, [[["1", "pay", { cents: 0 }]], "Well."]);
  await agent.generate("Pay.", inThread);
  expect(prompts[1]).toContain("pay suspends its agent, which it cannot do under a kernel");
});

it("takes the agent's run for the conversation where there is no memory", async () => {
  await using desk = await openDesk({ policies: [allowing("pay")] });
  const call: Answer = [["call-1", "pay", { cents: 1 }]];
  const { agent, calls } = openAgent(desk, [call, "One.", call, "Two."]);
  for (const _ of [1, 2]) await agent.generate("Pay.");
  expect(calls).toEqual([1, 1]);
});

it("gives a call of an earlier run in the thread its recorded answer", async () => {
  await using desk = await openDesk({ policies: [allowing("pay")] });
  const call: Answer = [["call-1", "pay", { cents: 1 }]];
  const { agent, calls, prompts } = openAgent(desk, [call, "One.", call, "It was done before."]);
  for (const _ of [1, 2]) await agent.generate("Pay.", inThread);
  expect(calls).toEqual([1]);
  expect(prompts[3]).toContain("paid 1");
});

it("refuses anything but an agent and tools", async () => {
  await using desk = await openDesk();
  expect(() => countersigned({} as never, {})).toThrow("T0_VALIDATION_SCHEMA_MISMATCH");
  expect(() => countersigned(desk.support, { refund: 1 } as never)).toThrow("tools.refund");
});
