/** What an operator says on its way reaches the artifact bus as STREAM Signals, in order, the last of them marked. */
import { describe, expect, it } from "vitest";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { errand, intentType, isDelivery, operator, step } from "./fixture.ts";

const soon = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
const words = ["one ", "two ", "three"];
const talking = (name: string) =>
  operator(name, async ({ stream }) => {
    for (const word of words) {
      stream(word);
      if (word !== words.at(-1)) await soon();
    }
    return "done";
  });

describe("STREAM Signals", () => {
  it("[STR-07] carry chunks numbered over the workflow; only the last of a step is final", async () => {
    const steps = [step("s1", "Test.Say"), step("s2", "Test.Tell", { depends_on: ["s1"] })];
    await using t = await createTestKernel({
      capabilities: [errand(steps, [talking("Test.Say"), talking("Test.Tell")])],
    });
    expect((await t.run(intentType)).state).toBe("completed");
    const streamed = t.items.filter(isDelivery).filter(({ to, signal }) => to === 6 && signal.kind === "stream");
    const bodies = streamed.map(({ signal }) => signal.body);
    expect(bodies.map(({ chunk }) => chunk)).toEqual([...words, ...words]);
    expect(bodies.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(bodies.map(({ final }) => final)).toEqual([false, false, true, false, false, true]);
  });
});
