/** Grants: what an approver approves ahead, for whom it counts, and where it ends. */
import { describe, expect, it } from "vitest";
import { definePolicy, type GateSpec, type GrantRequest } from "../../src/index.ts";
import { describeGate } from "../../src/protocol/describe-gate.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { ledgerPaths, openProcess } from "../recovery/shared-file.ts";
import { type Person, person, requester } from "./people.ts";
import { counted, eventsOf, gateOf, intent, refusalOf, story } from "./story.ts";

const tenant_id = testCaller.tenant_id;
const hour = 3_600_000;
const freshPath = ledgerPaths();
const [ann, bob] = [person("ann"), person("bob")];

/** One payment behind a gate, of the amount that is asked for, at a cost of 5; two at once if `both` is asked for. */
function paying(gate: Partial<GateSpec> = {}) {
  const send = counted("Bank.Pay", { effect: "write_draft" });
  const plan = ({ input }: { readonly input: unknown }) => {
    const {
      cents = 1,
      both = false,
      cost = 5,
    } = input as { readonly [key in "cents" | "cost"]?: number } & {
      readonly both?: boolean;
    };
    const ids = both ? ["s1", "s2"] : ["s1"];
    const steps = ids.map((step_id) => ({
      ...{ step_id, name: step_id, operator: "Bank.Pay", estimated_cost: cost, gate: { reason: "money", ...gate } },
      params: { order: { cents } },
    }));
    return { reasoning: "as asked", steps };
  };
  return { capabilities: [story([send], [], { plan } as never)], paid: () => send.calls.length };
}

const open = async (gate: Partial<GateSpec> = {}, options: object = {}) => {
  const { capabilities, paid } = paying(gate);
  const t = await createTestKernel({ capabilities, ...options });
  const { workflow_id: id } = await t.run(intent);
  return { t, id, paid, [Symbol.asyncDispose]: () => t.kernel.stop({ drainMs: 0 }) };
};
type Terms = Partial<Pick<GrantRequest, "when" | "until" | "uses" | "money" | "reason">>;
const give = ({ kernel }: TestKernel, id: string, principal: Person, terms: Terms = { uses: 2 }) =>
  kernel.grant({ tenant_id, principal, workflow_id: id, gate_id: "gate-s1", ...terms });
const later = (t: TestKernel): string => new Date(t.clock.now() + hour).toISOString();
const stateOf = async (t: TestKernel, inputs: object = {}) => (await t.run(intent, inputs as never)).state;
const asks = "waiting_for_user";

describe("a grant", () => {
  it("[GAT-02] approves in the row that opens a gate, in its author's name, as often as it says", async () => {
    await using fixture = await open();
    const { t, id, paid } = fixture;
    const { grant_id, status } = await give(t, id, ann, { until: later(t), uses: 2, reason: "small sums" });
    expect([status, (await give(t, id, ann, { until: later(t), uses: 2 })).grant_id]).toEqual(["granted", grant_id]);
    const { workflow_id, state } = await t.run(intent);
    expect([state, paid()]).toEqual(["completed", 1]);
    const gate = await gateOf(t, workflow_id, "gate-s1");
    expect(gate.decision).toMatchObject({ principal: { id: "ann" }, grant: { grant_id, within: { invocations: 2 } } });
    const facts = describeGate(gate).flatMap((section) => section.facts);
    expect(facts.find(({ name }) => name === "by grant")?.text).toContain(grant_id);
    const row = (await eventsOf(t, workflow_id)).filter(({ event_type: type }) => /^GATE_|^USER_/.test(type));
    expect(row.map(({ event_type }) => event_type)).toEqual(["GATE_OPENED", "USER_APPROVED"]);
    expect(new Set(row.map(({ timestamp }) => timestamp)).size).toBe(1);
    expect((await t.kernel.audit(workflow_id)).at(-1)).toMatchObject({
      ...{ outcome: { type: "AutoApproved" }, decided_by: "ann", grant_id },
    });
    expect(JSON.stringify(await t.kernel.explain(workflow_id))).toContain(`approved gate-s1 ahead, by ${grant_id}`);
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
    expect([await stateOf(t), await stateOf(t), paid()]).toEqual(["completed", asks, 2]);
    expect(await t.kernel.grants({}, testCaller)).toMatchObject([
      { grant_id, by: { id: "ann" }, operator: "Bank.Pay", used: { uses: 2, money: 10 } },
    ]);
    expect((await t.kernel.verify()).broken).toEqual([]);
  });

  it("counts its uses over steps that ask at the same moment, and its sum over their costs", async () => {
    await using fixture = await open();
    const { t, id } = fixture;
    await give(t, id, ann, { until: later(t), money: 5 });
    const { workflow_id } = await t.run(intent, { both: true });
    const { gates } = await t.kernel.workflow(workflow_id);
    expect(gates.map(({ status }) => status).sort()).toEqual(["approved", "open"]);
  });

  it("counts a use whose row is not written when the next gate of its workflow opens", async () => {
    const evaluate = async ({ subject }: { readonly subject: { readonly name: string } }) => {
      if (subject.name === "s2") await new Promise((resolve) => setImmediate(resolve));
      return null;
    };
    await using fixture = await open({}, { policies: [definePolicy({ name: "slow", stages: ["action"], evaluate })] });
    const { t, id } = fixture;
    await give(t, id, ann, { until: later(t), uses: 1 });
    const { workflow_id } = await t.run(intent, { both: true });
    const { gates } = await t.kernel.workflow(workflow_id);
    expect(gates.map(({ status }) => status).sort()).toEqual(["approved", "open"]);
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it("covers by a sum alone only calls that state a cost, and is not given at one that states none", async () => {
    await using fixture = await open();
    const { t, id } = fixture;
    await give(t, id, ann, { until: later(t), money: 50 });
    expect([await stateOf(t), await stateOf(t, { cost: 0 })]).toEqual(["completed", asks]);
    const { workflow_id } = await t.run(intent, { cost: 0 });
    expect((await refusalOf(give(t, workflow_id, ann, { money: 50 }))).message).toContain("states no cost");
  });

  it("covers the params that its conditions describe, its own workflow alone, and no time after its end", async () => {
    await using fixture = await open();
    const { t, id } = fixture;
    const when = [{ value: "order.cents", at_most: 10 }];
    await give(t, id, ann, { uses: 9 });
    expect(await stateOf(t, { cents: 5 })).toBe(asks);
    await give(t, id, ann, { when, until: later(t), uses: 9 });
    expect([await stateOf(t, { cents: 10 }), await stateOf(t, { cents: 11 })]).toEqual(["completed", asks]);
    await t.clock.advance(hour);
    expect(await stateOf(t, { cents: 5 })).toBe(asks);
  });

  it("ends when it is revoked, in every process at once, and is given over two processes once", async () => {
    const path = freshPath();
    const { capabilities } = paying();
    await using one = await openProcess(path, { capabilities });
    await using other = await openProcess(path, { capabilities });
    const { workflow_id: id } = await one.run(intent);
    const { grant_id } = await give(one, id, ann, { until: later(one), uses: 1 });
    await other.clock.advance(60_000);
    expect([await stateOf(other), await stateOf(one)]).toEqual(["completed", asks]);
    await one.kernel.revokeGrant({ tenant_id, principal: bob, grant_id });
    const second = await give(one, id, ann, { until: later(one), uses: 9 });
    await other.clock.advance(60_000);
    await one.kernel.revokeGrant({ tenant_id, principal: bob, grant_id: second.grant_id });
    expect([await stateOf(other), await one.kernel.grants({}, testCaller)]).toEqual([asks, []]);
    const again = one.kernel.revokeGrant({ tenant_id, principal: bob, grant_id });
    expect((await refusalOf(again)).code).toBe("T5_GRANT_NOT_FOUND");
  });

  it.each<readonly [string, Partial<GateSpec>]>([
    ["more than one approval", { quorum: { approvals: 2 } }],
    ["several groups", { stages: [{ roles: ["user"] }, { roles: ["admin"] }] }],
  ])("[GAT-07] is refused at a gate that one plain approval does not close: %s", async (why, gate) => {
    await using fixture = await open(gate);
    const refused = await refusalOf(give(fixture.t, fixture.id, ann));
    expect([refused.code, refused.message]).toEqual(["T5_GRANT_REFUSED", expect.stringContaining(why)]);
  });

  it("[GAT-07] has the limits of a vote of its author: separation, roles, types, and policy at the gate", async () => {
    const strict = definePolicy({
      name: "not ann",
      stages: ["gate"],
      evaluate: ({ subject }) =>
        subject.tags.includes("principal:ann") && (subject.payload as { order: { cents: number } }).order.cents > 10
          ? { decision: "DENY", reason: "too much for ann" }
          : null,
    });
    await using fixture = await open({ separation: true, roles: ["user"] }, { policies: [strict] });
    const { t, id } = fixture;
    expect((await refusalOf(give(t, id, requester))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await refusalOf(give(t, id, person("cy", "admin")))).code).toBe("T5_AUTHZ_FORBIDDEN");
    await give(t, id, ann, { until: later(t), uses: 9 });
    expect([await stateOf(t, { cents: 11 }), await stateOf(t, { cents: 10 })]).toEqual([asks, "completed"]);
    const own = await t.submit(intent, {}, { principal: ann });
    expect((await t.rest(own)).state).toBe(asks);
  });

  it("ends with a change of policy, and of the rule that asked", async () => {
    const path = freshPath();
    const first = paying();
    const grant_id = await (async () => {
      await using t = await openProcess(path, { capabilities: first.capabilities });
      const { workflow_id: id } = await t.run(intent);
      const given = await give(t, id, ann, { until: later(t), uses: 9 });
      expect(await stateOf(t)).toBe("completed");
      return given.grant_id;
    })();
    const changes: readonly object[] = [
      { capabilities: first.capabilities, policyVersion: "2" },
      { capabilities: paying({ roles: ["user"] }).capabilities },
    ];
    for (const options of changes) {
      await using t = await openProcess(path, options as never);
      expect([await stateOf(t), (await t.kernel.grants({}, testCaller))[0]?.grant_id]).toEqual([asks, grant_id]);
    }
  });

  it.each<readonly [Terms, string]>([
    [{}, "uses: a grant says how many calls"],
    [{ uses: 1, until: "2020-01-01T00:00:00Z" }, "is past"],
    [{ uses: 1, when: [{ value: "order" }] }, "it tests nothing"],
    [{ uses: 1, when: [{ value: "order.*", equals: 5 }] }, "it is the path of a param"],
    [{ uses: 0 }, "uses"],
  ])("is refused as %j", async (terms, why) => {
    await using fixture = await open();
    const refused = await refusalOf(give(fixture.t, fixture.id, ann, terms));
    expect([refused.code, refused.message]).toEqual(["T0_VALIDATION_SCHEMA_MISMATCH", expect.stringContaining(why)]);
  });
});
