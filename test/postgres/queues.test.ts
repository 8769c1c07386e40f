/** Queues of three kernels on one ledger: together they never run more than a queue allows, and all of it ends. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createKernel, defineCapability, defineOperator } from "../../src/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { freshLedger, freshSchema } from "./server.ts";

const running = new Map<string, Set<string>>();
const most = new Map<string, number>();
const work = defineOperator({
  name: "Shop.Work",
  effect: "write_draft",
  idempotent: true,
  input: z.object({ vendor: z.string() }),
  output: z.unknown(),
  async run({ input: { vendor }, context, signal }) {
    const here = running.get(vendor) ?? new Set();
    running.set(vendor, here.add(context.workflow_id));
    most.set(vendor, Math.max(most.get(vendor) ?? 0, here.size));
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    // A call that its process leaves behind is made again by another, which counts it under the same name.
    if (!signal.aborted) here.delete(context.workflow_id);
    return vendor;
  },
});
const shop = defineCapability({
  intentType: "Shop.Order",
  version: "1.0",
  input: z.object({ vendor: z.string() }),
  operators: [work],
  queue: { key: "{{input.vendor}}", concurrency: 2 },
  plan: ({ input, step }) => ({
    reasoning: "work",
    steps: [step({ step_id: "work", name: "Work", operator: "Shop.Work", params: input })],
  }),
});

describe("three kernels on one ledger", () => {
  it("run no more of a queue than it allows, also while one of them stops, and end all of it", async () => {
    const schema = freshSchema();
    const open = () => createKernel({ ledger: freshLedger(schema), capabilities: [shop], defaultPolicies: false });
    const kernels = await Promise.all([open(), open(), open()]);
    const submits = Array.from({ length: 24 }, (_, i) => {
      const intent_hint = { intent_type: "Shop.Order", inputs: { vendor: i % 3 === 0 ? "x" : "y" } };
      return (kernels[i % 3] as (typeof kernels)[0]).submit({ ...testCaller, intent_hint });
    });
    const ids = (await Promise.all(submits)).map(({ workflow_id }) => workflow_id);
    const [first, second, third] = kernels as unknown as [
      (typeof kernels)[0],
      (typeof kernels)[0],
      (typeof kernels)[0],
    ];
    await first.stop({ drainMs: 0 });
    for (const id of ids) expect((await second.settled(id)).state).toBe("completed");
    expect([...most.values()].toSorted()).toEqual([2, 2]);
    const admitted = await Promise.all(ids.map(async (id) => (await second.workflow(id)).queue?.place));
    expect(admitted.every((place) => place === null)).toBe(true);
    expect((await second.verify()).broken).toEqual([]);
    await Promise.all([second.stop({ drainMs: 0 }), third.stop({ drainMs: 0 })]);
  });
});
