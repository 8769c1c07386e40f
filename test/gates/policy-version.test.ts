/**
 * An approval binds to the policy it was asked under: under another one the gate is asked again, or its step is denied.
 */
import { describe, expect, it } from "vitest";
import type { RuleAnswer } from "../../src/contract/policy.ts";
import { definePolicy, type LedgerStore, operatorError, type PolicyRule } from "../../src/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { ann, approve, bob, gated, reject, waiting } from "./people.ts";
import {
  asShown,
  counted,
  gateOf,
  held,
  intent,
  payloads,
  publishing,
  refusalOf,
  step,
  steps,
  story,
} from "./story.ts";

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
    await using fixture = await reopened(make, [], 1);
    const { t, id } = fixture;
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
    await using fixture = await reopened(() => gated({}), [changes], 0);
    const { t, id, made } = fixture;
    await refusalOf(approve(t, id, ann));
    expect((await gateOf(t, id, "gate-s1")).payload).toEqual({ id: "short" });
    await approve(t, id, ann, await asShown(t, id, "gate-s1"));
    await t.rest(id);
    expect("send" in made && made.send.calls.map((c) => c.input)).toEqual([{ id: "short" }]);
  });

  it.each([
    ["lets it through", []],
    ["denies it", [denies]],
  ] as const)("is taken where it rejects, at the first word, also where the new policy %s", async (_what, policies) => {
    await using fixture = await reopened(() => gated({}), policies, 0);
    const { t, id, made } = fixture;
    expect((await reject(t, id, ann)).status).toBe("rejected");
    expect((await t.rest(id)).state).toBe("cancelled");
    expect(await steps(t, id, ["GATE_REVISED"])).toEqual([]);
    expect("send" in made && made.send.calls).toEqual([]);
  });

  it("is taken where it rejects and names the payload and its vote completes a quorum", async () => {
    await using fixture = await reopened(() => gated({ quorum: { approvals: 2 } }), [], 1);
    const { t, id } = fixture;
    expect((await reject(t, id, bob, await asShown(t, id, "gate-s1"))).status).toBe("rejected");
    expect((await t.kernel.verify()).ok).toBe(true);
  });

  it("ends the step as denied where the new policy says no, and its gate with it", async () => {
    await using fixture = await reopened(() => gated({}), [denies], 0);
    const { t, id, made } = fixture;
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
    await using fixture = await reopened(allows, [denies], 0);
    const { t, id, made } = fixture;
    await t.clock.advance(hour);
    const end = await t.rest(id);
    expect([end.state, end.steps[0]?.error?.code]).toEqual(["failed", "T5_POLICY_DENIED"]);
    expect("send" in made && made.send.calls).toEqual([]);
  });

  it("by an expiry runs as the policy of now lets it through, at its time", async () => {
    const changes = rule(() => ({ decision: "TRANSFORM", reason: "shorter", transform: { id: "short" } }));
    await using fixture = await reopened(allows, [changes], 0);
    const { t, id, made } = fixture;
    await t.clock.advance(hour - 1);
    expect((await gateOf(t, id, "gate-s1")).policy_version).toBe("1");
    await t.clock.advance(1);
    expect((await t.rest(id)).state).toBe("completed");
    expect(await steps(t, id, ["GATE_REVISED", "GATE_EXPIRED"])).toEqual(["GATE_REVISED:s1", "GATE_EXPIRED:s1"]);
    expect("send" in made && made.send.calls.map((c) => c.input)).toEqual([{ id: "short" }]);
  });
});

describe("a rejection after the time of a gate that then lets its step go on", () => {
  it("meets the policy of now and the expiry first, and does not count", async () => {
    const hour = 3_600_000;
    const made = gated({ expiry: { after_ms: 24 * hour + hour, action: "allow" } });
    const ledger = memoryLedger();
    const first = await createTestKernel({ capabilities: [made.capability], ledger: kept(ledger), policyVersion: "1" });
    const id = await waiting(first);
    await first.kernel.stop({ drainMs: 0 });
    const clock = createVirtualClock(Date.UTC(2026, 0, 2));
    let slept = 0;
    // The machine was asleep: its clock has moved, and no timer of the kernel has fired yet.
    const leaping = { ...clock, now: () => clock.now() + slept };
    const changes = rule(() => ({ decision: "TRANSFORM", reason: "shorter", transform: { id: "short" } }));
    const capabilities = [made.capability];
    const second = { capabilities, ledger, policies: [changes], policyVersion: "2", seed: 2, clock: leaping };
    const t = await createTestKernel(second);
    slept = 2 * hour;
    expect((await refusalOf(reject(t, id, ann))).code).toBe("T5_GATE_CONFLICT");
    await t.rest(id);
    const said = ["GATE_REVISED", "GATE_EXPIRED", "USER_REJECTED"];
    expect(await steps(t, id, said)).toEqual(["GATE_REVISED:s1", "GATE_EXPIRED:s1"]);
    expect("send" in made && made.send.calls.map(({ input }) => input)).toEqual([{ id: "short" }]);
    await t.kernel.stop({ drainMs: 0 });
  });
});

describe("two gates that would be approved without a word", () => {
  it("are put to the policy of now each for itself, though they show the same", async () => {
    const hour = 3_600_000;
    const [one, two] = [counted("Note.One"), counted("Note.Two")];
    const shown = { gate: { expiry: { after_ms: 25 * hour, action: "allow" as const } }, params: { id: "x" } };
    const make = () => ({ capability: story([one, two], [step("s1", one, shown), step("s2", two, shown)]) });
    const deniesTwo = definePolicy({
      name: "new rule",
      stages: ["action"],
      evaluate: ({ subject }): RuleAnswer | null =>
        JSON.stringify(subject).includes("Note.Two") ? { decision: "DENY", reason: "no longer" } : null,
    });
    await using fixture = await reopened(make as never, [deniesTwo], 0);
    const { t, id } = fixture;
    await t.clock.advance(hour);
    const { steps: ended } = await t.rest(id);
    expect(ended.map(({ error }) => error?.code)).toEqual([undefined, "T5_POLICY_DENIED"]);
    expect([one.calls.length, two.calls.length]).toEqual([1, 0]);
  });
});

describe("an approval whose call has not begun when policy is another", () => {
  /**
   * Approved under policy 1; gone on with under policy 2 and these rules. `resumed`: its first call failed; else it
   * waits for a place.
   */
  async function approvedBefore(how: "resumed" | "waiting", policies: readonly PolicyRule[]) {
    const ledger = memoryLedger();
    const world = { fails: how === "resumed" };
    const send = counted("Note.Send", { effect: "final_write", idempotent: true }, () => {
      if (world.fails) throw operatorError({ code: "DOWN", category: "dependency", message: "down" });
      return {};
    });
    const busy = held<object>();
    const slow = counted("Note.Slow", { timeoutSec: 864_000, idempotent: true }, () => busy.promise);
    const beside = how === "waiting" ? [slow] : [];
    const plan = [step("s1", send, { params: { id: "s1" }, gate: {} }), ...beside.map((one) => step("s2", one))];
    const limits = { maxConcurrentSteps: 1, maxReplans: 0 };
    const options = { capabilities: [story([send, ...beside], plan)], limits };
    const first = await createTestKernel({ ...options, ledger: kept(ledger), policyVersion: "1" });
    const id = await first.submit(intent);
    await first.clock.settle();
    await approve(first, id, ann);
    await first.clock.settle();
    await first.kernel.stop({ drainMs: 0 });
    world.fails = false;
    const before = send.calls.length;
    const clock = createVirtualClock(Date.UTC(2026, 0, 2));
    const t = await createTestKernel({ ...options, ledger, policies, policyVersion: "2", seed: 2, clock });
    if (how === "resumed") await t.kernel.retry(id, { ...testCaller, mode: "resume_failed_steps" });
    busy.release({});
    const calls = () => send.calls.slice(before).map(({ input }) => input);
    return { t, id, calls, [Symbol.asyncDispose]: () => t.kernel.stop({ drainMs: 0 }) };
  }
  const ways = ["resumed", "waiting"] as const;
  const sends = (evaluate: () => RuleAnswer) =>
    rule(({ subject }) => (subject.operator === "Note.Send" ? evaluate() : null));

  it.each(ways)("[INV-06] is no leave to do what the policy of now denies: %s", async (how) => {
    await using fixture = await approvedBefore(how, [sends(() => ({ decision: "DENY", reason: "no longer" }))]);
    const end = await fixture.t.rest(fixture.id);
    const sent = end.steps.find(({ step_id }) => step_id === "s1");
    expect([end.state, sent?.error?.code, fixture.calls()]).toEqual(["failed", "T5_POLICY_DENIED", []]);
  });

  // A key that was used with one payload makes no call with another: what failed is resumed as it was, or not at all.
  const shorter = () => ({ decision: "TRANSFORM", reason: "shorter", transform: { id: "short" } }) as const;
  it.each([
    ["resumed", [], { id: "s1" }],
    ["waiting", [sends(shorter)], { id: "short" }],
  ] as const)("is asked for again, on what the policy of now makes of it: %s", async (how, policies, payload) => {
    await using fixture = await approvedBefore(how, policies);
    const { t, id, calls } = fixture;
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    const gate = await gateOf(t, id, "gate-s1");
    expect(gate).toMatchObject({ status: "open", policy_version: "2", payload, decision: null });
    expect((await payloads(t, id, "GATE_REVISED")).map(({ cause }) => cause)).toEqual(["policy"]);
    expect(calls()).toEqual([]);
    await approve(t, id, bob, await asShown(t, id, "gate-s1"));
    expect((await t.rest(id)).state).toBe("completed");
    expect(calls()).toEqual([payload]);
  });
});
