/**
 * An agent of Mastra whose tool waits for a person: the agent is suspended, and resumed from its storage once somebody
 * has decided; the second refund is more than the day's budget, so it is not made. `npm start`
 */
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { MockLanguageModelV4 } from "ai/test";
import { createKernel } from "countersign";
import { countersigned, createAgents } from "countersign/mastra";
import { z } from "zod";

const person = (id: string) => ({ tenant_id: 1, principal: { type: "user", id, role: "user" } });
const agents = createAgents({
  consoleUrl: "https://desk.example",
  estimate: ({ arguments: { cents } }) => ({ money: Number(cents) / 100 }),
});
await using kernel = await createKernel({
  capabilities: agents.capabilities,
  budgets: { limits: [{ scope: "operator", id: "Agent.Write", window: "day", money: 100 }] },
});
const caller = person("eve");
const refund = createTool({
  id: "refund",
  description: "Refunds an order.",
  inputSchema: z.object({ order: z.string(), cents: z.number() }),
  execute: async ({ order, cents }) => {
    console.log(`the bank pays ${cents} for ${order}`);
    return { refunded: cents };
  },
});

/** A recorded model: a refund for each order that the user names, and then what it reads of the result. */
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never;
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const last = prompt.at(-1);
    const part = last?.role === "tool" ? last.content.at(-1) : undefined;
    if (part?.type === "tool-result") {
      const text = JSON.stringify("value" in part.output ? part.output.value : part.output);
      const finishReason = { unified: "stop", raw: "stop" } as const;
      return { content: [{ type: "text", text }], finishReason, usage, warnings: [] };
    }
    const [order = ""] = /[A-Z]\d/.exec(JSON.stringify(last)) ?? [];
    const call = { toolCallId: `call-${order}`, toolName: "refund", input: JSON.stringify({ order, cents: 9000 }) };
    const finishReason = { unified: "tool-calls", raw: "tool-calls" } as const;
    return { content: [{ type: "tool-call", ...call }], finishReason, usage, warnings: [] };
  },
});
const support = new Agent({
  id: "support",
  name: "support",
  instructions: "You refund orders.",
  model: model as never,
  tools: countersigned(agents.open(kernel, { agent: "support", caller }), { refund }),
});
const mastra = new Mastra({ agents: { support }, storage: new InMemoryStore(), logger: false });
const agent = mastra.getAgent("support");

for (const order of ["A7", "B2"]) {
  const paused = await agent.generate(`Refund order ${order}.`, { memory: { thread: "chat-1", resource: "eve" } });
  const { message } = paused.suspendPayload.suspendPayload as { message: string };
  console.log(`${paused.finishReason}:`, message.replace(/wf_\w+/, "…"));
  const [gate] = await kernel.gates();
  if (gate === undefined) throw new Error("nothing waits");
  const { workflow_id, gate_id, payload_digest } = gate;
  await kernel.decideGate(workflow_id, { ...person("ann"), gate_id, decision: "approve", payload: { payload_digest } });
  const done = await agent.resumeGenerate({}, { runId: paused.runId ?? "" });
  console.log("the model reads:", done.text);
}
