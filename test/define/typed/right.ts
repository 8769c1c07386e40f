/** Programs that must compile: what a package's author and its callers write. */
import { z } from "zod";
import {
  defineCapability,
  defineOperator,
  defineTool,
  type Operator,
  type PlanStep,
  ref,
  text,
} from "../../../src/index.ts";
import { ann, kernel, look, note, Order, parts, pay, refund, tell } from "./shop.ts";

/** What an operator takes and gives is known by its schemas. */
const typed: Operator<{ text: string }, unknown, "Shop.Tell"> = tell;

export const everything = defineCapability({
  ...parts,
  intentType: "Shop.Everything",
  plan: async ({ input, step, situation }) => {
    const found = step({ step_id: "look", name: "Look", operator: "Shop.Look", params: { order: input.order } });
    const { card, cents, lines } = found.output;
    const paid = step({
      step_id: "pay",
      name: "Pay",
      operator: "Shop.Pay",
      params: {
        order: text`${input.order} of ${card.number}`,
        cents: input.express === true ? 0 : cents,
        card: { number: card.number, kind: "credit" },
        tags: ["refund", lines[0]!.sku, text`${cents} cents`],
      },
      outcome: "Receipt",
      gate: { reason: "money", quorum: { approvals: 2 }, approvers: [{ id: "bo" }, { id: "cy" }] },
    });
    const steps = Array.from({ length: 2 }, (_, i) =>
      step({
        step_id: `tell_${i}`,
        name: "Tell",
        operator: "Shop.Tell",
        params: { text: ref(`pay.output.reference`) },
        depends_on: [paid, ...situation.completed],
        applies: paid,
      }),
    );
    return { reasoning: "", steps: [found, paid, ...steps] };
  },
});

/** An output that may not be there is taken by an input that may not be there, and by any with a default. */
export const noted = defineCapability({
  intentType: "Shop.Noted",
  version: "1.0",
  input: Order,
  operators: [look, note],
  plan: ({ input, step }) => {
    const found = step({ step_id: "look", name: "Look", operator: "Shop.Look", params: { order: input.order } });
    const { note: said, cents } = found.output;
    const noted = step({
      step_id: "note",
      name: "Note",
      operator: "Shop.Note",
      params: { about: ref(said, { or: "nothing" }), note: said, tries: ref(cents, { or: undefined }) },
    });
    const plainly = step({
      step_id: "plainly",
      name: "Plainly",
      operator: "Shop.Note",
      params: { about: ref("look.output.note", { or: "nothing" }), note: ref(said, { or: undefined }) },
    });
    return { reasoning: "", steps: [found, noted, plainly] };
  },
});

const post = defineTool({ name: "Post.Send", tool: "send", client: { request: async () => ({}) } as never });

/** Of what is listed by its name alone, and of tools, only the name is known. */
export const named = defineCapability({
  intentType: "Shop.Named",
  version: "1.0",
  input: z.object({}),
  operators: ["Bank.Pay", post, look],
  plan: ({ step }) => {
    const paid = step({ step_id: "a", name: "A", operator: "Bank.Pay", params: { any: 1 }, outcome: "Whatever" });
    const sent = step({ step_id: "b", name: "B", operator: "Post.Send", params: { to: ref("a.output.name") } });
    return { reasoning: "", steps: [paid, sent] };
  },
});

/** Lists of operators that are made at run time, and plain plans, are as they were. */
const made: readonly Operator[] = [look, pay];
const plain = { step_id: "a", name: "A", operator: "Any.Name", params: { any: "{{b.output}}" }, depends_on: ["b"] };
export const untyped = defineCapability({
  intentType: "Shop.Untyped",
  version: "1.0",
  input: z.object({}),
  operators: [...made],
  plan: ({ step }) => ({
    reasoning: "",
    steps: [plain, step({ step_id: "c", name: "C", operator: "Any.Name", params: { any: 1 }, depends_on: [plain] })],
  }),
});
export const template = defineCapability({
  ...parts,
  intentType: "Shop.Plain",
  plan: { reasoning: "", steps: [plain] },
});

/** Of a StepResult later steps find the data. */
const answer = defineOperator({
  name: "Shop.Answer",
  input: z.object({}),
  output: z.object({ data: z.object({ said: z.string() }), output_text: z.string(), status: z.literal("COMPLETED") }),
  run: () => ({ data: { said: "yes" }, output_text: "yes", status: "COMPLETED" as const }),
});
export const asked = defineCapability({
  intentType: "Shop.Ask",
  version: "1.0",
  input: z.object({}),
  operators: [answer, tell],
  plan: ({ step }) => {
    const said = step({ step_id: "a", name: "A", operator: "Shop.Answer", params: {} });
    const told = step({ step_id: "b", name: "B", operator: "Shop.Tell", params: { text: said.output.said } });
    return { reasoning: "", steps: [said, told] };
  },
});

/** What callers ask and are answered. */
export async function run(): Promise<readonly (string | number)[]> {
  const refunds = kernel.of(refund);
  const { workflow_id } = await refunds.submit({ ...ann, inputs: { order: "A-7" } });
  const { intent, plan } = await refunds.execute(workflow_id);
  const steps: readonly PlanStep[] = plan?.steps ?? [];
  for (const gate of await refunds.gates(workflow_id, ann)) {
    if (gate.operator !== "Shop.Pay") continue;
    const payload = { payload_digest: gate.payload_digest, edit: { cents: gate.payload.cents - 1 } };
    await refunds.decideGate(workflow_id, { ...ann, gate_id: gate.gate_id, decision: "approve", payload });
  }
  const told = (await refunds.outcomes(workflow_id)).map((outcome) =>
    outcome.outcome_type === "Receipt" ? outcome.content.reference : outcome.content.kind,
  );
  return [typed.metadata.name, intent.type, intent.inputs.order, intent.inputs.cents, steps.length, ...told];
}
