/** Reminders of a wait: people are told that an event has not arrived, in the rhythm of the plan, never in a flood. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, type WaitNotice } from "../../src/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger, type TestKernel } from "../../src/testing/index.ts";

const [hour, day] = [3_600_000, 86_400_000];
const as = { tenant_id: 1, principal: { type: "service", id: "signer", role: "user" } } as const;
const signed = { ...as, name: "contract.signed", key: "c-1", payload: { by: "ada" } } as const;

/** Waits for a signature, and reminds the sales people each hour. */
const reminding = (at_most?: number) =>
  defineCapability({
    intentType: "Deal.Close",
    version: "1.0",
    input: z.looseObject({}),
    operators: [],
    plan: ({ wait }) => {
      const remind = { every: { hours: 1 }, role: "sales", ...(at_most !== undefined && { at_most }) };
      const common = { step_id: "sign", name: "Contract signed", event: "contract.signed", key: "c-1" } as const;
      return { reasoning: "sign", steps: [wait({ ...common, remind, within: { days: 2 } })] };
    },
  });

async function begin(t: TestKernel): Promise<string> {
  const id = await t.submit("Deal.Close");
  await t.clock.settle();
  return id;
}

const countReminders = async (t: TestKernel, id: string): Promise<number> =>
  (await t.types(id)).filter((one) => one === "WAIT_REMINDED").length;

async function remindersOf(t: TestKernel, id: string) {
  const { waits_for } = (await t.kernel.workflow(id)).steps[0] ?? {};
  return [waits_for, await countReminders(t, id)];
}

describe("the reminders of a wait", () => {
  it("reach the notifiers that take them, no more often than the plan says, and end with the wait", async () => {
    const told: WaitNotice[] = [];
    const remind = async (notice: WaitNotice) => void told.push(notice);
    const deliver = async () => undefined;
    const notifiers = [
      { name: "mail", deliver, remind },
      { name: "plain", deliver },
      { name: "other", kinds: ["opened"] as const, deliver, remind },
    ];
    await using t = await createTestKernel({ capabilities: [reminding(2)], notifiers });
    const id = await begin(t);
    const began = t.clock.now();
    for (let passed = 0; passed < 4; passed += 1) await t.clock.advance(hour);
    const due_at = new Date(began + 2 * day).toISOString();
    expect(told).toMatchObject([
      {
        kind: "wait_reminded",
        workflow_id: id,
        step_id: "sign",
        role: "sales",
        event: "contract.signed",
        sent: 1,
        due_at,
      },
      { key: "c-1", title: "Contract signed", sent: 2, at: new Date(began + 2 * hour).toISOString() },
    ]);
    expect(await remindersOf(t, id)).toMatchObject([{ reminder: { sent: 2, due_at: null } }, 2]);
    expect(await t.types(id)).not.toContain("WORKFLOW_RESUMED");
    await t.kernel.emit(signed);
    expect((await t.rest(id)).state).toBe("completed");
    expect(JSON.stringify(await t.kernel.explain(id))).toContain("the role sales was reminded of it (reminder 2)");
    expect((await t.kernel.replay(id)).identical).toBe(true);
    expect((await t.kernel.verify()).ok).toBe(true);
  });

  it("come once for all that were missed while no process ran, or a pause held, and keep their rhythm", async () => {
    const ledger = memoryLedger();
    const capability = reminding();
    const first = await createTestKernel({ capabilities: [capability], ledger, seed: 1 });
    const id = await begin(first);
    const began = first.clock.now();
    await first.kernel.stop({ drainMs: 0 });
    const clock = createVirtualClock(began + 5.5 * hour);
    await using t = await createTestKernel({ capabilities: [capability], ledger, clock, seed: 2 });
    await t.clock.settle();
    const next = (hours: number) => ({ due_at: new Date(began + hours * hour).toISOString() });
    expect(await remindersOf(t, id)).toMatchObject([{ reminder: { sent: 1, ...next(6) } }, 1]);
    await t.kernel.pause(id, { ...as });
    await t.clock.advance(4 * hour);
    expect(await countReminders(t, id)).toBe(1);
    await t.kernel.resume(id, { ...as });
    await t.clock.settle();
    expect(await remindersOf(t, id)).toMatchObject([{ reminder: { sent: 2, ...next(10) } }, 2]);
    expect((await t.kernel.replay(id)).identical).toBe(true);
  });
});
