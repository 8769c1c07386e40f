/**
 * The ladder: rung by rung more people are asked, and the expiry comes at its own time; whoever runs the kernel by
 * then.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger } from "../../src/testing/index.ts";
import { ann, approve, bob, gated, person, waiting } from "./people.ts";
import { gateOf, payloads, publishing, refusalOf, steps } from "./story.ts";

const minute = 60_000;
const start = Date.UTC(2026, 0, 1);
const lead = person("lead", "lead");
const boss = person("boss", "admin");
const roles = Object.fromEntries(
  ["user", "lead", "admin"].map((role) => [role, { scopes: ["intent:submit", "workflow:execute", "gate:approve"] }]),
);
const ladder = {
  roles: ["user"],
  escalation: [
    { after_ms: minute, role: "lead" },
    { after_ms: 2 * minute, role: "admin" },
  ],
} as const;
const climbs = ["GATE_ESCALATED", "GATE_EXPIRED", "GATE_SUSPENDED"];
const folder = mkdtempSync(join(tmpdir(), "countersign-ladder-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (ms: number): string => new Date(start + ms).toISOString();

describe("a gate with a ladder", () => {
  it("adds the role of each rung in turn, and expires at the time that counts from its opening", async () => {
    const { capability, sent } = gated({ ...ladder, expiry: { after_ms: 4 * minute, action: "deny" } } as never);
    await using t = await createTestKernel({ capabilities: [capability], roles });
    const id = await waiting(t);
    const gate = () => gateOf(t, id, "gate-s1");
    expect(await gate()).toMatchObject({ due_at: at(minute), roles: ["user"], expires_at: at(4 * minute) });
    expect((await refusalOf(approve(t, id, lead))).code).toBe("T5_AUTHZ_FORBIDDEN");
    await t.clock.advance(minute);
    expect(await gate()).toMatchObject({ due_at: at(3 * minute), roles: ["user"], added_roles: ["lead"] });
    expect((await refusalOf(approve(t, id, boss))).code).toBe("T5_AUTHZ_FORBIDDEN");
    await t.clock.advance(2 * minute);
    expect(await gate()).toMatchObject({ due_at: at(4 * minute), roles: ["user"], added_roles: ["lead", "admin"] });
    await t.clock.advance(minute - 1);
    expect((await gate()).status).toBe("open");
    await t.clock.advance(1);
    expect((await gate()).status).toBe("expired");
    expect((await t.rest(id)).state).toBe("cancelled");
    expect(sent()).toEqual([]);
    expect((await payloads(t, id, "GATE_ESCALATED")).map((e) => [e.role, e.due_at, e.replaces])).toEqual([
      ["lead", at(3 * minute), false],
      ["admin", at(4 * minute), false],
    ]);
    expect(await steps(t, id, climbs)).toEqual(["GATE_ESCALATED:s1", "GATE_ESCALATED:s1", "GATE_EXPIRED:s1"]);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("is still decided by those who were asked first, and by the added role", async () => {
    const { capability } = gated({ ...ladder, quorum: { approvals: 2 } } as never);
    await using t = await createTestKernel({ capabilities: [capability], roles });
    const id = await waiting(t);
    await t.clock.advance(minute);
    expect((await approve(t, id, ann)).status).toBe("voted");
    expect((await approve(t, id, lead)).status).toBe("resumed");
  });

  it("with a rung that replaces is for its role alone from then on", async () => {
    const escalation = [{ after_ms: minute, role: "lead", replace: true }];
    const { capability } = gated({ ...ladder, escalation } as never);
    await using t = await createTestKernel({ capabilities: [capability], roles });
    const id = await waiting(t);
    await t.clock.advance(minute);
    expect((await refusalOf(approve(t, id, ann))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await approve(t, id, lead)).status).toBe("resumed");
  });

  it("expires at its time though no process was there for its rungs", async () => {
    const expiry = { after_ms: 4 * minute, action: "deny" } as const;
    const { capability } = gated({ ...ladder, expiry } as never);
    const ledger = memoryLedger();
    const open = (now: number, seed: number) =>
      createTestKernel({ capabilities: [capability], roles, ledger, clock: createVirtualClock(now), seed });
    const first = await open(start, 1);
    const id = await waiting(first);
    await first.kernel.stop({ drainMs: 0 });
    // The first rung is late: the second would have its time behind the expiry, which nothing moves.
    await using second = await open(start + 3 * minute, 2);
    await second.clock.settle();
    const gate = () => gateOf(second, id, "gate-s1");
    expect(await gate()).toMatchObject({ added_roles: ["lead"], due_at: at(4 * minute), expiry_action: "deny" });
    await second.clock.advance(minute);
    expect((await gate()).status).toBe("expired");
  });

  it("expires before a later decision, even if a rung fell due as well and no timer has fired", async () => {
    const { capability, sent } = gated({ ...ladder, expiry: { after_ms: 4 * minute, action: "deny" } } as never);
    const clock = createVirtualClock(start);
    let slept = 0;
    // The machine was asleep: its clock has moved, and no timer of the kernel has fired yet.
    const leaping = { ...clock, now: () => clock.now() + slept };
    await using t = await createTestKernel({ capabilities: [capability], roles, clock: leaping });
    const id = await waiting(t);
    slept = 9 * minute;
    expect((await refusalOf(approve(t, id, lead))).code).toBe("T5_GATE_CONFLICT");
    expect((await gateOf(t, id, "gate-s1")).status).toBe("expired");
    expect(sent()).toEqual([]);
  });

  it.each([
    ["is never reached", { escalation: ladder.escalation, expiry: { after_ms: 3 * minute, action: "deny" } }],
    ["replaces nobody", { expiry: { after_ms: minute, action: "deny", replace: true } }],
  ])("is refused when it is defined, where part of it %s", (_why, gate) => {
    expect(() => gated(gate as never)).toThrow("T0_VALIDATION_SCHEMA_MISMATCH");
  });

  it("without an expiry waits for ever on its last rung", async () => {
    const { capability, sent } = gated(ladder as never);
    await using t = await createTestKernel({ capabilities: [capability], roles });
    const id = await waiting(t);
    await t.clock.advance(100 * minute);
    expect((await gateOf(t, id, "gate-s1")).due_at).toBe(null);
    expect((await approve(t, id, boss)).status).toBe("resumed");
    await t.rest(id);
    expect(sent()).toEqual(["s1"]);
  });

  it("asks its approvers as well as the role of a rung, unless that replaces them", async () => {
    for (const replace of [false, true]) {
      const { capability, sent } = gated({
        escalation: [{ after_ms: minute, role: "lead", replace }],
        approvers: [{ id: "ann" }, { id: "bob" }],
        quorum: { approvals: 2 },
      } as never);
      await using t = await createTestKernel({ capabilities: [capability], roles });
      const id = await waiting(t);
      await approve(t, id, ann);
      await t.clock.advance(minute);
      if (replace) expect((await refusalOf(approve(t, id, bob))).code).toBe("T5_AUTHZ_FORBIDDEN");
      const second = replace ? lead : bob;
      expect(await approve(t, id, second)).toMatchObject({ status: "resumed", tally: { approvals: 2 } });
      await t.rest(id);
      expect(sent()).toEqual(["s1"]);
    }
  });

  it("stays where it is on the ladder when what it shows is edited", async () => {
    const { capability } = publishing({ gate: ladder as never });
    await using t = await createTestKernel({ capabilities: [capability], roles });
    const id = await waiting(t);
    await t.clock.advance(minute);
    await t.kernel.retry(id, { tenant_id: 1, principal: ann, mode: "regenerate" });
    await t.rest(id);
    expect(await gateOf(t, id)).toMatchObject({
      roles: ["user"],
      added_roles: ["lead"],
      due_at: at(3 * minute),
      target: { version: 2 },
    });
  });

  it("goes on climbing in another process, from where it stood", async () => {
    const { capability } = gated(ladder as never);
    const path = join(folder, "ladder.db");
    const open = (now: number, seed: number) =>
      createTestKernel({
        capabilities: [capability],
        roles,
        ledger: sqliteLedger({ path }),
        clock: createVirtualClock(now),
        seed,
      });
    const first = await open(start, 1);
    const id = await waiting(first);
    await first.clock.advance(minute);
    await first.kernel.stop({ drainMs: 0 });
    await using second = await open(start + 2 * minute, 2);
    await second.clock.settle();
    expect((await gateOf(second, id, "gate-s1")).added_roles).toEqual(["lead"]);
    await second.clock.advance(minute);
    expect((await gateOf(second, id, "gate-s1")).added_roles).toEqual(["lead", "admin"]);
    expect(await steps(second, id, climbs)).toEqual(["GATE_ESCALATED:s1", "GATE_ESCALATED:s1"]);
  });
});
