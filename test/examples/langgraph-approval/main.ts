/**
 * An agent of LangChain on LangGraph, under a middleware: small refunds run, a large one interrupts the graph until a
 * person decides, and the graph is resumed from its checkpoint. `npm start`
 */
import { Command, MemorySaver } from "@langchain/langgraph";
import { createKernel, definePolicySet } from "countersign";
import { countersigned, createAgents } from "countersign/langgraph";
import { AIMessage, createAgent, fakeModel, tool } from "langchain";
import { z } from "zod";

const person = (id: string) => ({ tenant_id: 1, principal: { type: "user", id, role: "user" } });
const rules = definePolicySet({
  version: "2026-11",
  rules: [
    {
      name: "refunds.small",
      stages: ["action"],
      lifts: "default.final_write",
      when: {
        operators: ["Agent.Write"],
        values: [{ path: "tool", any: ["refund"] }],
        amounts: [{ path: "arguments.cents", at_most: 2000 }],
      },
      decision: "ALLOW",
      reason: "a small refund",
    },
  ],
});
const agents = createAgents({ consoleUrl: "https://desk.example" });
await using kernel = await createKernel({ capabilities: agents.capabilities, policies: [rules] });
const support = agents.open(kernel, { agent: "support", caller: person("eve") });

const refund = tool(
  async ({ order, cents }) => {
    console.log(`the bank pays ${cents} for ${order}`);
    return `refunded ${cents}`;
  },
  { name: "refund", description: "Refunds.", schema: z.object({ order: z.string(), cents: z.number() }) },
);
const calls = [
  { id: "call-1", name: "refund", args: { order: "A7", cents: 900 } },
  { id: "call-2", name: "refund", args: { order: "B2", cents: 90_000 } },
];
const checkpointer = new MemorySaver();
const model = fakeModel()
  .respondWithTools(calls)
  .respond(
    (read) =>
      new AIMessage(
        read
          .slice(-2)
          .map(({ text }) => text)
          .join("; "),
      ),
  );
const agent = createAgent({ model, tools: [refund], middleware: [countersigned(support)], checkpointer });
const config = { configurable: { thread_id: "chat-1" } };

const paused = await agent.invoke({ messages: "Refund both orders." }, config);
const interrupts = (paused as { __interrupt__?: { value?: { message?: string } }[] }).__interrupt__ ?? [];
for (const { value } of interrupts) console.log("interrupted:", value?.message?.replace(/wf_\w+/, "…"));
console.log("resumed too early:", "__interrupt__" in (await agent.invoke(new Command({ resume: "approved" }), config)));

const [gate] = await kernel.gates();
if (gate === undefined) throw new Error("nothing waits");
const payload = { payload_digest: gate.payload_digest, comment: "ask the customer first" };
await kernel.decideGate(gate.workflow_id, { ...person("ann"), gate_id: gate.gate_id, decision: "reject", payload });
const done = await agent.invoke(new Command({ resume: true }), config);
console.log("the model reads:", done.messages.at(-1)?.text);
