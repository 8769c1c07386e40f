/** Policy that is asked again at a vote and before the call: over restarts, by rules that fail, and as faces say it. */
import { describe, expect, it } from "vitest";
import { definePolicy, definePolicySet, type PolicyQuestion, type PolicyRule } from "../../src/index.ts";
import { describeGate, factsWithout } from "../../src/protocol/describe-gate.ts";
import { createTestKernel, createVirtualClock, type TestKernel, testCaller } from "../../src/testing/index.ts";
import {
  type Counted,
  counted,
  eventsOf,
  intentType,
  oneStep,
  packageOf,
  planStep,
  refusalOf,
} from "../journey/parts.ts";
import { ledgerPaths, minute, openProcess } from "../recovery/shared-file.ts";

const newPath = ledgerPaths();
const hour = 60 * minute;
/** Processes begin at midnight. */
const noon = 12 * hour;
const late = 23 * hour;
const night = definePolicySet({
  version: "night",
  rules: [
    {
      name: "night",
      stages: ["action"],
      when: { times: { between: ["22:00", "06:00"] } },
      decision: "DENY",
      reason: "nothing at night",
    },
  ],
});
const looked = { gate: { reason: "look" }, params: { sum: 9 } };

describe("an approval by day and a process that begins at night", () => {
  const steps = (pay: Counted, slow: Counted) => [planStep("s1", pay, looked), planStep("s2", slow)];
  const world = (slowly: () => unknown) => {
    const pay = counted("Pay.Out", { effect: "write_draft" });
    const slow = counted("Slow.Work", { effect: "none", timeoutSec: 86_400 }, slowly);
    const capabilities = [packageOf([pay, slow], steps(pay, slow))];
    return { pay, options: { capabilities, policies: [night], limits: { maxConcurrentSteps: 1 } } };
  };

  it.each(["stops", "dies"])(
    "the call is judged by the rules of the night, when the process that took the approval %s",
    async (how) => {
      const path = newPath();
      const before = world(() => new Promise(() => undefined));
      const one = await openProcess(path, { ...before.options, at: noon });
      const id = await one.submit(intentType);
      await one.clock.settle();
      await one.approve(id);
      const { steps: [step] = [] } = await one.kernel.workflow(id);
      expect([step?.state, before.pay.calls]).not.toEqual(["waiting_for_user", before.pay.calls]);
      if (how === "dies") one.freeze();
      else await one.kernel.stop({ drainMs: 0 });
      const after = world(() => ({}));
      await using two = await openProcess(path, { ...after.options, at: late });
      await two.clock.advance(hour);
      const { state, error } = await two.rest(id);
      expect([state, error?.code, error?.message]).toEqual(["failed", "T5_POLICY_DENIED", "nothing at night"]);
      expect([before.pay.calls, after.pay.calls]).toEqual([[], []]);
      expect((await two.kernel.replay(id)).difference).toBeNull();
    },
  );

  it("a gate that was opened by day refuses an approval there, and takes it by day again", async () => {
    const path = newPath();
    const pay = counted("Pay.Out", { effect: "write_draft" });
    const options = { capabilities: [oneStep(pay, looked)], policies: [night] };
    const one = await openProcess(path, { ...options, at: noon });
    const { workflow_id: id } = await one.run(intentType);
    await one.kernel.stop();
    await using two = await openProcess(path, { ...options, at: late });
    expect((await refusalOf(two.approve(id))).code).toBe("T5_POLICY_DENIED");
    await two.kernel.stop();
    await using three = await openProcess(path, { ...options, at: late + 12 * hour });
    await three.approve(id);
    expect([(await three.rest(id)).state, pay.calls.length]).toEqual(["completed", 1]);
    expect((await three.kernel.replay(id)).difference).toBeNull();
  });

  it("a vote by day and the last vote in a process at night: the second is refused, the first stands", async () => {
    const path = newPath();
    const pay = counted("Pay.Out", { effect: "write_draft" });
    const gate = { reason: "look", quorum: { approvals: 2 } };
    const options = { capabilities: [oneStep(pay, { ...looked, gate })], policies: [night] };
    const one = await openProcess(path, { ...options, at: noon });
    const { workflow_id: id } = await one.run(intentType);
    await one.approve(id);
    await one.kernel.stop();
    await using two = await openProcess(path, { ...options, at: late });
    const bob = { tenant_id: 1, principal: { type: "user", id: "bob", role: "user" } };
    const vote = two.kernel.decideGate(id, { ...bob, gate_id: "gate-s1", decision: "approve" });
    expect((await refusalOf(vote)).code).toBe("T5_POLICY_DENIED");
    expect([(await two.kernel.workflow(id)).gates[0]?.votes.length, pay.calls]).toEqual([1, []]);
  });
});

describe("a rule that fails when it is asked again", () => {
  /** Asks `answer` how the rule answers from its second question about the call on. */
  const failing = (answer: () => unknown): { readonly rule: PolicyRule; readonly mend: () => void } => {
    const asked: PolicyQuestion[] = [];
    let isMended = false;
    const rule = definePolicy({
      name: "flaky",
      stages: ["action"],
      evaluate: (question) => (asked.push(question) === 1 || isMended ? null : (answer() as null)),
    });
    const mend = (): void => {
      isMended = true;
    };
    return { rule, mend };
  };
  const failures: readonly (readonly [string, () => unknown])[] = [
    [
      "throws",
      () => {
        throw new Error("no rules today");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no rules today"))],
    ["hangs", () => new Promise(() => undefined)],
    ["answers nonsense", () => ({ decision: "MAYBE" })],
  ];

  it.each(failures)(
    "and %s: the vote is refused with a code, nothing hangs, and a later vote is taken",
    async (_how, answer) => {
      const { rule, mend } = failing(answer);
      const pay = counted("Pay.Out", { effect: "write_draft" });
      await using t = await createTestKernel({ capabilities: [oneStep(pay, looked)], policies: [rule] });
      const { workflow_id: id } = await t.run(intentType);
      await t.clock.advance(minute);
      const vote = refusalOf(t.approve(id));
      await t.clock.advance(5_000);
      const refused = await vote;
      expect([refused.code, refused.message]).toEqual(["T5_POLICY_DENIED", expect.stringContaining("flaky")]);
      const [gate] = (await t.kernel.workflow(id)).gates;
      expect([gate?.status, gate?.votes, pay.calls]).toEqual(["open", [], []]);
      expect(gate?.denied).toMatchObject({ rule: "flaky" });
      mend();
      await t.approve(id);
      expect([(await t.rest(id)).state, pay.calls.length]).toEqual(["completed", 1]);
      expect((await t.kernel.replay(id)).difference).toBeNull();
    },
  );

  it.each(failures)(
    "and %s before the call: the step ends with a code and its operator is never called; what is regenerated asks anew",
    async (_how, answer) => {
      const { rule, mend } = failing(answer);
      const pay = counted("Pay.Out", { effect: "write_draft" });
      const gate = { reason: "look", expiry: { after_ms: hour, action: "allow" as const } };
      await using t = await createTestKernel({ capabilities: [oneStep(pay, { ...looked, gate })], policies: [rule] });
      const { workflow_id: id } = await t.run(intentType);
      await t.clock.advance(hour);
      await t.clock.advance(5_000);
      const { state, error } = await t.rest(id);
      expect([state, error?.code, pay.calls]).toEqual(["failed", "T5_POLICY_DENIED", []]);
      expect((await t.kernel.replay(id)).difference).toBeNull();
      mend();
      const { workflow_id: again } = await t.kernel.retry(id, { ...testCaller, mode: "regenerate", step_ids: ["s1"] });
      expect((await t.rest(again)).state).toBe("waiting_for_user");
      await t.approve(again);
      expect([(await t.rest(again)).state, pay.calls.length]).toEqual(["completed", 1]);
    },
  );

  it("and hangs while the kernel stops: the vote is answered, and the gate is there for the next process", async () => {
    const path = newPath();
    const { rule, mend } = failing(() => new Promise(() => undefined));
    const pay = counted("Pay.Out", { effect: "write_draft" });
    const options = { capabilities: [oneStep(pay, looked)], policies: [rule] };
    const one = await openProcess(path, options);
    const { workflow_id: id } = await one.run(intentType);
    await one.clock.advance(minute);
    const vote = refusalOf(one.approve(id));
    await one.clock.settle();
    await one.kernel.stop({ drainMs: 0 });
    expect((await vote).code).toBe("T0_KERNEL_STOPPED");
    mend();
    await using two = await openProcess(path, { ...options, at: hour });
    await two.approve(id);
    expect([(await two.rest(id)).state, pay.calls.length]).toEqual(["completed", 1]);
  });
});

describe("what was judged more than once", () => {
  const open = async (more: object = {}, policies: readonly object[] = [night]) => {
    const pay = counted("Pay.Out", { effect: "write_draft" });
    const t = await createTestKernel({
      capabilities: [oneStep(pay, { ...looked, ...more })],
      policies: policies as never,
      clock: createVirtualClock(Date.UTC(2026, 0, 5, 12)),
    });
    const { workflow_id: id } = await t.run(intentType);
    return { t, id, pay };
  };
  const moments = async (t: TestKernel, id: string) => {
    const events = await eventsOf(t, id);
    return events
      .filter(({ event_type, payload }) => event_type === "POLICY_DECIDED" && payload["stage"] === "action")
      .map(({ payload }) => payload["moment"]);
  };

  it("says at which moment it was judged in event, explanation and audit, and no line stands there twice", async () => {
    const { t, id } = await open({ gate: { reason: "look", quorum: { approvals: 2 } } });
    await using _t = t;
    await t.clock.advance(minute);
    await t.approve(id);
    await t.clock.advance(minute);
    const bob = { tenant_id: 1, principal: { type: "user", id: "bob", role: "user" } };
    await t.kernel.decideGate(id, { ...bob, gate_id: "gate-s1", decision: "approve" });
    await t.rest(id);
    expect(await moments(t, id)).toEqual([undefined, "decision", "decision"]);
    const { why } = await t.kernel.explain(id);
    const judged = why.filter((line) => line.includes("policy on"));
    expect(judged.filter((line) => line.includes("asked again at a decision"))).toHaveLength(2);
    expect(judged.filter((line) => line.includes("asked whether user bob may approve"))).toHaveLength(1);
    const entries = await t.kernel.audit(id);
    expect(entries.map(({ stage, moment, outcome }) => [stage, moment, outcome.type])).toEqual(
      expect.arrayContaining([
        ["action", undefined, "AutoApproved"],
        ["gate", undefined, "AutoApproved"],
        ["action", "decision", "AutoApproved"],
      ]),
    );
  });

  it("before the call says so", async () => {
    const { t, id } = await open({ gate: { reason: "look", expiry: { after_ms: hour, action: "allow" } } });
    await using _t = t;
    await t.clock.advance(hour);
    await t.rest(id);
    expect(await moments(t, id)).toEqual([undefined, "call"]);
    const { why } = await t.kernel.explain(id);
    expect(why.filter((line) => line.includes("asked again before the call: allowed"))).toHaveLength(1);
    expect((await t.kernel.verify()).ok).toBe(true);
  });

  it("an edit says that it was judged at a decision", async () => {
    const { t, id } = await open();
    await using _t = t;
    await t.approve(id, "gate-s1", { edit: { sum: 8 } });
    await t.rest(id);
    expect((await moments(t, id)).slice(0, 1)).toEqual([undefined]);
    expect(new Set((await moments(t, id)).slice(1))).toEqual(new Set(["decision"]));
    expect((await t.kernel.replay(id)).difference).toBeNull();
  });
});

describe("a gate whose call policy denies now", () => {
  /** A kernel of before, and one whose release knows the operator as one that sends outside. */
  const release = async () => {
    const path = newPath();
    const quiet = counted("Pay.Out", { effect: "write_draft" });
    const one = await openProcess(path, { capabilities: [oneStep(quiet, looked)] });
    const { workflow_id: id } = await one.run(intentType);
    await one.kernel.stop();
    const sending = counted("Pay.Out", { effect: "external_send" });
    const two = await openProcess(path, { capabilities: [oneStep(sending, looked)], at: hour });
    return { id, two, sending };
  };

  it("refuses an approval with the rule and a next step; view, list and faces show it; rejecting ends it", async () => {
    const { id, two, sending } = await release();
    await using t = two;
    const refused = await refusalOf(t.approve(id));
    expect(refused).toMatchObject({ code: "T5_POLICY_DENIED", detail: { policies: ["default.external_send"] } });
    expect(refused.message).toContain("gate-s1 stays open: reject it, or approve it once policy allows it");
    const denied = { rule: "default.external_send", reason: expect.stringContaining("external_send") };
    const [listed] = await t.kernel.gates({});
    const [shown] = (await t.kernel.workflow(id)).gates;
    expect([listed?.denied, shown?.denied]).toMatchObject([denied, denied]);
    expect(listed?.checked).toBe(true);
    const facts = factsWithout(describeGate(shown as NonNullable<typeof shown>));
    expect(facts.find(({ name }) => name === "denied")?.text).toContain('policy "default.external_send"');
    expect(shown?.consequences.approve).toContain("Refused for as long as policy denies the call");
    expect((await t.kernel.verify()).ok).toBe(true);
    expect((await t.kernel.replay(id)).difference).toBeNull();
    await t.reject(id);
    expect([(await t.rest(id)).state, sending.calls]).toEqual(["cancelled", []]);
  });

  it("can be cancelled", async () => {
    const { id, two, sending } = await release();
    await using t = two;
    await refusalOf(t.approve(id));
    await t.kernel.cancel(id, testCaller);
    expect([(await t.rest(id)).state, sending.calls]).toEqual(["cancelled", []]);
  });

  it("does not say so of an edit alone that policy denies", async () => {
    const small = definePolicy({
      name: "small",
      stages: ["action"],
      evaluate: ({ subject }) =>
        JSON.stringify(subject.payload) === '{"sum":9}' ? null : { decision: "DENY", reason: "nine alone" },
    });
    const pay = counted("Pay.Out", { effect: "write_draft" });
    await using t = await createTestKernel({ capabilities: [oneStep(pay, looked)], policies: [small] });
    const { workflow_id: id } = await t.run(intentType);
    expect((await refusalOf(t.approve(id, "gate-s1", { edit: { sum: 8 } }))).code).toBe("T5_POLICY_DENIED");
    expect((await t.kernel.workflow(id)).gates[0]?.denied).toBeUndefined();
    await t.approve(id);
    expect((await t.rest(id)).state).toBe("completed");
  });

  it("says so no more once policy allows it, is revised, or ends", async () => {
    const pay = counted("Pay.Out", { effect: "write_draft" });
    await using t = await createTestKernel({
      capabilities: [oneStep(pay, looked)],
      policies: [night],
      clock: createVirtualClock(Date.UTC(2026, 0, 5, 12)),
    });
    const { workflow_id: id } = await t.run(intentType);
    const denied = async () => (await t.kernel.workflow(id)).gates[0]?.denied?.rule;
    expect(await denied()).toBeUndefined();
    await t.clock.advance(11 * hour);
    await refusalOf(t.approve(id));
    expect(await denied()).toBe("night");
    await t.clock.advance(9 * hour);
    await t.approve(id);
    expect([await denied(), (await t.rest(id)).state]).toEqual([undefined, "completed"]);
    expect((await t.kernel.verify()).ok).toBe(true);
  });
});
