/** When T4 goes down, the calls that it had under way are told to stop: their workflows are folded anew. */
import { describe, expect, it } from "vitest";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { errand, intentType, operator, patchDoor, step } from "./fixture.ts";
import { toWorkflow } from "./tier-signals.ts";

describe("a crash of T4", () => {
  it("[CARD-23] fires the signal of each call under way, and the workflow ends by another call", async () => {
    const signals: AbortSignal[] = [];
    const slow = operator(
      "Test.Slow",
      ({ signal }) => {
        signals.push(signal);
        return signals.length === 1 ? new Promise(() => undefined) : "done";
      },
      { idempotent: true },
    );
    const patchTier = patchDoor(4, "command:sleep", () => ({
      handle: () => {
        throw new Error("T4 stumbles");
      },
    }));
    await using t = await createTestKernel({ capabilities: [errand([step("s1", "Test.Slow")], [slow])], patchTier });
    const id = await t.submit(intentType);
    await t.clock.settle();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await t.kernel.ask(4, toWorkflow("sleep", id));
    expect(signals[0]?.aborted).toBe(true);
    expect((await t.rest(id)).state).toBe("completed");
    expect(signals).toHaveLength(2);
  });
});
