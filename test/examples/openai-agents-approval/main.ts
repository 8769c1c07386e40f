/**
 * An agent of the OpenAI Agents SDK asks for two refunds and is interrupted. Its process ends with the state of the run
 * kept as a text; people approve one refund and reject the other, and a new process goes on from that text. `npm start`
 */
import { Agent, type Model, Runner, RunState, tool, Usage } from "@openai/agents";
import { createKernel } from "countersign";
import { createAgents, guardTools, resume } from "countersign/openai-agents";
import { sqliteLedger } from "countersign/sqlite";
import { z } from "zod";

const person = (id: string) => ({ tenant_id: 1, principal: { type: "user", id, role: "user" } });

/** A recorded model: two refunds, and then what it reads of the results. */
const calls = [
  ["call-1", { order: "A7", cents: 900 }],
  ["call-2", { order: "B2", cents: 90_000 }],
] as const;
const model: Pick<Model, "getResponse"> = {
  async getResponse({ input }) {
    const results = Array.isArray(input) ? input.filter((item) => item.type === "function_call_result") : [];
    const text = results.map(({ output }) => (typeof output === "object" && "text" in output ? output.text : output));
    const message = { type: "message", role: "assistant", status: "completed" } as const;
    if (results.length > 0)
      return {
        usage: new Usage(),
        output: [{ ...message, content: [{ type: "output_text", text: text.join("; ") }] }],
      };
    const call = { type: "function_call", name: "refund", status: "completed" } as const;
    const output = calls.map(([callId, args]) => ({ ...call, callId, arguments: JSON.stringify(args) }));
    return { usage: new Usage(), output };
  },
};
const refund = tool({
  name: "refund",
  description: "Refunds an order.",
  parameters: z.object({ order: z.string(), cents: z.number().int() }),
  execute: async ({ order, cents }) => {
    console.log(`the bank pays ${cents} for ${order}`);
    return `refunded ${cents}`;
  },
});
const runner = new Runner({ tracingDisabled: true });

/** What each process of the app does: it opens a kernel on the file, and the agent on it. */
async function openApp() {
  const agents = createAgents({ consoleUrl: "https://desk.example" });
  const kernel = await createKernel({ ledger: sqliteLedger({ path: "agents.db" }), capabilities: agents.capabilities });
  const thread = agents.open(kernel, { agent: "support", caller: person("eve") }).thread("chat-1");
  const agent = guardTools(new Agent({ name: "support", model: model as Model, tools: [refund] }), thread);
  return { kernel, thread, agent };
}

let stored: string;
{
  const { kernel, thread, agent } = await openApp();
  const paused = await runner.run(agent, "Refund both orders.");
  stored = paused.state.toString();
  const { waiting } = await resume(paused.state, thread);
  for (const { words } of waiting) console.log("interrupted:", words.replace(/wf_\w+/, "…"));
  await kernel.stop();
}
{
  await using kernel = await createKernel({
    ledger: sqliteLedger({ path: "agents.db" }),
    capabilities: createAgents().capabilities,
  });
  for (const { workflow_id, gate_id, payload_digest, payload } of await kernel.gates()) {
    const isSmall = JSON.stringify(payload).includes('"A7"');
    await kernel.decideGate(workflow_id, {
      ...person("ann"),
      gate_id,
      decision: isSmall ? "approve" : "reject",
      payload: { payload_digest, ...(!isSmall && { comment: "ask the customer first" }) },
    });
  }
}
const { kernel, thread, agent } = await openApp();
for (const time of ["first", "second"]) {
  const state = await RunState.fromString(agent, stored);
  await resume(state, thread);
  const done = await runner.run(agent, state);
  console.log(`the model reads, the ${time} time:`, done.finalOutput);
}
console.log("the ledger holds:", (await kernel.verify()).ok);
await kernel.stop();
