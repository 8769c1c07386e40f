/** Queues of three kernels on one ledger: together they never run more than a queue allows, and all of it ends. */
import { describe, expect, it } from "vitest";
import { z } from "zod";

import {
  type CapabilityOptions,
  createKernel,
  defineCapability,
  defineOperator,
  type Kernel,
} from "../../src/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { testCaller } from "../../src/testing/index.ts";
import { rowOpener } from "../ledgers/reseal.ts";
import { judgeQueues } from "../sim/judge-queues.ts";
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

/** The calls of the ranked queue: the first has begun; they end once the gate is open. */
const opening = { begun: Promise.withResolvers<void>(), gate: Promise.withResolvers<void>() };
const wait = defineOperator({
  name: "Shop.Wait",
  effect: "write_draft",
  idempotent: true,
  input: z.object({ vendor: z.string() }),
  output: z.unknown(),
  async run() {
    opening.begun.resolve();
    await opening.gate.promise;
    return "done";
  },
});
const queued = (intentType: string, operator: typeof wait, queue: NonNullable<CapabilityOptions<z.ZodType>["queue"]>) =>
  defineCapability({
    ...{ intentType, version: "1.0", input: z.object({ vendor: z.string() }), operators: [operator], queue },
    plan: ({ input, step }) => ({
      reasoning: "work",
      steps: [step({ step_id: "work", name: "Work", operator: "Shop.Wait", params: input })],
    }),
  });
const ranked = queued("Shop.Ranked", wait, { concurrency: 1 });
const paced = queued("Shop.Paced", wait, { concurrency: 9, rate: { limit: 2, perMs: 200 } });

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
    for (const count of most.values()) expect(count).toBeLessThanOrEqual(2);
    const admitted = await Promise.all(ids.map(async (id) => (await second.workflow(id)).queue?.place));
    expect(admitted.every((place) => place === null)).toBe(true);
    expect((await second.verify()).broken).toEqual([]);
    await Promise.all([second.stop({ drainMs: 0 }), third.stop({ drainMs: 0 })]);
  });

  it("let none overtake another, keep to a rate and to limits that are set, also when one of them stops", async () => {
    const schema = freshSchema();
    const ledgers = [1, 2, 3].map(() => freshLedger(schema));
    const capabilities = [ranked, paced];
    const open = (ledger: LedgerStore) => createKernel({ ledger, capabilities, defaultPolicies: false });
    const kernels = (await Promise.all(ledgers.map(open))) as [Kernel, Kernel, Kernel];
    const submit = async (i: number, intent_type: string, priority: number) =>
      (kernels[i % 3] as Kernel).submit({
        ...{ ...testCaller, intent_hint: { intent_type, inputs: { vendor: intent_type } } },
        ...(priority > 0 && { queue: { priority } }),
      });
    const first = await submit(0, "Shop.Ranked", 0);
    await opening.begun.promise;
    const others = await Promise.all(Array.from({ length: 9 }, (_, i) => submit(i, "Shop.Ranked", 1 + (i % 4))));
    const fast = await Promise.all(Array.from({ length: 6 }, (_, i) => submit(i, "Shop.Paced", 0)));
    const isQueued = async ({ workflow_id }: { workflow_id: string }) =>
      (await kernels[1].workflow(workflow_id)).queue?.place === "waiting";
    for (let all = false; !all; ) all = (await Promise.all(others.map(isQueued))).every(Boolean);
    const admin = { ...testCaller, principal: { ...testCaller.principal, role: "admin" } };
    await kernels[2].limitQueue({ ...admin, name: "Shop.Ranked", limits: { concurrency: 2 }, reason: "faster" });
    opening.gate.resolve();
    await kernels[0].stop({ drainMs: 0 });
    for (const { workflow_id } of [first, ...others, ...fast])
      expect((await kernels[1].settled(workflow_id)).state).toBe("completed");
    const rows = await (ledgers[1] as LedgerStore).tail(0, 1000);
    const openRow = rowOpener();
    const durable = rows.flatMap(({ row }) => openRow(row).map((event) => ({ at: 0, event })));
    expect(judgeQueues({ durable })).toEqual([]);
    expect((await kernels[1].verify()).broken).toEqual([]);
    await Promise.all([kernels[1].stop({ drainMs: 0 }), kernels[2].stop({ drainMs: 0 })]);
  });
});
