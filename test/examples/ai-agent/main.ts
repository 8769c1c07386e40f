/**
 * An agent of the AI SDK whose tool is a workflow: the model asks, policy and a person decide, the model hears how it ended.
 * `npm start` uses a model that says what was recorded; with AI_MODEL (and AI_GATEWAY_API_KEY) a real one is asked.
 */

import { generateText, stepCountIs, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { createKernel } from "countersign";
import { person, Refund, refund } from "../shop/refund.ts";

await using kernel = await createKernel({ capabilities: [refund] });
const agent = { tenant_id: 1, principal: { type: "agent", id: "support-bot", role: "user" } } as const;

/** Whoever is on duty; here Bo agrees to all that he sees. */
async function askPeople(workflow_id: string): Promise<void> {
  for (const gate of await kernel.gates({ workflow_id }, person("bo"))) {
    console.log("Bo is shown", JSON.stringify(gate.payload), "by", gate.requesters?.map(({ id }) => id).join());
    const payload = { payload_digest: gate.payload_digest };
    await kernel.decideGate(workflow_id, { ...person("bo"), gate_id: gate.gate_id, decision: "approve", payload });
  }
}

const payBack = tool({
  description: "Pays an order back. A person has to agree.",
  inputSchema: Refund,
  async execute(inputs, { toolCallId }) {
    const hint = { intent_type: "Shop.Refund", inputs };
    const { workflow_id } = await kernel.submit({ ...agent, intent_hint: hint, idempotency_key: toolCallId });
    const waits = await kernel.settled(workflow_id);
    if (waits.state === "waiting_for_user") await askPeople(workflow_id);
    const { state, steps } = await kernel.settled(workflow_id);
    return { state, result: steps.at(-1)?.output_text };
  },
});

const usage = { inputTokens: { total: 20 }, outputTokens: { total: 10 } } as never;
const recorded = [
  {
    content: [{ type: "tool-call", toolCallId: "call-1", toolName: "payBack", input: '{"order":"A-7","cents":1999}' }],
    finishReason: { unified: "tool-calls", raw: "tool_calls" },
  },
  {
    content: [{ type: "text", text: "Your refund of 19.99 is on its way." }],
    finishReason: { unified: "stop", raw: "stop" },
  },
];
const mock = new MockLanguageModelV4({
  doGenerate: recorded.map((said) => ({ ...said, usage, warnings: [] })) as never,
});
const { text } = await generateText({
  model: process.env["AI_MODEL"] ?? mock,
  prompt: "Order A-7 over 1999 cents arrived broken. Please pay it back.",
  tools: { payBack },
  stopWhen: stepCountIs(5),
});
console.log(text);
