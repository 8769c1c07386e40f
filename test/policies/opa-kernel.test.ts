/** Decisions of Rego in a running kernel: recorded, shown, explained, replayed and asked again, as others are. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { definePolicySet, type Policies } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { opa } from "../../src/packages/policies/opa/index.ts";
import { readBundle } from "../../src/packages/policies/opa/read-bundle.ts";
import { createTestKernel, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { runHere } from "../cli/command-line.ts";
import { counted, gateOf, intent, payloads, refusalOf, step, story } from "../gates/story.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { askPast, makePast } from "../policy/past.ts";
import { pastRules } from "./past-rules.ts";
import { regoBundle, regoFolder } from "./rego-bundles.ts";
import { approve, open } from "./shop.ts";

const bundle = regoBundle("policies");
const { wasm } = readBundle(bundle, "orders/decisions");
const entrypoint = "orders/decisions";
const order = opa({ bundle, entrypoint, stages: ["plan", "action", "gate"] });
const withLimits = (limits: object) => opa({ wasm, entrypoint, data: { limits, known: ["corner"] } as never });

describe("a decision of Rego", () => {
  it("is recorded with the policies that determined it and the version of module and data, and replays", async () => {
    const { t, buy } = await open([order]);
    await using _ = t;
    const { workflow_id, state } = await t.run(intent, { total: 9000 });
    expect(state).toBe("waiting_for_user");
    const [planned, decided] = await payloads(t, workflow_id, "POLICY_DECIDED");
    expect(planned).toMatchObject({ stage: "plan", decision: "ALLOW", policies: [] });
    expect(decided).toMatchObject({
      decision: "REQUIRE_HUMAN_APPROVAL",
      policies: ["orders.large"],
      decided_by: "orders.large",
      reason: "orders above 5000 need a person",
      policy_version: `${order.version}+default-1`,
    });
    const gate = await gateOf(t, workflow_id, "gate-buy");
    expect(gate.reasons[0]).toMatchObject({ source: "policy", rule: "orders.large" });
    expect([gate.policy_version, gate.confirm]).toEqual([`${order.version}+default-1`, "type"]);
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

  it("lifts a default rule where its policy says so, and the lift is recorded", async () => {
    const pay = counted("Order.Pay", { effect: "final_write" });
    const plan = ({ input }: { readonly input: unknown }) => ({
      reasoning: "pay",
      steps: [step("pay", pay, { params: input as never })],
    });
    const capability = story([pay], [], { plan: plan as never });
    await using t = await createTestKernel({ capabilities: [capability], policies: [order] });
    const known = await t.run(intent, { shop: "corner" });
    expect([known.state, pay.calls.length]).toEqual(["completed", 1]);
    const decided = (await payloads(t, known.workflow_id, "POLICY_DECIDED")).at(-1);
    expect(decided).toMatchObject({ lifts: [{ rule: "default.final_write", by: "orders.known" }] });
    expect((await t.run(intent, { shop: "market" })).state).toBe("waiting_for_user");
  });

  it("that fails denies the call, whatever other rules allow, and says which policies failed", async () => {
    const allow = definePolicySet({
      version: "1",
      rules: [{ name: "allow", stages: ["action"], decision: "ALLOW", reason: "as data" }],
    });
    const failing = opa({ bundle: regoBundle("faulty"), entrypoint: "faulty/conflict" });
    const { t, buy } = await open([allow, failing]);
    await using _ = t;
    const ended = await t.run(intent, { total: 1 });
    expect([ended.error?.code, buy.calls.length]).toEqual(["T5_POLICY_DENIED", 0]);
    expect(ended.error?.message).toContain("policy opa failed, which denies");
    expect((await t.kernel.replay(ended.workflow_id)).identical).toBe(true);
  });
});

it("a policy may leave the second approval above 10000 to finance; asked again it is the same", async () => {
  const quorum = { gate: { reason: "two look", quorum: { approvals: 2, rejections: 1 } } };
  const { t, buy } = await open([order], quorum);
  await using _ = t;
  const { workflow_id } = await t.run(intent, { total: 20_000 });
  await approve(t, workflow_id, "mia", "manager");
  expect(await refusalOf(approve(t, workflow_id, "max", "manager"))).toMatchObject({
    code: "T5_POLICY_DENIED",
    detail: { policies: ["orders.second"] },
  });
  await t.clock.advance(1000);
  await approve(t, workflow_id, "fay", "finance");
  await t.rest(workflow_id);
  expect(buy.calls).toHaveLength(1);
  expect((await askPast(t, { policies: [order], names: true })).report).toMatchObject({ differing: 0, unknown: 0 });
  const { findings } = await askPast(t, { policies: [withLimits({ large: 5000, spent: 2.5, strict: true })] });
  expect(findings.map(({ stage, would_be }) => [stage, would_be?.reason])).toContainEqual([
    "action",
    "the first was not finance",
  ]);
});

it("a policy may read what the work has spent so far, also when it is asked again", async () => {
  const costly = counted("Model.Ask", { effect: "read", estimatedCost: 2.5 });
  const capability = story([costly], [step("first", costly), step("second", costly, { depends_on: ["first"] })]);
  await using t = await createTestKernel({ capabilities: [capability], policies: [order] });
  const ended = await t.run(intent, {});
  expect([costly.calls.length, ended.error?.code]).toEqual([1, "T5_POLICY_DENIED"]);
  expect((await askPast(t, { policies: [order] })).report).toMatchObject({ differing: 0, unknown: 0 });
  const generous = withLimits({ large: 5000, spent: 10, strict: false });
  expect((await askPast(t, { policies: [generous] })).report).toMatchObject({ differing: 1, unknown: 0 });
});

describe("what-if over a recorded ledger", () => {
  let folder: TempFolder | null = null;
  afterEach(() => folder?.[Symbol.dispose]());

  const past = { bundle, entrypoint: "past/decisions", stages: ["action", "gate"] as const };

  it("finds the same changes as the same rules as data, in process", async () => {
    const { t } = await makePast(memoryLedger());
    await using _ = t;
    const told = async (policies: Policies) => {
      const { findings, report } = await askPast(t, { policies });
      const found = findings.map(({ event_id, kind, was, would_be }) => [event_id, kind, was.decision, would_be]);
      const plain = found.map(([id, kind, was, would]) => {
        const { policy_version: _version, ...rest } = would as unknown as { readonly policy_version: string };
        return [id, kind, was, rest];
      });
      return { found: plain, changes: report.changes, unknown: report.unknown };
    };
    const first = await told([pastRules]);
    expect(first.found.length).toBeGreaterThan(3);
    expect(await told([opa(past)])).toEqual(first);
  });

  it("is asked on the command line with --policies and a bundle or a module", async () => {
    folder = makeTempFolder();
    const db = join(folder.path, "past.db");
    const recorded = await makePast(sqliteLedger({ path: db }));
    await recorded.t.kernel.stop();
    const [module, broken] = ["p.wasm", "x.wasm"].map((name) => join(folder?.path ?? "", name));
    writeFileSync(module as string, wasm);
    writeFileSync(broken as string, "no module");
    const ask = (file: string | undefined) =>
      runHere("whatif", "--db", db, "--policies", file as string, "--workflow", recorded.of["gated"] as string);
    for (const [file, made] of [
      [join(regoFolder, "policies.tar.gz"), opa({ bundle })],
      [module, opa({ wasm })],
    ] as const) {
      const ran = await ask(file);
      expect([ran.code, ran.err]).toEqual([0, expect.stringContaining("workflows a second")]);
      expect(ran.out).toContain(`under ${made.version}+default-1`);
    }
    expect(await ask(broken)).toMatchObject({ code: 2, err: expect.stringMatching(/x\.wasm:\s+T5_POLICY_INVALID/) });
  });
});
