/** Programs that must not compile, each under what the compiler says of it. */
import { z } from "zod";
import { defineCapability, defineOperator, ref } from "../../../src/index.ts";
import { ann, kernel, look, note, parts, refund } from "./shop.ts";

// says: Type '"no"' is not assignable to type
defineOperator({ name: "A.B", input: z.object({}), effect: "no", run: () => 1 });
// says: Type 'string' is not assignable to type 'number'
defineOperator({ name: "A.B", input: z.object({}), output: z.object({ cents: z.int() }), run: () => ({ cents: "1" }) });
// says: Property 'ordr' does not exist on type '{ order: string; }'. Did you mean 'order'?
defineOperator({ name: "A.B", input: z.object({ order: z.string() }), run: ({ input }) => input.ordr });

const step_id = "s";
const name = "S";
export const wrong = defineCapability({
  ...parts,
  intentType: "Shop.Wrong",
  plan: ({ input, step }) => {
    const found = step({ step_id, name, operator: "Shop.Look", params: { order: input.order } });
    const told = step({ step_id, name, operator: "Shop.Tell", params: { text: "" } });
    // says: Type '"Shop.Lok"' is not assignable to type '"Shop.Look" | "Shop.Pay" | "Shop.Tell"'. Did you mean
    // '"Shop.Look"'?
    step({ step_id, name, operator: "Shop.Lok", params: { order: "" } });
    // says: Property 'params' is missing in type '{ step_id: string; name: string; operator: "Shop.Look"; }'
    step({ step_id, name, operator: "Shop.Look" });
    // says: Property 'order' is missing in type '{}' but required in type '{ readonly order: Param<string>; }'
    step({ step_id, name, operator: "Shop.Look", params: {} });
    // says: Object literal may only specify known properties, but 'ordr' does not exist in type '{ readonly order:
    // Param<string>; }'. Did you mean to write 'order'?
    step({ step_id, name, operator: "Shop.Look", params: { ordr: "" } });
    // says: Type 'number' is not assignable to type 'Param<string>'
    step({ step_id, name, operator: "Shop.Look", params: { order: 7 } });
    // says: Property 'ordr' does not exist on type '{ order: string; cents: number; express?: boolean | undefined; }'.
    // Did you mean 'order'?
    step({ step_id, name, operator: "Shop.Look", params: { order: input.ordr } });
    // says: Type 'Reference<number>' is not assignable to type 'Param<string>'
    step({ step_id, name, operator: "Shop.Look", params: { order: found.output.cents } });
    // says: Property 'crad' does not exist on type 'Ref<
    step({ step_id, name, operator: "Shop.Look", params: { order: found.output.crad.number } });
    // says: Type 'Reference<string | undefined>' is not assignable to type 'Param<string>'
    step({ step_id, name, operator: "Shop.Look", params: { order: found.output.note } });
    // says: Type 'Reference<unknown>' is not assignable to type 'Param<string>'
    step({ step_id, name, operator: "Shop.Look", params: { order: told.output } });
    // says: Property 'reference' does not exist on type 'Reference<unknown>'
    step({ step_id, name, operator: "Shop.Look", params: { order: told.output.reference } });
    const card = found.output.card;
    // says: Type 'string' is not assignable to type 'Param<number>'
    step({ step_id, name, operator: "Shop.Pay", params: { order: "", cents: "{{s.output.cents}}", card } });
    // says: Type '"gold"' is not assignable to type
    step({ step_id, name, operator: "Shop.Pay", params: { order: "", cents: 1, card: { number: "", kind: "gold" } } });
    // says: Type 'Reference<number>' is not assignable to type 'Param<string>'
    step({ step_id, name, operator: "Shop.Pay", params: { order: "", cents: 1, card, tags: [found.output.cents] } });
    // says: Type 'string' is not assignable to type 'AnyStep | SettledStep'
    step({ step_id, name, operator: "Shop.Tell", params: { text: "" }, depends_on: ["look"] });
    // says: Type '"Receit"' is not assignable to type
    step({ step_id, name, operator: "Shop.Tell", params: { text: "" }, outcome: "Receit" });
    // says: is not assignable to type 'NotTheOutputOf<"Shop.Look",
    step({ step_id, name, operator: "Shop.Look", params: { order: "" }, outcome: "Receipt" });
    // says: is not assignable to type 'StepWithOutcome'
    step({ step_id, name, operator: "Shop.Tell", params: { text: "" }, applies: found });
    // says: 'approval' does not exist in type '{ approvals?: number | undefined; of?:
    step({ step_id, name, operator: "Shop.Tell", params: { text: "" }, gate: { quorum: { approval: 2 } } });
    // says: 'gates' does not exist in type 'StepDraft<"Shop.Tell", { readonly text: Param<string>; }, undefined,
    // undefined>'. Did you mean to write 'gate'?
    step({ step_id, name, operator: "Shop.Tell", params: { text: "" }, gates: {} });
    return { reasoning: "", steps: [found, told] };
  },
});

// says: Property 'reasoning' is missing in type
export const silent = defineCapability({ ...parts, intentType: "Shop.Silent", plan: () => ({ steps: [] }) });

export async function ask(id: string): Promise<void> {
  const refunds = kernel.of(refund);
  // says: Property 'order' is missing in type '{ cents: number; }'
  await refunds.submit({ ...ann, inputs: { cents: 1 } });
  // says: 'oder' does not exist in type
  await refunds.submit({ ...ann, inputs: { oder: "A-7" } });
  // says: Property 'principal' is missing in type
  await refunds.submit({ tenant_id: 1, inputs: { order: "A-7" } });
  for (const gate of await refunds.gates(id)) {
    // says: This comparison appears to be unintentional because the types '"Shop.Look" | "Shop.Pay" | "Shop.Tell"' and
    // '"Shop.Play"' have no overlap
    if (gate.operator === "Shop.Play") continue;
    // says: Property 'cents' does not exist on type
    console.log(gate.payload.cents);
    // says: Type 'string' is not assignable to type 'number'
    await refunds.decideGate(id, { ...ann, decision: "approve", payload: { edit: { cents: "1" } } });
  }
  for (const outcome of await refunds.outcomes(id)) {
    // says: have no overlap
    if (outcome.outcome_type === "Recipe") continue;
    // says: Property 'reference' does not exist on type
    console.log(outcome.content.reference);
  }
  // says: Property 'customer' does not exist on type
  console.log((await refunds.execute(id)).intent.inputs.customer);
}

export const unsure = defineCapability({
  intentType: "Shop.Unsure",
  version: "1.0",
  input: z.object({}),
  operators: [look, note],
  plan: ({ step }) => {
    const found = step({ step_id, name, operator: "Shop.Look", params: { order: "" } });
    const about = "";
    // says: Type 'Reference<string | 7>' is not assignable to type 'Param<string>'
    step({ step_id, name, operator: "Shop.Note", params: { about: ref(found.output.note, { or: 7 }) } });
    // says: Type 'Reference<string | undefined>' is not assignable to type 'Param<string>'
    step({ step_id, name, operator: "Shop.Note", params: { about: ref(found.output.note, { or: undefined }) } });
    // says: Type 'Reference<number>' is not assignable to type 'Param<string | undefined>'
    step({ step_id, name, operator: "Shop.Note", params: { about, note: found.output.cents } });
    // says: Type 'Reference<string | undefined>' is not assignable to type 'Param<number | undefined>'
    step({ step_id, name, operator: "Shop.Note", params: { about, tries: found.output.note } });
    // says: is not assignable to type 'ReferenceDefault'
    step({ step_id, name, operator: "Shop.Note", params: { about: ref(found.output.note, { or: {} }) } });
    return { reasoning: "", steps: [found] };
  },
});
