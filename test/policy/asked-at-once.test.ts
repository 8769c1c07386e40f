/** Judgements of votes within one instant: each knows what has changed since the last one. */
import { describe, expect, it } from "vitest";
import { definePolicy } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { counted, intentType, oneStep, packageOf, planStep, refusalOf } from "../journey/parts.ts";

const looked = { gate: { reason: "look" }, params: { sum: 9 } };

describe("two approvals that policy is asked about at once", () => {
  it("are each judged with the approvals that stand when they count", async () => {
    const asked: (number | undefined)[] = [];
    const both = Promise.withResolvers<void>();
    const one = definePolicy({
      name: "one",
      stages: ["gate"],
      async evaluate({ subject: { approvals } }) {
        asked.push(approvals?.length);
        if (asked.length === 2) both.resolve();
        await both.promise;
        return approvals === undefined ? null : { decision: "DENY", reason: "another has approved it" };
      },
    });
    const pay = counted("Pay.Out", { effect: "write_draft" });
    const gate = { reason: "look", quorum: { approvals: 2 } };
    await using t = await createTestKernel({ capabilities: [oneStep(pay, { ...looked, gate })], policies: [one] });
    const { workflow_id: id } = await t.run(intentType);
    const votes = [1, 2].map((n) =>
      t.kernel.decideGate(id, {
        tenant_id: testCaller.tenant_id,
        principal: { type: "user", id: n, role: "user" },
        decision: "approve",
      }),
    );
    const refused = (await Promise.allSettled(votes)).filter(({ status }) => status === "rejected");
    expect(refused).toMatchObject([{ reason: { error: { code: "T5_POLICY_DENIED" } } }]);
    expect(asked).toEqual([undefined, undefined, 1]);
    expect((await t.kernel.workflow(id)).gates[0]?.votes).toHaveLength(1);
    expect((await t.kernel.replay(id)).difference).toBeNull();
  });
});

describe("a vote within the millisecond of an earlier judgement of its call", () => {
  const vote = (t: TestKernel, id: string, person: number) =>
    t.kernel.decideGate(id, {
      tenant_id: testCaller.tenant_id,
      principal: { type: "user", id: person, role: "user" },
      decision: "approve",
    });

  it("is judged with the approval that was counted since", async () => {
    const asked: (number | undefined)[] = [];
    const one = definePolicy({
      name: "one",
      stages: ["action"],
      evaluate({ subject: { approvals } }) {
        asked.push(approvals?.length);
        return approvals === undefined ? null : { decision: "DENY", reason: "another has approved it" };
      },
    });
    const pay = counted("Pay.Out", { effect: "write_draft" });
    const gate = { reason: "look", quorum: { approvals: 2 } };
    await using t = await createTestKernel({ capabilities: [oneStep(pay, { ...looked, gate })], policies: [one] });
    const { workflow_id: id } = await t.run(intentType);
    await vote(t, id, 1);
    expect((await refusalOf(vote(t, id, 2))).code).toBe("T5_POLICY_DENIED");
    // The first vote is judged as the opening of the gate was, of the same payload in the same millisecond.
    expect(asked).toEqual([undefined, 1]);
    expect([(await t.kernel.workflow(id)).gates[0]?.votes.length, pay.calls]).toEqual([1, []]);
    expect((await t.kernel.replay(id)).difference).toBeNull();
  });

  it("is judged with the money that another step has spent since", async () => {
    const asked: (number | undefined)[] = [];
    const frugal = definePolicy({
      name: "frugal",
      stages: ["action"],
      evaluate({ subject: { operator }, spent }) {
        if (operator !== "Pay.Out") return null;
        asked.push(spent);
        return (spent ?? 0) > 1 ? { decision: "DENY", reason: "too much is spent" } : null;
      },
    });
    const begun = Promise.withResolvers<void>();
    const pay = counted("Pay.Out", { effect: "write_draft" });
    const slow = counted("Slow.Work", { effect: "none" }, () => begun.promise);
    const steps = [planStep("s1", pay, looked), planStep("s2", slow, { estimated_cost: 2 })];
    await using t = await createTestKernel({ capabilities: [packageOf([pay, slow], steps)], policies: [frugal] });
    const id = await t.submit(intentType);
    await t.clock.settle();
    begun.resolve();
    await t.clock.settle();
    expect((await refusalOf(vote(t, id, 1))).code).toBe("T5_POLICY_DENIED");
    expect(asked).toEqual([0, 2]);
    expect((await t.kernel.replay(id)).difference).toBeNull();
  });
});
