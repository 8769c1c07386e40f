/**
 * A package that asks people for terms, and then uses them. Owns: the calls of its operator. Never: asserts anything.
 */
import { z } from "zod";
import { defineCapability } from "../../src/define/define-capability.ts";
import { counted } from "../fixtures.ts";

export const termsIntent = "Shop.Terms";

export function asking() {
  const buy = counted("Shop.Buy");
  const capability = defineCapability({
    intentType: termsIntent,
    version: "1.0",
    input: z.looseObject({}),
    operators: [buy.operator],
    plan: ({ step, ask }) => {
      const form = z.object({ limit: z.int().min(1).max(1000), currency: z.enum(["EUR", "USD"]) });
      const terms = ask({ step_id: "terms", name: "Terms", question: "On which terms?", show: {}, form });
      const params = { limit: terms.output.limit };
      return {
        reasoning: "people say",
        steps: [terms, step({ step_id: "buy", name: "Buy", operator: "Shop.Buy", params })],
      };
    },
  });
  return { buy, capability };
}
