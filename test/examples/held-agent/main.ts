/**
 * An agent under control: a person refuses a call and says why, and the model goes on with that; a halt stops the agent
 * before its next call, until it is lifted. `npm start`
 */
import { createKernel, defineOperator } from "countersign";
import { defineAgent } from "countersign/llm";
import { z } from "zod";
import { shopModel } from "./model.ts";

const give = defineOperator({
  name: "Voucher.Give",
  description: "Gives a customer a voucher",
  effect: "final_write",
  input: z.object({ customer: z.string(), cents: z.int().positive() }),
  run: ({ input }) => `granted ${input.cents}`,
});
const agent = defineAgent({
  intentType: "Shop.Console",
  version: "1.0",
  system: "You console customers of a shop.",
  model: shopModel(),
  price: { in: 10, out: 30 },
  tools: [give],
  streaming: false,
});

const ann = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } } as const;
const max = { tenant_id: 1, principal: { type: "user", id: "max", role: "admin" } } as const;

await using kernel = await createKernel({ capabilities: [agent] });
const submit = async () =>
  (await kernel.of(agent).submit({ ...ann, inputs: { prompt: "The parcel came late." } })).workflow_id;

const id = await submit();
async function decide(decision: "approve" | "reject", comment?: string): Promise<void> {
  await kernel.settled(id);
  const [gate] = await kernel.gates({ workflow_id: id }, max);
  if (gate === undefined) throw new Error("nothing waits");
  const { gate_id, payload, payload_digest } = gate;
  console.log(decision, JSON.stringify(payload), comment ?? "");
  await kernel.decideGate(id, {
    ...max,
    gate_id,
    decision,
    payload: { payload_digest, ...(comment !== undefined && { comment }) },
  });
}

await decide("reject", "at most ten euros");
await kernel.settled(id);
const { halt_id } = await kernel.halt({ ...max, of: { operator: "Voucher.Give" }, reason: "vouchers are checked" });
await decide("approve");
for await (const { stage } of kernel.progress(id)) if (stage === "waiting") break;
const [halt] = await kernel.halts(1);
console.log("held:", halt?.reason, halt?.held.steps);
await kernel.lift({ ...max, halt_id, reason: "they are fine" });
const done = await kernel.settled(id);
console.log(done.state, done.response.text);
const { why } = await kernel.explain(id);
const told = why.filter((line) => /rejected|held/.test(line));
console.log(told.map((line) => line.replace(/hlt_\w+/, "a halt")).join("\n"));
console.log("the same from its ledger:", (await kernel.replay(id)).identical);
