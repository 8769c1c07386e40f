/** Reminders: while nobody decides, all notifiers are told of the gate again, each time as long as its plan says. */
import { describe, expect, it } from "vitest";
import { createCommandSignal, type GateNotice, moduleRef } from "../../src/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger, type TestKernel } from "../../src/testing/index.ts";
import { ann, approve, gated, waiting } from "./people.ts";
import { count, gateOf, payloads, refusalOf } from "./story.ts";

const minute = 60_000;
const start = Date.UTC(2026, 0, 1);
const at = (ms: number): string => new Date(start + ms).toISOString();
const remind = { every: 10 * minute };

const reminded = async (t: TestKernel, id: string) =>
  (await payloads(t, id, "GATE_REMINDED")).map(({ due_at }) => due_at);

/** Keeps what each notifier is told. */
function listeners(...names: readonly string[]) {
  const told: string[] = [];
  const deliver = (name: string) => async (notice: GateNotice) => void told.push(`${name} ${notice.kind}`);
  return { told, notifiers: names.map((name) => ({ name, deliver: deliver(name) })) };
}

describe("a gate that reminds", () => {
  it("notes each reminder with the time of the next, and tells every notifier of it", async () => {
    const { capability } = gated({ remind });
    const { told, notifiers } = listeners("mail", "chat");
    await using t = await createTestKernel({ capabilities: [capability], notifiers });
    const id = await waiting(t);
    expect((await gateOf(t, id, "gate-s1")).reminder).toEqual({ ...remind, due_at: at(10 * minute) });
    await t.clock.advance(10 * minute - 1);
    expect(await reminded(t, id)).toEqual([]);
    await t.clock.advance(1);
    await t.clock.advance(10 * minute);
    expect(await reminded(t, id)).toEqual([at(20 * minute), at(30 * minute)]);
    await t.clock.advance(minute);
    for (const name of ["mail", "chat"]) expect(count(told, `${name} reminded`)).toBe(2);
    expect((await t.kernel.workflow(id)).state).toBe("waiting_for_user");
    await approve(t, id, ann);
    await t.rest(id);
    await t.clock.advance(60 * minute);
    expect(await reminded(t, id)).toHaveLength(2);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
    expect((await t.kernel.verify()).ok).toBe(true);
  });

  it("keeps its expiry, which a reminder does not move, and reminds no more behind it", async () => {
    const { capability } = gated({ remind, expiry: { after_ms: 25 * minute, action: "deny" } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    for (let passed = 0; passed < 25; passed += 1) await t.clock.advance(minute);
    expect((await gateOf(t, id, "gate-s1")).status).toBe("expired");
    await t.clock.advance(60 * minute);
    expect(await reminded(t, id)).toHaveLength(2);
  });

  it("goes on reminding where its expiry has suspended it", async () => {
    const { capability } = gated({ remind, expiry: { after_ms: minute, action: "suspend" } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await t.clock.advance(10 * minute);
    expect((await gateOf(t, id, "gate-s1")).status).toBe("suspended");
    expect(await reminded(t, id)).toEqual([at(20 * minute)]);
  });

  it("reminds once for all that was missed while no process ran, and then in its own rhythm", async () => {
    const { capability } = gated({ remind });
    const ledger = memoryLedger();
    const open = (now: number, seed: number) =>
      createTestKernel({ capabilities: [capability], ledger, clock: createVirtualClock(now), seed });
    const first = await open(start, 1);
    const id = await waiting(first);
    await first.kernel.stop({ drainMs: 0 });
    await using second = await open(start + 35 * minute, 2);
    await second.clock.settle();
    expect(await reminded(second, id)).toEqual([at(40 * minute)]);
    await second.clock.advance(5 * minute);
    expect(await reminded(second, id)).toEqual([at(40 * minute), at(50 * minute)]);
  });

  it("keeps the rhythm where what it shows is edited", async () => {
    const { capability } = gated({ remind, quorum: { approvals: 2 } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await t.clock.advance(7 * minute);
    await approve(t, id, ann, { edit: { id: "other" } });
    expect((await gateOf(t, id, "gate-s1")).reminder).toEqual({ ...remind, due_at: at(10 * minute) });
  });

  it.each([0, -1, 999, 1000.5, "10m"])("is refused when it is defined, for every %s", async (every) => {
    expect((await refusalOf(Promise.resolve().then(() => gated({ remind: { every } } as never)))).code).toBe(
      "T0_VALIDATION_SCHEMA_MISMATCH",
    );
  });
});

describe("a workflow that was put to sleep at its gate", () => {
  const sleep = (t: TestKernel, workflow_id: string) => {
    const from = moduleRef(0, "test", "sleep");
    return t.kernel.ask(
      4,
      createCommandSignal("sleep", moduleRef(4, "ooda_loop", "sleep"), from, "t-1", { workflow_id }),
    );
  };

  it("reminds, escalates and expires in its time, and runs no timer that is due already", async () => {
    const gate = {
      remind,
      escalation: [{ after_ms: 15 * minute, role: "admin" }],
      expiry: { after_ms: 25 * minute, action: "deny" as const },
    };
    const { capability, sent } = gated(gate);
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    expect((await sleep(t, id)).error).toBe(null);
    for (let passed = 0; passed < 30; passed += 5) await t.clock.advance(5 * minute);
    const due = ["GATE_REMINDED", "GATE_ESCALATED", "GATE_EXPIRED"];
    expect((await t.types(id)).filter((type) => due.includes(type))).toEqual([
      "GATE_REMINDED",
      "GATE_ESCALATED",
      "GATE_REMINDED",
      "GATE_EXPIRED",
    ]);
    expect((await gateOf(t, id, "gate-s1")).status).toBe("expired");
    expect(sent()).toEqual([]);
  });

  it("is called by nobody before it is woken, though its expiry allows the call", async () => {
    const { capability, sent } = gated({ expiry: { after_ms: minute, action: "allow" } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await sleep(t, id);
    await t.clock.advance(10 * minute);
    expect((await gateOf(t, id, "gate-s1")).status).toBe("approved");
    expect(sent()).toEqual([]);
    const from = moduleRef(0, "test", "wake");
    const target = moduleRef(4, "ooda_loop", "act");
    await t.kernel.ask(4, createCommandSignal("activate", target, from, "t-2", { workflow_id: id }));
    expect((await t.rest(id)).state).toBe("completed");
    expect(sent()).toEqual(["s1"]);
  });
});
