/** Packages whose plan is plain data, step by step, as a test writes it. */
import { z } from "zod";
import { defineCapability, type Operator } from "../../src/index.ts";

export type Step = Record<string, unknown>;

/** Returns a step that calls an operator, named like its id. */
export const calling = (step_id: string, operator: string, more: Step = {}): Step => ({
  step_id,
  name: step_id,
  operator,
  ...more,
});

/** Defines version 1.0 of a package with these operators, whose plan is these steps. */
export const planned = (intentType: string, operators: readonly Operator[], steps: readonly Step[]) =>
  defineCapability({
    intentType,
    version: "1.0",
    input: z.looseObject({}),
    operators: [...operators],
    plan: { reasoning: "as the test says", steps: steps as never },
  });
