/** Rules that read the time are asked when a gate opens, when somebody approves, and before the call begins. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { definePolicySet, KernelErrorException } from "../../src/index.ts";
import { createTestKernel, createVirtualClock, type TestKernel } from "../../src/testing/index.ts";
import { counted, eventsOf, intentType, ofType, oneStep, packageOf, planStep, refusalOf } from "../journey/parts.ts";

const hour = 3_600_000;
const day = Date.UTC(2026, 0, 5, 12);
const atNight = (decision: "DENY" | "REQUIRE_HUMAN_APPROVAL") =>
  definePolicySet({
    version: "night",
    rules: [
      {
        name: "night",
        stages: ["action"],
        when: { times: { between: ["22:00", "06:00"] } },
        decision,
        reason: "nothing at night",
      },
    ],
  });

interface World {
  readonly gate: object;
  readonly policies?: readonly ReturnType<typeof atNight>[];
  readonly at?: number;
}
async function open({ gate, policies = [atNight("DENY")], at = day }: World) {
  const pay = counted("Pay.Out", { effect: "write_draft" });
  const capability = oneStep(pay, { params: { sum: 9 }, gate: { reason: "look", ...gate } });
  const t = await createTestKernel({ capabilities: [capability], policies, clock: createVirtualClock(at) });
  const { workflow_id: id } = await t.run(intentType);
  return { t, pay, id };
}
/** Lets pass what a kernel refuses, and nothing else. */
const isRefused = (thrown: unknown): void => {
  if (!(thrown instanceof KernelErrorException)) throw thrown;
};
const actions = async (t: TestKernel, id: string) =>
  ofType(await eventsOf(t, id), "POLICY_DECIDED")
    .filter(({ payload }) => payload["stage"] === "action")
    .map(({ payload }) => payload["decision"]);

describe("a rule that denies at night", () => {
  it("refuses an approval at night with its reason, records it once, and the gate is approved by day", async () => {
    const { t, pay, id } = await open({ gate: {} });
    await using _t = t;
    await t.clock.advance(11 * hour);
    const refused = await refusalOf(t.approve(id));
    expect([refused.code, refused.message]).toEqual(["T5_POLICY_DENIED", expect.stringContaining("nothing at night")]);
    expect((await t.kernel.workflow(id)).gates[0]?.status).toBe("open");
    await t.clock.advance(hour);
    expect((await refusalOf(t.approve(id))).code).toBe("T5_POLICY_DENIED");
    expect([await actions(t, id), pay.calls]).toEqual([["ALLOW", "DENY"], []]);
    await t.clock.advance(8 * hour);
    await t.approve(id);
    expect((await t.rest(id)).state).toBe("completed");
    expect(pay.calls).toHaveLength(1);
    expect(await actions(t, id)).toEqual(["ALLOW", "DENY", "ALLOW"]);
    expect((await t.kernel.replay(id)).difference).toBeNull();
  });

  it("takes a rejection at night", async () => {
    const { t, pay, id } = await open({ gate: {} });
    await using _t = t;
    await t.clock.advance(11 * hour);
    await t.reject(id);
    expect([(await t.rest(id)).state, pay.calls]).toEqual(["cancelled", []]);
  });

  it("refuses an edit at night, as what the edit makes is judged then", async () => {
    const { t, pay, id } = await open({ gate: {} });
    await using _t = t;
    await t.clock.advance(11 * hour);
    expect((await refusalOf(t.approve(id, "gate-s1", { edit: { sum: 8 } }))).code).toBe("T5_POLICY_DENIED");
    expect([(await t.kernel.workflow(id)).gates[0]?.status, pay.calls]).toEqual(["open", []]);
  });

  it("refuses the vote of a quorum that is given at night", async () => {
    const { t, id } = await open({ gate: { quorum: { approvals: 2 } } });
    await using _t = t;
    await t.approve(id);
    await t.clock.advance(11 * hour);
    const bob = { tenant_id: 1, principal: { type: "user", id: "bob", role: "user" } };
    const vote = t.kernel.decideGate(id, { ...bob, gate_id: "gate-s1", decision: "approve" });
    expect((await refusalOf(vote)).code).toBe("T5_POLICY_DENIED");
    expect((await t.kernel.workflow(id)).gates[0]?.votes).toHaveLength(1);
  });

  it("denies the step where an expiry at night would let it go on", async () => {
    const { t, pay, id } = await open({ gate: { expiry: { after_ms: 11 * hour, action: "allow" } } });
    await using _t = t;
    await t.clock.advance(11 * hour);
    const { state, status, error } = await t.rest(id);
    expect([state, status, error?.code]).toEqual(["failed", "blocked", "T5_POLICY_DENIED"]);
    expect([await actions(t, id), pay.calls]).toEqual([["ALLOW", "DENY"], []]);
    expect((await t.kernel.replay(id)).difference).toBeNull();
  });

  it("lets an expiry by day go on, on what policy says then", async () => {
    const { t, pay, id } = await open({ gate: { expiry: { after_ms: 2 * hour, action: "allow" } } });
    await using _t = t;
    await t.clock.advance(2 * hour);
    expect((await t.rest(id)).state).toBe("completed");
    expect([await actions(t, id), pay.calls.length]).toEqual([["ALLOW", "ALLOW"], 1]);
  });
});

describe("a rule that wants a person at night", () => {
  const wants = [atNight("REQUIRE_HUMAN_APPROVAL")];

  it("opens the gate again where an expiry at night would let the call go on, for its own reason", async () => {
    const { t, pay, id } = await open({ gate: { expiry: { after_ms: 11 * hour, action: "allow" } }, policies: wants });
    await using _t = t;
    await t.clock.advance(11 * hour);
    const { gates } = await t.rest(id);
    expect([gates[0]?.status, gates[0]?.reasons.map(({ reason }) => reason), pay.calls]).toEqual([
      "open",
      ["nothing at night", "look"],
      [],
    ]);
    expect(await actions(t, id)).toEqual(["ALLOW", "REQUIRE_HUMAN_APPROVAL"]);
    await t.approve(id, "gate-s1", { payload_digest: gates[0]?.payload_digest });
    expect((await t.rest(id)).state).toBe("completed");
    expect(pay.calls).toHaveLength(1);
    expect((await t.kernel.replay(id)).difference).toBeNull();
  });

  it("refuses a vote at a gate that does not name it, and is satisfied at the gate that does", async () => {
    const { t, pay, id } = await open({ gate: {}, policies: wants });
    await using _t = t;
    await t.clock.advance(11 * hour);
    const refused = await refusalOf(t.approve(id));
    expect([refused.code, refused.message]).toEqual(["T5_GATE_CONFLICT", expect.stringContaining("look again")]);
    const [gate] = (await t.kernel.workflow(id)).gates;
    expect([gate?.status, gate?.reasons.map(({ reason }) => reason), pay.calls]).toEqual([
      "open",
      ["nothing at night", "look"],
      [],
    ]);
    await t.clock.advance(60_000);
    await t.approve(id, "gate-s1", { payload_digest: gate?.payload_digest });
    expect((await t.rest(id)).state).toBe("completed");
    expect([await actions(t, id), pay.calls.length]).toEqual([
      ["ALLOW", "REQUIRE_HUMAN_APPROVAL", "REQUIRE_HUMAN_APPROVAL"],
      1,
    ]);
    expect((await t.kernel.replay(id)).difference).toBeNull();
  });

  it("is met by the expiry of a gate that it asked for itself", async () => {
    const night = 11 * hour;
    const gate = { expiry: { after_ms: hour, action: "allow" as const } };
    const { t, pay, id } = await open({ gate, policies: wants, at: day + night });
    await using _t = t;
    await t.clock.advance(hour);
    expect((await t.rest(id)).state).toBe("completed");
    expect([await actions(t, id), pay.calls.length]).toEqual([["REQUIRE_HUMAN_APPROVAL", "REQUIRE_HUMAN_APPROVAL"], 1]);
  });
});

describe("an approval by day", () => {
  it("does not carry a call that had to wait for its place until night", async () => {
    const end = Promise.withResolvers<object>();
    const pay = counted("Pay.Out", { effect: "write_draft" });
    const slow = counted("Slow.Work", { timeoutSec: 86_400 }, () => end.promise);
    const steps = [planStep("s1", pay, { gate: { reason: "look" } }), planStep("s2", slow)];
    await using t = await createTestKernel({
      capabilities: [packageOf([pay, slow], steps)],
      policies: [atNight("DENY")],
      limits: { maxConcurrentSteps: 1 },
      clock: createVirtualClock(day),
    });
    const id = await t.submit(intentType);
    await t.clock.settle();
    await t.approve(id);
    expect([slow.calls.length, pay.calls]).toEqual([1, []]);
    await t.clock.advance(11 * hour);
    end.resolve({});
    const { state, error } = await t.rest(id);
    expect([state, error?.code, pay.calls]).toEqual(["failed", "T5_POLICY_DENIED", []]);
    expect((await t.kernel.replay(id)).difference).toBeNull();
  });
});

describe("whenever gates open, people decide and time passes", () => {
  const isNight = (at: number): boolean => [22, 23, 0, 1, 2, 3, 4, 5].includes(new Date(at).getUTCHours());
  const move = fc.oneof(
    fc.integer({ min: 1, max: 23 }).map((hours) => ({ do: "wait", hours }) as const),
    fc.constant({ do: "approve" } as const),
    fc.constant({ do: "edit" } as const),
  );

  it("no call begins at an instant for which policy denies it, and the record replays", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 23 }),
        fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
        fc.array(move, { minLength: 1, maxLength: 6 }),
        async (hour, expiresAfter, moves) => {
          const expiry =
            expiresAfter === undefined
              ? {}
              : { expiry: { after_ms: expiresAfter * 3_600_000, action: "allow" as const } };
          const called: number[] = [];
          const pay = counted("Pay.Out", { effect: "write_draft" }, () => ({ nth: called.push(t.clock.now()) }));
          const capability = oneStep(pay, { params: { sum: 9 }, gate: { reason: "look", ...expiry } });
          const clock = createVirtualClock(Date.UTC(2026, 0, 5, hour));
          await using t = await createTestKernel({ capabilities: [capability], policies: [atNight("DENY")], clock });
          const { workflow_id: id } = await t.run(intentType);
          for (const one of moves) {
            if (one.do === "wait") await t.clock.advance(one.hours * 3_600_000);
            else
              await t.approve(id, "gate-s1", one.do === "edit" ? { edit: { sum: clock.now() } } : {}).catch(isRefused);
          }
          expect(called.filter(isNight)).toEqual([]);
          expect((await t.kernel.replay(id)).difference).toBeNull();
        },
      ),
      { numRuns: 60 },
    );
  });
});
