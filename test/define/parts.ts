/** A small operator, plan and package to get wrong, and the refusal that comes of it. */
import { z } from "zod";
import { defineCapability, defineOperator, KernelErrorException } from "../../src/index.ts";

export const operator = (more: object = {}) =>
  defineOperator({ name: "Probe.Act", input: z.object({}), run: () => ({}), ...more });
const step = (more: object = {}) => ({ step_id: "s1", name: "Act", operator: "Probe.Act", ...more });
export const plan = (more: object = {}, ofPlan: object = {}) => ({
  reasoning: "as told",
  steps: [step(more)],
  ...ofPlan,
});
export const capability = (more: object = {}) =>
  defineCapability({
    intentType: "Probe.Run",
    version: "1.0",
    input: z.object({}),
    operators: [operator()],
    plan: plan(),
    ...more,
  } as never);

/** The refusal's code and what it says, of a throw or of a promise. */
export async function refusalOf(work: () => unknown): Promise<{ readonly code: string; readonly message: string }> {
  try {
    await work();
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) return thrown.error;
    throw thrown;
  }
  throw new Error("it was taken");
}
