/** A package that greets, and a request for it. */
import { z } from "zod";
import { defineCapability, defineOperator } from "../../src/index.ts";
import { testCaller } from "../../src/testing/index.ts";

const greet = defineOperator({
  name: "Shop.Say",
  input: z.object({ name: z.string() }),
  effect: "none",
  run: ({ input }) => ({ said: `Hello, ${input.name}` }),
});

export const greeter = defineCapability({
  intentType: "Shop.Greet",
  version: "1.0",
  input: z.object({ name: z.string() }),
  operators: [greet],
  plan: ({ input }) => ({
    reasoning: "Greet.",
    steps: [{ step_id: "say", name: "Say", operator: "Shop.Say", params: input }],
  }),
});

export const greeting = { ...testCaller, intent_hint: { intent_type: "Shop.Greet", inputs: { name: "Ada" } } };
