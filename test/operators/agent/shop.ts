/** A shop whose agent looks orders up and pays them back, and what its tools were called with. */
import { z } from "zod";
import { defineOperator, type Operator, operatorError } from "../../../src/index.ts";
import type { TestKernel } from "../../../src/testing/index.ts";

export const ann = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } };

export function shop() {
  const calls: string[] = [];
  const look = defineOperator({
    name: "Shop.Look",
    description: "Looks an order up.",
    input: z.object({ order: z.string().max(20) }),
    effect: "read",
    run: ({ input: { order } }) => {
      calls.push(`look ${order}`);
      if (order === "lost")
        throw operatorError({ code: "NOT_FOUND", category: "validation", message: "no such order" });
      return { cents: 1999, note: "{{think_1.output.text}}" };
    },
  });
  const pay = defineOperator({
    name: "Shop.Pay",
    input: z.object({ order: z.string(), cents: z.int() }),
    effect: "final_write",
    run: ({ input: { order, cents } }) => void calls.push(`pay ${order} ${cents}`),
  });
  return { calls, tools: [look, pay] as readonly Operator[] };
}

/** Asks the agent, and gives where its work rests. */
export const begin = async (t: TestKernel, prompt = "refund A-7") => {
  const intent_hint = { intent_type: "Shop.Help", inputs: { prompt } };
  const { workflow_id } = await t.kernel.submit({ ...ann, intent_hint });
  return { workflow_id, state: await t.rest(workflow_id) };
};
