/** Large results: their rows are bounded, and whoever reads a large log lets others run meanwhile. */
import { describe, expect, it } from "vitest";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted } from "../fixtures.ts";
import { intentType, packageOf, planStep } from "./parts.ts";

const chars = 200_000;
const count = 8;

async function runLarge(limits: object) {
  const work = counted("Large.Work", {}, () => ({ text: "x".repeat(chars) }));
  const steps = Array.from({ length: count }, (_, i) => planStep(`s${i}`, work));
  const t = await createTestKernel({ capabilities: [packageOf([work], steps)], limits });
  const { workflow_id, state } = await t.run(intentType);
  expect(state).toBe("completed");
  return { t, workflow_id };
}

const lengthsOf = async (t: Awaited<ReturnType<typeof createTestKernel>>, id: string): Promise<number[]> =>
  (await Array.fromAsync(t.kernel.export(id))).map(({ body }) => body?.length ?? 0);

describe("a workflow whose steps give large results", () => {
  it("writes a row once it is full, before it decides on what came meanwhile, and replays", async () => {
    const { t, workflow_id } = await runLarge({ maxRowChars: 50_000, maxConcurrentSteps: count });
    await using _t = t;
    // The end of one call is one input: its result stands in the call's end and in the step's. The last row has the
    // final text.
    const ends = (await lengthsOf(t, workflow_id)).slice(0, -1).filter((length) => length > chars);
    expect([ends.length, Math.max(...ends) < 4 * chars]).toEqual([count - 1, true]);
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it("is read with turns of the event loop between its rows", async () => {
    const { t, workflow_id } = await runLarge({ maxRowChars: 50_000 });
    await using _t = t;
    let turns = 0;
    let isOver = false;
    const tick = (): void => {
      turns += 1;
      if (!isOver) setImmediate(tick);
    };
    setImmediate(tick);
    await t.kernel.workflow(workflow_id);
    isOver = true;
    expect(turns).toBeGreaterThanOrEqual(4);
  });
});
