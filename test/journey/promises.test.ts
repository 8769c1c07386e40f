import { createHook } from "node:async_hooks";
import { expect, it } from "vitest";
import { z } from "zod";
import { createKernel, defineCapability, defineOperator } from "../../src/index.ts";
import { createVirtualClock } from "../../src/testing/virtual-clock.ts";

const add = defineOperator({
  name: "Sum.Add",
  input: z.object({ value: z.number(), sum: z.number() }),
  output: z.object({ sum: z.number() }),
  run: ({ input: { value, sum } }) => ({ sum: sum + value }),
});

const steps = Array.from({ length: 5 }, (_, i) => ({
  step_id: `s${i}`,
  name: `Add ${i}`,
  operator: "Sum.Add",
  params: { value: i, sum: i === 0 ? 0 : `{{s${i - 1}.output.sum}}` },
  depends_on: i === 0 ? [] : [`s${i - 1}`],
}));

const sums = defineCapability({
  intentType: "Sum.Up.Run",
  version: "1.0",
  input: z.object({}),
  operators: [add],
  plan: () => ({ reasoning: "one after another", steps }),
});

/** Promises made until the work has ended, by whatever is done in this thread. */
async function countPromises(work: () => Promise<unknown>): Promise<number> {
  let made = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === "PROMISE") made += 1;
    },
  });
  hook.enable();
  await work();
  hook.disable();
  return made;
}

/**
 * The most promises per workflow. In Postgres some are the driver's, whose number depends on how commits meet, and of
 * other tests in the same process.
 */
const limit = process.execArgv.some((argument) => argument.includes("replace-sqlite")) ? 48 : 38;

it("a workflow of five steps makes few promises: what can be answered at once is", async () => {
  // On a clock that stands still nobody looks again after a while: what is counted is the work alone.
  await using kernel = await createKernel({ capabilities: [sums], clock: createVirtualClock(0) });
  const request = {
    tenant_id: 1,
    principal: { type: "human", id: 1, role: "user" },
    input: { mode: "data" },
    intent_hint: { intent_type: "Sum.Up.Run", inputs: {} },
  } as const;
  const run = async (): Promise<void> => {
    const { workflow_id } = await kernel.submit(request);
    expect((await kernel.settled(workflow_id)).state).toBe("completed");
  };
  const together = (): Promise<unknown> => Promise.all(Array.from({ length: 64 }, run));
  await together();
  // Commits that a busy machine keeps apart only add promises of the driver, so the least of three rounds is judged.
  const rounds: number[] = [];
  for (let round = 0; round < 3; round += 1) rounds.push(await countPromises(together));
  expect(Math.min(...rounds) / 64).toBeLessThan(limit);
});
