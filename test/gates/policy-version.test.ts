/** An approval binds to the policy it was asked under: under another one the gate is asked again, or its step is denied. */
import { describe, expect, it } from "vitest";
import { definePolicy, type LedgerStore, type PolicyRule } from "../../src/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger } from "../../src/testing/index.ts";
import { ann, approve, bob, gated, waiting } from "./people.ts";
import { asShown, gateOf, payloads, publishing, refusalOf, steps } from "./story.ts";

const rule = (evaluate: PolicyRule["evaluate"]) => definePolicy({ name: "new rule", stages: ["action"], evaluate });
const denies = rule(() => ({ decision: "DENY", reason: "no longer" }));

/** Stops without closing the ledger, which the next kernel goes on with. */
const kept = (ledger: LedgerStore): LedgerStore =>
  Object.assign(Object.create(ledger), { close: async () => undefined });

async function reopened(
  make: () => ReturnType<typeof gated> | ReturnType<typeof publishing>,
  policies: readonly PolicyRule[],
  votes: number,
) {
  const ledger = memoryLedger();
  const made = make();
  const first = await createTestKernel({ capabilities: [made.capability], ledger: kept(ledger), policyVersion: "1" });
  const id = await waiting(first);
  for (const who of [ann, bob].slice(0, votes)) await approve(first, id, who);
  await first.kernel.stop({ drainMs: 0 });
  const t = await createTestKernel({
    capabilities: [made.capability],
    ledger,
    policies,
    policyVersion: "2",
    seed: 2,
    clock: createVirtualClock(Date.UTC(2026, 0, 2)),
  });
  return { t, id, made, [Symbol.asyncDispose]: () => t.kernel.stop({ drainMs: 0 }) };
}

describe("a decision under another policy than the gate's", () => {
  it("is refused; the gate is asked again under the new one, and earlier votes are void", async () => {
    const make = () => publishing({ gate: { quorum: { approvals: 2 } } });
    await using desk = await reopened(make, [], 1);
    const { t, id } = desk;
    expect((await gateOf(t, id)).votes).toHaveLength(1);
    expect((await refusalOf(approve(t, id, bob))).code).toBe("T5_GATE_CONFLICT");
    expect(await gateOf(t, id)).toMatchObject({
      status: "open",
      policy_version: "2",
      votes: [],
      target: { version: 1 },
    });
    expect(await payloads(t, id, "GATE_REVISED")).toMatchObject([{ cause: "policy", principal: null }]);
    expect((await payloads(t, id, "POLICY_DECIDED")).filter((p) => p.stage === "action").at(-1)).toMatchObject({
      policy_version: "2",
      payload: expect.anything(),
    });
    const shown = await asShown(t, id);
    await approve(t, id, ann, shown);
    expect((await approve(t, id, bob, shown)).status).toBe("resumed");
    expect((await t.rest(id)).state).toBe("completed");
    expect(await payloads(t, id, "USER_APPROVED")).toMatchObject([{ policy_version: "2" }]);
  });

  it("shows what the new policy makes of the payload", async () => {
    const changes = rule(() => ({ decision: "TRANSFORM", reason: "shorter", transform: { id: "short" } }));
    await using desk = await reopened(() => gated({}), [changes], 0);
    const { t, id, made } = desk;
    await refusalOf(approve(t, id, ann));
    expect((await gateOf(t, id, "gate-s1")).payload).toEqual({ id: "short" });
    await approve(t, id, ann, await asShown(t, id, "gate-s1"));
    await t.rest(id);
    expect("send" in made && made.send.calls.map((c) => c.input)).toEqual([{ id: "short" }]);
  });

  it("ends the step as denied where the new policy says no, and its gate with it", async () => {
    await using desk = await reopened(() => gated({}), [denies], 0);
    const { t, id, made } = desk;
    expect((await refusalOf(approve(t, id, ann))).code).toBe("T5_GATE_CONFLICT");
    const end = await t.rest(id);
    expect([end.state, end.steps[0]?.error?.code]).toEqual(["failed", "T5_POLICY_DENIED"]);
    expect((await gateOf(t, id, "gate-s1")).status).toBe("voided");
    expect(await t.kernel.gates()).toEqual([]);
    expect(await steps(t, id, ["GATE_REVISED", "USER_APPROVED"])).toEqual([]);
    expect("send" in made && made.send.calls).toEqual([]);
  });
});

describe("what would be approved without a word", () => {
  const hour = 3_600_000;
  const allows = () => gated({ expiry: { after_ms: 24 * hour + hour, action: "allow" } });

  it("by an expiry is put to the policy of now, and denied where that says no", async () => {
    await using desk = await reopened(allows, [denies], 0);
    const { t, id, made } = desk;
    await t.clock.advance(hour);
    const end = await t.rest(id);
    expect([end.state, end.steps[0]?.error?.code]).toEqual(["failed", "T5_POLICY_DENIED"]);
    expect("send" in made && made.send.calls).toEqual([]);
  });

  it("by an expiry runs as the policy of now lets it through, at its time", async () => {
    const changes = rule(() => ({ decision: "TRANSFORM", reason: "shorter", transform: { id: "short" } }));
    await using desk = await reopened(allows, [changes], 0);
    const { t, id, made } = desk;
    await t.clock.advance(hour - 1);
    expect((await gateOf(t, id, "gate-s1")).policy_version).toBe("1");
    await t.clock.advance(1);
    expect((await t.rest(id)).state).toBe("completed");
    expect(await steps(t, id, ["GATE_REVISED", "GATE_EXPIRED"])).toEqual(["GATE_REVISED:s1", "GATE_EXPIRED:s1"]);
    expect("send" in made && made.send.calls.map((c) => c.input)).toEqual([{ id: "short" }]);
  });
});
