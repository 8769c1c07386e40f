/**
 * An agent of the AI SDK asks for a refund and pauses. Its process ends, a person changes and approves the refund in
 * another one, and a third goes on from the stored messages: the tool runs once, with what was approved. `npm start`
 */
import { generateText, isStepCount, type ModelMessage, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { createKernel } from "countersign";
import { countersigned, createAgents } from "countersign/ai-sdk";
import { sqliteLedger } from "countersign/sqlite";
import { z } from "zod";

const person = (id: string) => ({ tenant_id: 1, principal: { type: "user", id, role: "user" } });
const db = () => sqliteLedger({ path: "agents.db" });

/** A recorded model: it calls `refund`, and then repeats what it reads of the result. */
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
    const input = JSON.stringify({ order: "A7", cents: 9000 });
    const content = [{ type: "tool-call" as const, toolCallId: "call-1", toolName: "refund", input }];
    return { content, finishReason: { unified: "tool-calls", raw: "tool-calls" }, usage, warnings: [] };
  },
});
const refund = tool({
  inputSchema: z.object({ order: z.string(), cents: z.number().int() }),
  execute: async ({ order, cents }) => {
    console.log(`the bank pays ${cents} for ${order}`);
    return `refunded ${cents}`;
  },
});

/** What each process of the app does: it opens a kernel on the file, and the agent on it. */
async function openApp() {
  const agents = createAgents({ consoleUrl: "https://desk.example" });
  const kernel = await createKernel({ ledger: db(), capabilities: agents.capabilities });
  const support = agents.open(kernel, { agent: "support", caller: person("eve") });
  return { kernel, ...countersigned(support.thread("chat-1"), { refund }) };
}

let stored: string;
{
  const { kernel, tools, toolApproval } = await openApp();
  const messages: ModelMessage[] = [{ role: "user", content: "Refund order A7." }];
  const paused = await generateText({ model, tools, toolApproval, stopWhen: isStepCount(5), messages });
  stored = JSON.stringify([...messages, ...paused.responseMessages]);
  const asked = paused.content.find(({ type }) => type === "tool-approval-request");
  console.log("paused:", asked !== undefined && "reason" in asked && asked.reason?.replace(/wf_\w+/, "…"));
  await kernel.stop();
}
{
  await using kernel = await createKernel({ ledger: db(), capabilities: createAgents().capabilities });
  const [gate] = await kernel.gates();
  if (gate === undefined) throw new Error("nothing waits");
  console.log("the person sees:", gate.title, JSON.stringify(gate.payload));
  const edit = { arguments: { order: "A7", cents: 4500 } };
  const payload = { payload_digest: gate.payload_digest, edit };
  await kernel.decideGate(gate.workflow_id, { ...person("ann"), gate_id: gate.gate_id, decision: "approve", payload });
}
const { kernel, tools, toolApproval, resume } = await openApp();
for (const time of ["first", "second"]) {
  const { messages } = await resume(JSON.parse(stored));
  const done = await generateText({ model, tools, toolApproval, stopWhen: isStepCount(5), messages });
  console.log(`the model reads, the ${time} time:`, done.text);
}
console.log("the ledger holds:", (await kernel.verify()).ok);
await kernel.stop();
