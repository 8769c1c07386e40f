/** The kernel whose work `count-work.ts` counts: plans of as many steps as the request says. */
import { z } from "zod";
import { createKernel, defineCapability, defineOperator, type Kernel } from "../../src/index.ts";
import type { Shape } from "./count-work.ts";

const step = defineOperator({
  name: "Count.Step",
  input: z.object({ n: z.number(), before: z.unknown() }),
  output: z.object({ n: z.number() }),
  run: ({ input: { n } }) => ({ n }),
});

const stepsOf = (count: number, shape: Shape) =>
  Array.from({ length: count }, (_, i) => {
    const follows = shape === "chain" && i > 0;
    return {
      step_id: `s${i + 1}`,
      name: `step ${i + 1}`,
      operator: "Count.Step",
      params: { n: i, before: follows ? `{{s${i}.output.n}}` : null },
      depends_on: follows ? [`s${i}`] : [],
    };
  });

const capability = defineCapability({
  intentType: "Count.Run",
  version: "1.0",
  input: z.object({ count: z.number(), shape: z.enum(["chain", "parallel"]) }),
  operators: [step],
  plan: ({ input: { count, shape } }) => ({ reasoning: "count", steps: stepsOf(count, shape) }),
});

const pay = defineOperator({
  name: "Count.Pay",
  effect: "final_write",
  input: z.object({ n: z.number() }),
  run: ({ input: { n } }) => ({ n }),
});

/** One step that waits for a person. */
const gated = defineCapability({
  intentType: "Count.Pay",
  version: "1.0",
  input: z.object({}),
  operators: [pay],
  plan: () => ({
    reasoning: "count",
    steps: [{ step_id: "pay", name: "pay", operator: "Count.Pay", params: { n: 1 }, depends_on: [] }],
  }),
});

export const openCounted = (): Promise<Kernel> =>
  createKernel({ capabilities: [capability, gated], limits: { maxSteps: 1_000, maxConcurrentSteps: 200 } });
