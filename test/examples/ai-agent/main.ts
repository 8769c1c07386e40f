/**
 * An agent whose tools are operators: each turn of the model and each call that it wants is a step, and what pays waits
 * for a person. `npm start` holds a recorded conversation again; with AI_MODEL (and AI_GATEWAY_API_KEY) a real model is
 * asked.
 */
import { join } from "node:path";
import { gateway } from "ai";
import { createKernel } from "countersign";
import { defineAgent, recordModel, replayModel } from "countersign/llm";
import { look, pay, person } from "../shop/refund.ts";

const { AI_MODEL } = process.env; // such as "openai/gpt-5"; any model of the AI SDK will do
const recorded = join(import.meta.dirname, "conversation.json");
const helper = defineAgent({
  intentType: "Shop.Help",
  version: "1.0",
  system: "You help customers of a shop. Look an order up before you pay it back.",
  model: AI_MODEL === undefined ? replayModel(recorded) : recordModel(gateway(AI_MODEL), "conversation.json"),
  tools: [look, pay],
});
await using kernel = await createKernel({ capabilities: [helper] });

const prompt = "Order A-7 arrived broken. Please pay it back.";
const { workflow_id } = await kernel.of(helper).submit({ ...person("ann"), inputs: { prompt } });
let work = await kernel.settled(workflow_id);
while (work.state === "waiting_for_user") {
  for (const { gate_id, operator, payload, payload_digest } of await kernel.gates({ workflow_id }, person("bo"))) {
    console.log("Bo agrees to", operator, JSON.stringify(payload));
    const seen = { payload_digest }; // what was seen is what is approved
    await kernel.decideGate(workflow_id, { ...person("bo"), gate_id, decision: "approve", payload: seen });
  }
  work = await kernel.settled(workflow_id);
}
console.log(work.state, work.steps.map(({ step_id }) => step_id).join(" "));
console.log(work.response.text);
console.log("the same from its ledger, with no model asked:", (await kernel.replay(workflow_id)).identical);
