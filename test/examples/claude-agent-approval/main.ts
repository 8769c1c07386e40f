/**
 * Claude Code, under the Claude Agent SDK, asks for a refund: the use of the tool is denied with the address at which a
 * person decides. Once somebody has changed and approved it, Claude makes the same call again, and the tool receives
 * what was approved. The ledger has what the tool returned. `npm start`
 */
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { createKernel } from "countersign";
import { countersigned, createAgents } from "countersign/claude-agent";
import { z } from "zod";
import { serveModel } from "./model.ts";

const person = (id: string) => ({ tenant_id: 1, principal: { type: "user", id, role: "user" } });
const { server, url } = await serveModel();
const agents = createAgents({ consoleUrl: "https://desk.example" });
await using kernel = await createKernel({ capabilities: agents.capabilities });
const support = agents.open(kernel, { agent: "support", caller: person("eve") });

const refund = tool("refund", "Refunds an order.", { order: z.string(), cents: z.number() }, async (args) => {
  console.log(`the bank pays ${args.cents} for ${args.order}`);
  return { content: [{ type: "text", text: `refunded ${args.cents}` }] };
});

/** Asks Claude once, and returns what it says. */
async function ask(): Promise<string> {
  const options = {
    ...countersigned(support.thread("chat-1")),
    mcpServers: { shop: createSdkMcpServer({ name: "shop", tools: [refund] }) },
    settingSources: [],
    maxTurns: 4,
    // In place of the address and the key of the real API.
    env: {
      HOME: process.cwd(),
      CLAUDE_CONFIG_DIR: process.cwd(),
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "none",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
  };
  let text = "";
  for await (const message of query({ prompt: "Refund order A7.", options }))
    if (message.type === "result" && message.subtype === "success") text = message.result;
  return text;
}

// Claude names the hook before the words.
console.log("Claude reads:", (await ask()).replace(/.*(?=T0_)/, "").replace(/wf_\w+/, "…"));
const [gate] = await kernel.gates();
if (gate === undefined) throw new Error("nothing waits");
const edit = { arguments: { order: "A7", cents: 4500 } };
const payload = { payload_digest: gate.payload_digest, edit };
await kernel.decideGate(gate.workflow_id, { ...person("ann"), gate_id: gate.gate_id, decision: "approve", payload });
console.log("Claude reads:", await ask());

const [run] = await kernel.workflows({ intent_type: "Agent.Run" });
const workflowId = run?.workflow_id ?? "";
await kernel.settled(workflowId);
const { state, outcomes } = await kernel.workflow(workflowId, person("eve"));
console.log("the ledger has:", state, JSON.stringify(outcomes[0]?.content));
server.closeAllConnections();
server.close();
