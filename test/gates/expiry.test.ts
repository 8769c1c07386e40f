/**
 * Gates with an expiry do at their time what they were opened with, whichever kernel is there by then; others wait for
 * ever.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel, createVirtualClock, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { count, gatedSteps, gateOf, intent, payloads, refusalOf, steps } from "./story.ts";

const minute = 60_000;
const start = Date.UTC(2026, 0, 1);
const folder = mkdtempSync(join(tmpdir(), "countersign-gates-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Action = "deny" | "allow" | "suspend" | "escalate";
interface Due {
  readonly action: Action;
  readonly event: string;
  readonly state: string;
  readonly status: string;
  readonly called: number;
}

const table: readonly Due[] = [
  { action: "deny", event: "GATE_EXPIRED", state: "cancelled", status: "expired", called: 0 },
  { action: "allow", event: "GATE_EXPIRED", state: "completed", status: "approved", called: 1 },
  { action: "suspend", event: "GATE_SUSPENDED", state: "waiting_for_user", status: "suspended", called: 0 },
  { action: "escalate", event: "GATE_ESCALATED", state: "waiting_for_user", status: "open", called: 0 },
];

const expiring = (action: Action) =>
  gatedSteps(1, {
    gate: { expiry: { after_ms: minute, action, ...(action === "escalate" ? { role: "admin" } : {}) } },
  });

const expiryEvents = ["GATE_EXPIRED", "GATE_SUSPENDED", "GATE_ESCALATED"];

async function expectDue(t: TestKernel, id: string, { event, state, status }: Due): Promise<void> {
  expect(await steps(t, id, expiryEvents)).toEqual([`${event}:s1`]);
  expect((await t.kernel.workflow(id)).state).toBe(state);
  expect((await gateOf(t, id, "gate-s1")).status).toBe(status);
}

describe("a gate with an expiry", () => {
  it.each(table)("does $action at its due time and not before, as one event of its own", async (due) => {
    const { capability, send } = expiring(due.action);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    expect((await gateOf(t, workflow_id, "gate-s1")).due_at).toBe(new Date(start + minute).toISOString());
    await t.clock.advance(minute - 1);
    expect(await steps(t, workflow_id, expiryEvents)).toEqual([]);
    expect(send.calls).toHaveLength(0);
    await t.clock.advance(1);
    await expectDue(t, workflow_id, due);
    expect(send.calls).toHaveLength(due.called);
    await t.clock.advance(10 * minute);
    await expectDue(t, workflow_id, due);
    expect(send.calls).toHaveLength(due.called);
  });

  describe.each([
    ["before", minute / 2],
    ["after", 3 * minute],
  ])("when the kernel was stopped and the next one starts %s the due time", (when, at) => {
    it.each(table)("does $action all the same, once", async (due) => {
      const { capability, send } = expiring(due.action);
      const path = join(folder, `${when}-${due.action}.db`);
      const open = (now: number, seed: number) =>
        createTestKernel({
          capabilities: [capability],
          ledger: sqliteLedger({ path }),
          clock: createVirtualClock(now),
          seed,
        });
      const first = await open(start, 1);
      const { workflow_id } = await first.run(intent);
      await first.kernel.stop({ drainMs: 0 });

      await using second = await open(start + at, 2);
      if (at < minute) {
        await second.clock.settle();
        expect(await steps(second, workflow_id, expiryEvents)).toEqual([]);
        await second.clock.advance(minute - at);
      } else await second.clock.advance(0);
      await expectDue(second, workflow_id, due);
      await second.clock.advance(10 * minute);
      await expectDue(second, workflow_id, due);
      expect(send.calls).toHaveLength(due.called);
    });
  });

  it("is left alone once it is decided", async () => {
    const { capability, send } = expiring("deny");
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    await t.clock.advance(2 * minute);
    expect(await steps(t, workflow_id, expiryEvents)).toEqual([]);
    expect(await t.kernel.workflow(workflow_id)).toMatchObject({ state: "completed" });
    expect(send.calls).toHaveLength(1);
  });

  it("that expired with a denial ends its step with its own code and next step, and takes no decision", async () => {
    const { capability, send } = expiring("deny");
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.clock.advance(minute);
    expect(await payloads(t, workflow_id, "STEP_FAILED")).toMatchObject([
      { blocked: true, error: { code: "T5_GATE_EXPIRED", message: "gate-s1 was not decided in time" } },
    ]);
    expect(await payloads(t, workflow_id, "WORKFLOW_CANCELLED")).toMatchObject([
      { reason: "gate_expired", error: { code: "T5_GATE_EXPIRED" } },
    ]);
    expect((await refusalOf(t.approve(workflow_id, "gate-s1"))).code).toBe("T5_GATE_CONFLICT");
    expect(send.calls).toHaveLength(0);
  });

  it("that is suspended waits for ever, and is decided as before", async () => {
    const { capability, send } = expiring("suspend");
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.clock.advance(minute);
    expect((await gateOf(t, workflow_id, "gate-s1")).due_at).toBeNull();
    await t.clock.advance(100 * minute);
    await t.approve(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });

  it.each([true, false])(
    "that is escalated is for the named role, alone where it replaces the others: %s",
    async (replace) => {
      const { capability, send } = gatedSteps(1, {
        gate: { roles: ["user"], expiry: { after_ms: minute, action: "escalate", role: "admin", replace } },
      });
      await using t = await createTestKernel({ capabilities: [capability] });
      const { workflow_id } = await t.run(intent);
      await t.clock.advance(minute);
      if (replace) expect((await refusalOf(t.approve(workflow_id))).code).toBe("T5_AUTHZ_FORBIDDEN");
      const principal = { ...testCaller.principal, id: 2, role: replace ? "admin" : "user" };
      await t.kernel.decideGate(workflow_id, { tenant_id: 1, principal, decision: "approve" });
      expect((await t.rest(workflow_id)).state).toBe("completed");
      expect(send.calls).toHaveLength(1);
    },
  );

  it("of several that fall due at one time: each does it, but for the one that was decided", async () => {
    const { capability, send, ids } = gatedSteps(3, { gate: { expiry: { after_ms: minute, action: "allow" } } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.reject(workflow_id, "gate-s2");
    await t.clock.advance(minute);
    expect(count(await t.types(workflow_id), "GATE_EXPIRED")).toBe(2);
    expect(send.calls.map((c) => c.context.step_id)).toEqual(ids.filter((id) => id !== "s2"));
    expect((await t.kernel.workflow(workflow_id)).state).toBe("cancelled");
  });
});

describe("a gate without an expiry", () => {
  it("waits for ever, and nothing of it stays in memory", async () => {
    const { capability, send } = gatedSteps(1);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.clock.advance(100 * minute);
    expect((await t.kernel.workflow(workflow_id)).state).toBe("waiting_for_user");
    expect(t.kernel.vitals()).toMatchObject({ workflows: 0, actors: 0 });
    await t.approve(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });
});
