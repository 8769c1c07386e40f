/** Decisions of Cedar in a running kernel: recorded, shown, explained, replayed and asked again, as others are. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { definePolicySet, type Policies } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { cedar } from "../../src/packages/policies/cedar/index.ts";
import { createTestKernel, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { runHere } from "../cli/command-line.ts";
import { counted, gateOf, intent, payloads, refusalOf, step, story } from "../gates/story.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { askPast, baseSet, decisionsOf, makePast } from "../policy/past.ts";
import { pastRules } from "./past-rules.ts";
import { approve, open } from "./shop.ts";

const orders = `
@id("base")
permit(principal, action, resource);

@id("orders.large") @require_approval("orders above 5000 need a person") @confirm("type")
permit(principal, action == Action::"Order.Buy", resource) when { resource.payload.total > 5000 };

@id("orders.second") @reason("above 10000 the second approval is finance's")
forbid(principal, action == Action::"approve", resource)
when { resource.payload.total > 10000 && context.approvals.count == 1 && !context.approvals.roles.contains("finance") }
unless { principal in Role::"finance" };

@id("orders.own") @reason("who asks for an order does not approve it")
forbid(principal, action == Action::"approve", resource) when { principal == context.requester };
`;
const stages = ["plan", "action", "gate"] as const;
const order = cedar({ policies: orders, stages });

describe("a decision of Cedar's", () => {
  it("is recorded with the policies that determined it and the version of their texts, and replays", async () => {
    const { t, buy } = await open([order]);
    await using _ = t;
    const { workflow_id, state } = await t.run(intent, { total: 9000 });
    expect(state).toBe("waiting_for_user");
    const [planned, decided] = await payloads(t, workflow_id, "POLICY_DECIDED");
    expect(planned).toMatchObject({ stage: "plan", decision: "ALLOW", policies: ["base"] });
    expect(decided).toMatchObject({
      decision: "REQUIRE_HUMAN_APPROVAL",
      policies: ["base", "orders.large"],
      decided_by: "orders.large",
      reason: "orders above 5000 need a person",
      policy_version: `${order.version}+default-1`,
    });
    const gate = await gateOf(t, workflow_id, "gate-buy");
    expect(gate.policy_version).toBe(`${order.version}+default-1`);
    expect(gate.reasons[0]).toMatchObject({ source: "policy", rule: "base, orders.large" });
    expect(gate.confirm).toBe("type");
    expect(await refusalOf(approve(t, workflow_id, String(testCaller.principal.id), "user"))).toMatchObject({
      code: "T5_POLICY_DENIED",
      detail: { policies: ["orders.own"] },
    });
    await approve(t, workflow_id, "mia", "manager");
    await t.rest(workflow_id);
    expect(buy.calls).toHaveLength(1);
    const { why } = await t.kernel.explain(workflow_id);
    expect(why.join("\n")).toContain("orders.large");
    expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
  });

  it("that denies ends the step with the reason of the policy", async () => {
    const never = cedar({ policies: '@id("never") @reason("we buy nothing") forbid(principal, action, resource);' });
    const { t } = await open([never]);
    await using _ = t;
    const ended = await t.run(intent, { total: 1 });
    expect([ended.state, ended.error?.code, ended.error?.message]).toEqual([
      "failed",
      "T5_POLICY_DENIED",
      expect.stringContaining("we buy nothing"),
    ]);
  });

  it("stands below a denial and above an allowance of other rules", async () => {
    const rule = (decision: string) =>
      definePolicySet({ version: "1", rules: [{ name: "other", stages: ["action"], decision, reason: "as data" }] });
    for (const [decision, state] of [
      ["DENY", "failed"],
      ["ALLOW", "waiting_for_user"],
    ] as const) {
      const { t } = await open([rule(decision), order]);
      await using _ = t;
      expect((await t.run(intent, { total: 9000 })).state).toBe(state);
    }
  });
});

describe("approvals so far", () => {
  const quorum = { gate: { reason: "two look", quorum: { approvals: 2, rejections: 1 } } };

  it("let a policy ask that the second approval above 10000 is given by finance", async () => {
    const { t, buy } = await open([order], quorum);
    await using _ = t;
    const { workflow_id } = await t.run(intent, { total: 20_000 });
    await approve(t, workflow_id, "mia", "manager");
    expect(await refusalOf(approve(t, workflow_id, "max", "manager"))).toMatchObject({
      code: "T5_POLICY_DENIED",
      detail: { policies: ["orders.second"] },
    });
    await approve(t, workflow_id, "fay", "finance");
    await t.rest(workflow_id);
    expect(buy.calls).toHaveLength(1);
    expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
  });

  it("are those of the question when it is asked again, for every stage", async () => {
    const { t } = await open([order], quorum);
    await using _ = t;
    for (const total of [9000, 20_000]) {
      const { workflow_id } = await t.run(intent, { total });
      await approve(t, workflow_id, "mia", "manager");
      await t.clock.advance(1000);
      await approve(t, workflow_id, "fay", "finance");
      await t.rest(workflow_id);
    }
    expect((await askPast(t, { policies: [order], names: true })).report).toMatchObject({ differing: 0, unknown: 0 });
    const first = '@id("first") @reason("the first was not finance") forbid(principal, action, resource)';
    const stricter = cedar({
      policies: `${orders}\n${first} when { context.approvals.count == 1 && context.stage == "action" };`,
      stages,
    });
    const { findings } = await askPast(t, { policies: [stricter] });
    expect(findings.map(({ stage, was, would_be }) => [stage, was.decision, would_be?.reason])).toEqual(
      [1, 2].map(() => ["action", "REQUIRE_HUMAN_APPROVAL", "the first was not finance"]),
    );
  });
});

it("a policy may read what the work has spent so far, also when it is asked again", async () => {
  const costly = counted("Model.Ask", { effect: "read", estimatedCost: 2.5 });
  const capability = story([costly], [step("first", costly), step("second", costly, { depends_on: ["first"] })]);
  const policies = `@id("base") permit(principal, action, resource);
@id("spent") @reason("enough is spent") forbid(principal, action, resource)
when { context.budget.spent.greaterThanOrEqual(decimal("2.5")) };`;
  await using t = await createTestKernel({ capabilities: [capability], policies: [cedar({ policies })] });
  const ended = await t.run(intent, {});
  expect([costly.calls.length, ended.error?.code]).toEqual([1, "T5_POLICY_DENIED"]);
  expect((await askPast(t, { policies: [cedar({ policies })] })).report).toMatchObject({ differing: 0, unknown: 0 });
});

describe("what-if over a recorded ledger", () => {
  let folder: TempFolder | null = null;
  afterEach(() => folder?.[Symbol.dispose]());

  const asCedar = `@id("base") permit(principal, action, resource);
@id("large") @require_approval("large sums need a person")
permit(principal, action == Action::"Pay.Send", resource)
when { resource.payload has sum && resource.payload.sum > 50 };
@id("pii") @reason("no pii")
forbid(principal, action in Action::"call", resource) when { context.tags.contains("pii") };
@id("nine") @reason("nine may not") forbid(principal == Principal::"user/9", action in Action::"decide", resource);`;

  it("finds the same changes as the same rules as data, in process", async () => {
    const past = await makePast(memoryLedger());
    await using _ = past.t;
    const inCedar = cedar({ policies: asCedar, stages: ["action", "gate"] });
    const told = async (policies: Policies) => {
      const { findings, report } = await askPast(past.t, { policies });
      const found = findings.map(({ event_id, kind, was, would_be }) => [
        event_id,
        kind,
        was.decision,
        would_be?.decision,
        would_be?.decision === "ALLOW" ? "" : would_be?.reason,
      ]);
      return { found, changes: report.changes, unknown: report.unknown };
    };
    const first = await told([pastRules]);
    expect(first.found.length).toBeGreaterThan(3);
    expect(await told([inCedar])).toEqual(first);
    expect((await decisionsOf(past.t)).length).toBeGreaterThan(first.found.length);
  });

  it("is asked on the command line with --policies and a file of Cedar, with the schema beside it", async () => {
    folder = makeTempFolder();
    const db = join(folder.path, "past.db");
    const past = await makePast(sqliteLedger({ path: db }));
    await past.t.kernel.stop();
    const rules = join(folder.path, "rules.cedar");
    writeFileSync(rules, asCedar);
    const ask = () => runHere("whatif", "--db", db, "--policies", rules, "--workflow", past.of["gated"] as string);
    const ran = await ask();
    expect([ran.code, ran.err]).toEqual([0, expect.stringContaining("workflows a second")]);
    expect(ran.out).toContain(`would differ under ${cedar({ policies: asCedar }).version}+default-1`);
    writeFileSync(`${rules}schema`, "entity Nonsense in [Nobody];");
    expect(await ask()).toMatchObject({ code: 2, err: expect.stringContaining("schema:1:21") });
  });
});

it("the same past under its own rules and Cedar that permits everything is the same", async () => {
  const past = await makePast();
  await using _ = past.t;
  const all = cedar({ policies: '@id("all") permit(principal, action, resource);', stages: [...stages, "outcome"] });
  expect((await askPast(past.t, { policies: [all, baseSet] })).report).toMatchObject({ differing: 0, unknown: 0 });
});
