/** Explain: from intent to effect, each part named by its event, told from the ledger alone. */
import { describe, expect, it } from "vitest";
import type { CausalChain } from "../../src/contract/explanation.ts";
import { renderChain } from "../../src/faces/cli/explain.ts";
import { definePolicy, operatorError } from "../../src/index.ts";
import {
  createTestKernel,
  type TestKernel,
  type TestKernelOptions,
  testCaller,
} from "../../src/testing/test-kernel.ts";
import { ann, approve, bob, dan, gated, lend, waiting } from "../gates/people.ts";
import { counted, decide, eventsOf, gatedSteps, gateOf, intent, publishing, step, story } from "../gates/story.ts";

const chainOf = async (t: TestKernel, id: string): Promise<readonly CausalChain[]> =>
  (await t.kernel.explain(id, testCaller)).chain;
const of = (chain: readonly CausalChain[], stepId: string): CausalChain =>
  chain.find((link) => link.step_id === stepId) as CausalChain;

/** Every event id that a chain names, with the type of that event. */
async function namedTypes(t: TestKernel, id: string, link: CausalChain): Promise<readonly (string | undefined)[]> {
  const types = new Map((await eventsOf(t, id)).map((event) => [event.event_id, event.event_type]));
  const named = [link.intent, link.plan, link.rule, link.approval, ...link.attempts, link.refusal];
  const ids = [...named.flatMap((part) => (part === null ? [] : [part.event_id]))];
  if (link.effect !== null) ids.push(link.effect.started_event_id, link.effect.ended_event_id ?? "none");
  return ids.map((eventId) => types.get(eventId));
}

async function published(payload: object = {}, options: TestKernelOptions = {}) {
  const { capability, publish } = publishing();
  const t = await createTestKernel({ capabilities: [capability], ...options });
  const { workflow_id: id } = await t.run(intent);
  const gate = await gateOf(t, id);
  await decide(t, id, { gate_id: "gate-publish", decision: "approve", payload });
  await t.rest(id);
  return { t, id, gate, publish };
}

describe("explain", () => {
  it("a gated effect names request, plan, rule, person and payload, and says that this payload ran", async () => {
    const { t, id, gate } = await published({ comment: "go" });
    await using _closing = t;
    const link = of(await chainOf(t, id), "publish");
    expect(await namedTypes(t, id, link)).toEqual([
      "INTENT_RECEIVED",
      "PLAN_CREATED",
      "POLICY_DECIDED",
      "USER_APPROVED",
      "ACTION_STARTED",
      "ACTION_STARTED",
      "ACTION_SUCCEEDED",
    ]);
    expect(link).toMatchObject({
      intent: { type: `${intent}@1.0`, actor: { type: "user", id: 1 } },
      plan: { cause: "submit", reasoning: "as the test asks" },
      rule: { decision: "REQUIRE_HUMAN_APPROVAL" },
      approval: {
        decision: "approve",
        principal: { id: 1, role: "user" },
        payload_digest: gate.payload_digest,
        outcome_id: gate.target?.outcome_id,
        outcome_version: gate.target?.version,
        edited: false,
        comment: "go",
        same_as_executed: true,
      },
      attempts: [{ attempt: 1, outcome: "succeeded", error_code: null }],
      effect: { operator: "Note.Publish@1.0", payload_hash: gate.payload_digest },
      refusal: null,
    });
    const [final] = (await t.kernel.outcomes(id)).outcomes.filter((outcome) => outcome.status === "final");
    expect(link.effect?.outcome).toEqual({ outcome_id: final?.outcome_id, version: final?.version });
    expect(link.rule?.policies.length).toBeGreaterThan(0);
  });

  it("after an edit the approval is of the edited payload, which is what ran", async () => {
    const { t, id, gate, publish } = await published({ edit: { text: "by hand" } });
    await using _closing = t;
    const { approval, effect } = of(await chainOf(t, id), "publish");
    expect(publish.calls[0]?.input).toMatchObject({ text: "by hand" });
    expect(approval).toMatchObject({ edited: true, outcome_version: 2, same_as_executed: true });
    expect(approval?.payload_digest).not.toBe(gate.payload_digest);
    expect(effect?.payload_hash).toBe(approval?.payload_digest);
    const { why, steps } = await t.kernel.explain(id);
    expect(why.find((line) => line.includes("opened again"))).toMatch(
      /^publish: gate-publish was opened again: user 1 edited it; text: "draft 1" → "by hand"/,
    );
    expect(steps.at(-1)?.allowed_by).toMatch(/^wants a person's approval: /);
    expect([...why, ...steps.map((one) => one.allowed_by)].join()).not.toMatch(/REQUIRE_HUMAN|ALLOW\b/);
  });

  it("what ran is compared with what was approved: another digest in the ledger is told as such", async () => {
    const { t, id } = await published();
    await using _closing = t;
    const { explainEffects } = await import("../../src/tiers/t6-metacognition/explain-effects.ts");
    const tampered = (await eventsOf(t, id)).map((event) =>
      event.event_type === "ACTION_STARTED" && event.step_id === "publish"
        ? { ...event, payload: { ...event.payload, payload_hash: "0".repeat(64) } }
        : event,
    );
    expect(of(explainEffects(tampered), "publish").approval?.same_as_executed).toBe(false);
  });

  it("a denied step has no effect, the rule that denied it, and why", async () => {
    const night = definePolicy({
      name: "night",
      stages: ["action"],
      evaluate: () => ({ decision: "DENY", reason: "not at night" }),
    });
    const { capability } = gatedSteps(1);
    await using t = await createTestKernel({ capabilities: [capability], policies: [night] });
    const { workflow_id: id } = await t.run(intent);
    const [link, ...more] = await chainOf(t, id);
    expect(more).toEqual([]);
    expect(link).toMatchObject({
      step_id: "s1",
      rule: { decision: "DENY", policies: expect.arrayContaining(["night"]), reason: "not at night" },
      approval: null,
      attempts: [],
      effect: null,
      refusal: { code: "T5_POLICY_DENIED" },
    });
  });

  it("a rejected step names who rejected it, in which words, and that nothing ran", async () => {
    const { capability } = gatedSteps(1);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    const comment = "not before\nit is checked";
    await t.kernel.decideGate(id, { ...testCaller, gate_id: "gate-s1", decision: "reject", payload: { comment } });
    await t.rest(id);
    const { why } = await t.kernel.explain(id);
    expect(why).toContain("s1: user 1 (user) rejected gate-s1: “not before it is checked”");
    expect(of(await chainOf(t, id), "s1")).toMatchObject({
      approval: { decision: "reject", principal: { id: 1 }, same_as_executed: null },
      effect: null,
      refusal: { code: "T5_HUMAN_DENIED" },
    });
  });

  it("a retried step lists its attempts, and the budget says what was spent before and expected", async () => {
    let calls = 0;
    const first = counted("Note.First", { estimatedCost: 0.1 });
    const second = counted("Note.Second", { estimatedCost: 0.2 });
    const flaky = counted("Note.Flaky", { estimatedCost: 2, retry: "STANDARD" }, () => {
      calls += 1;
      if (calls === 1) throw operatorError({ code: "BUSY", message: "not now", category: "transient" });
      return { ok: true };
    });
    const before = [step("s0", first), step("s1", second, { depends_on: ["s0"] })];
    const steps = [...before, step("s2", flaky, { depends_on: ["s1"] })];
    await using t = await createTestKernel({ capabilities: [story([first, second, flaky], steps)] });
    const { workflow_id: id } = await t.run(intent);
    const link = of(await chainOf(t, id), "s2");
    expect(link.attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [1, "failed"],
      [2, "succeeded"],
    ]);
    expect(link.attempts[0]?.error_code).toMatch(/^T4_/);
    expect(link.budget).toEqual({ spent_before: 0.3, estimated_cost: 2, reserved: null, settled: null });
  });

  it("a plan that is refused is told without a step", async () => {
    const no = definePolicy({
      name: "no-plans",
      stages: ["plan"],
      evaluate: () => ({ decision: "DENY", reason: "none today" }),
    });
    const { capability } = gatedSteps(1);
    await using t = await createTestKernel({ capabilities: [capability], policies: [no] });
    const { workflow_id: id } = await t.run(intent);
    expect(await chainOf(t, id)).toMatchObject([
      {
        step_id: null,
        plan: null,
        rule: { decision: "DENY", reason: "none today" },
        refusal: { code: "T5_POLICY_DENIED" },
      },
    ]);
  });

  it("a decision that votes carried names all of them, and in whose place", async () => {
    const { capability } = gated({ quorum: { approvals: 2 }, approvers: [{ id: "ann" }, { id: "bob" }] });
    await using t = await createTestKernel({ capabilities: [capability], defaultPolicies: false });
    const id = await waiting(t);
    await lend(t, id, [ann, dan], new Date(t.clock.now() + 60_000).toISOString());
    await approve(t, id, bob);
    await approve(t, id, dan);
    await t.rest(id);
    const { chain, steps, why } = await t.kernel.explain(id);
    const carried_by = [
      { principal: { type: "user", id: "bob" }, on_behalf_of: null },
      { principal: { type: "user", id: "dan" }, on_behalf_of: { type: "user", id: "ann" } },
    ];
    expect(of(chain, "s1").approval).toMatchObject({ principal: { id: "dan" }, carried_by, same_as_executed: true });
    const told = "user bob, user dan in the place of user ann";
    expect(steps[0]?.approved_by).toBe(`user dan (user), with the votes of ${told}`);
    expect(why.find((line) => line.includes(" approved gate-s1"))).toContain(`with the votes of ${told}`);
    expect(renderChain(of(chain, "s1"), { paint: (_style, line) => line })).toContain(`with the votes of ${told}`);
  });

  it("what ceilings over workflows had set aside, and what it turned out to be, is named", async () => {
    const { t, id } = await published({}, { budgets: { limits: [{ scope: "tenant", invocations: 9 }] } });
    await using _closing = t;
    const { budget } = of(await chainOf(t, id), "publish");
    const types = new Map((await eventsOf(t, id)).map((event) => [event.event_id, event.event_type]));
    expect([types.get(budget.reserved?.event_id ?? ""), types.get(budget.settled?.event_id ?? "")]).toEqual([
      "BUDGET_RESERVED",
      "BUDGET_SETTLED",
    ]);
    expect(budget).toMatchObject({
      reserved: { amounts: { invocations: 1 } },
      settled: { amounts: { invocations: 1 } },
    });
    expect(budget.reserved?.counters).toHaveLength(1);
  });

  it("in words says who approved what ran", async () => {
    const { t, id } = await published();
    await using _closing = t;
    const explained = await t.kernel.explain(id);
    const text = renderChain(of(explained.chain, "publish"), { paint: (_style, line) => line });
    expect(text.split("\n")[0]).toMatch(/^publish: Note\.Publish@1\.0 \(act_/);
    expect(text).toMatch(/approval {2}user 1 \(user\) approved payload [0-9a-f]{12} at \S+, which is what ran/);
    expect(text).toContain("rule      REQUIRE_HUMAN_APPROVAL because");
    expect(text).toContain("attempts  1 succeeded");
    expect(text).toMatch(/made {6}out_\S+ version 2/);
  });
});
