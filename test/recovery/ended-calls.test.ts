/** What has ended is in the ledger at once: it does not wait for what runs beside it. */
import { describe, expect, it } from "vitest";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { flow, intent, skill, step } from "../execution/flow.ts";

async function endsOf({ kernel }: TestKernel, id: string): Promise<readonly (readonly [string | null, number])[]> {
  const ends: (readonly [string | null, number])[] = [];
  for await (const { event_type: type, step_id, timestamp } of kernel.events(id, { live: false }))
    if (type === "STEP_SUCCEEDED") ends.push([step_id, Date.parse(timestamp)]);
  return ends;
}

describe("the end of a call", () => {
  it("is committed while another step still runs, under its own instant", async () => {
    const slow = Promise.withResolvers<unknown>();
    const quick = skill("Probe.Quick", () => ({}));
    const capability = flow(
      [quick, skill("Probe.Slow", () => slow.promise)],
      [step("a", "Probe.Slow"), step("b", "Probe.Quick")],
    );
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.kernel.submit({ ...testCaller, intent_hint: { intent_type: intent } });
    await t.clock.settle();
    const then = t.clock.now();
    expect(await endsOf(t, workflow_id)).toEqual([["b", then]]);
    await t.clock.advance(10_000);
    slow.resolve({});
    await t.kernel.settled(workflow_id);
    expect(await endsOf(t, workflow_id)).toEqual([
      ["b", then],
      ["a", then + 10_000],
    ]);
  });
});
