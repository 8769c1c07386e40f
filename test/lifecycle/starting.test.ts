/** Work that begins later: `start_at` and `delay_ms` of a request. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, defineOperator } from "../../src/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger } from "../../src/testing/index.ts";
import { refusalOf } from "../fixtures.ts";

const day = 86_400_000;
const who = { tenant_id: 1, principal: { type: "user" as const, id: 1, role: "admin" } };
const intent_hint = { intent_type: "Shop.Order" };
const began: number[] = [];
const take = defineOperator({
  name: "Shop.Take",
  input: z.looseObject({}),
  output: z.unknown(),
  run: () => began.push(1),
});
const shop = defineCapability({
  intentType: "Shop.Order",
  version: "1.0",
  input: z.looseObject({}),
  operators: [take],
  plan: { reasoning: "take", steps: [{ step_id: "take", name: "Take", operator: "Shop.Take" }] },
});

describe("a request that is to begin later", () => {
  it.each(["delay_ms", "start_at"] as const)(
    "%s: is accepted at once, plans nothing before, and begins once",
    async (key) => {
      began.length = 0;
      await using t = await createTestKernel({ capabilities: [shop] });
      const at = t.clock.now() + 30 * day;
      const when = key === "delay_ms" ? { delay_ms: 30 * day } : { start_at: new Date(at).toISOString() };
      const { workflow_id: id } = await t.kernel.submit({ ...who, intent_hint, ...when });
      await t.clock.advance(30 * day - 1);
      const waiting = await t.kernel.workflow(id);
      expect(waiting).toMatchObject({ state: "accepted", plan: null, start_at: new Date(at).toISOString() });
      expect(await t.types(id)).toEqual(["INTENT_RECEIVED"]);
      await t.clock.advance(1);
      expect((await t.rest(id)).state).toBe("completed");
      expect(began).toHaveLength(1);
      expect((await t.kernel.replay(id)).identical).toBe(true);
    },
  );

  it("begins in another process after its own has died, and is nobody's before", async () => {
    began.length = 0;
    const ledger = memoryLedger();
    const first = await createTestKernel({ capabilities: [shop], ledger, seed: 1 });
    const { workflow_id: id } = await first.kernel.submit({ ...who, intent_hint, delay_ms: 2 * day });
    await first.clock.settle();
    const clock = createVirtualClock(first.clock.now() + day);
    await using t = await createTestKernel({ capabilities: [shop], ledger, clock, seed: 2 });
    await t.clock.advance(day - 1);
    expect((await t.kernel.workflow(id)).state).toBe("accepted");
    await t.clock.advance(1);
    expect((await t.rest(id)).state).toBe("completed");
    expect(began).toHaveLength(1);
    await first[Symbol.asyncDispose]();
  });

  it("begins at once where its time is over", async () => {
    await using t = await createTestKernel({ capabilities: [shop] });
    const start_at = new Date(t.clock.now() - day).toISOString();
    const { workflow_id: id } = await t.kernel.submit({ ...who, intent_hint, start_at });
    expect(await t.rest(id)).toMatchObject({ state: "completed", start_at: null });
  });

  it("can be cancelled before, and never begins then", async () => {
    began.length = 0;
    await using t = await createTestKernel({ capabilities: [shop] });
    const { workflow_id: id } = await t.kernel.submit({ ...who, intent_hint, delay_ms: day });
    await t.clock.settle();
    await t.kernel.cancel(id, { ...who, reason: "no more" });
    await t.clock.advance(2 * day);
    expect((await t.kernel.workflow(id)).state).toBe("cancelled");
    expect(began).toEqual([]);
  });

  it("is one workflow under one key, however often it is sent", async () => {
    began.length = 0;
    await using t = await createTestKernel({ capabilities: [shop] });
    const request = { ...who, intent_hint, delay_ms: day, idempotency_key: "k" };
    const first = await t.kernel.submit(request);
    await t.clock.advance(1000);
    expect((await t.kernel.submit(request)).workflow_id).toBe(first.workflow_id);
    await t.clock.advance(day);
    expect(began).toHaveLength(1);
  });

  it.each([
    [{ delay_ms: -1 }, "delay_ms"],
    [{ delay_ms: 1.5 }, "delay_ms"],
    [{ delay_ms: 4e11 }, "delay_ms"],
    [{ start_at: "tomorrow" }, "start_at"],
    [{ start_at: "2027-01-01T00:00:00" }, "start_at"],
    [{ start_at: "2027-01-01T00:00:00Z", delay_ms: 1 }, "it stands beside delay_ms"],
  ])("%j is refused", async (start, problem) => {
    await using t = await createTestKernel({ capabilities: [shop] });
    const refused = await refusalOf(t.kernel.submit({ ...who, intent_hint, ...start }));
    expect(refused).toMatchObject({ code: "T0_VALIDATION_SCHEMA_MISMATCH" });
    expect(refused.message).toContain(problem);
  });
});
