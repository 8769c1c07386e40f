/**
 * The audit of a workflow: every decision of policy and of people, in one of five forms, found from its event and back.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AuditEntry, AuditOutcome, definePolicy, operatorError, type PolicyRule } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { ann, approve, bob, cat, dan, gated, lend, reject, waiting, withdraw } from "../gates/people.ts";
import { counted, decide, eventsOf, gatedSteps, intent, publishing, step, story } from "../gates/story.ts";

const rule = (name: string, evaluate: PolicyRule["evaluate"], stages: PolicyRule["stages"] = ["action"]): PolicyRule =>
  definePolicy({ name, stages, evaluate });
const always = (name: string, decision: "ALLOW" | "DENY" | "REQUIRE_APPROVAL" | "REDACT") =>
  rule(name, () => ({ decision, reason: `${name} says so` }));

const auditOf = (t: TestKernel, id: string) => t.kernel.audit(id, testCaller);

/** An allowed step, a denied one and a gated one, side by side. */
function threeSteps() {
  const [free, barred, asked] = [counted("Note.Free"), counted("Note.Barred"), counted("Note.Asked")];
  const steps = [step("free", free), step("barred", barred), step("asked", asked)];
  const policies = [
    rule("stance", ({ subject }) => {
      if (subject.operator === "Note.Barred") return { decision: "DENY", reason: "not that" };
      return subject.operator === "Note.Asked" ? { decision: "REQUIRE_HUMAN_APPROVAL", reason: "look first" } : null;
    }),
  ];
  return { capabilities: [story([free, barred, asked], steps)], policies, defaultPolicies: false };
}

describe("outcomes", () => {
  it.each<[string, object]>([
    ["AutoApproved", {}],
    ["Blocked", { policy: "no-night" }],
    ["QueuedForReview", { review_id: "gate-s1", reviewer: "admin" }],
    ["HumanApproved", {}],
    ["HumanRejected", {}],
  ])("[RLH-02] %s parses with its fields and with none missing", (type, fields) => {
    expect(AuditOutcome.parse({ type, ...fields })).toEqual({ type, ...fields });
    for (const field of Object.keys(fields)) {
      const { [field]: _left, ...rest } = { type, ...fields } as Record<string, unknown>;
      expect([field, AuditOutcome.safeParse(rest).success]).toEqual([field, false]);
    }
  });

  it("[RLH-02] there are five forms and no other", () => {
    expect(AuditOutcome.options).toHaveLength(5);
    expect(AuditOutcome.safeParse({ type: "Blocked" }).success).toBe(false);
    expect(AuditOutcome.safeParse({ type: "Approved" }).success).toBe(false);
  });
});

describe("kernel.audit", () => {
  it("[RLH-03][C-06][C-12] an allow, a deny and an approved gate are four entries, each of its event", async () => {
    await using t = await createTestKernel(threeSteps());
    const { workflow_id: id } = await t.run(intent);
    await t.approve(id, "gate-asked");
    await t.rest(id);
    const events = new Map((await eventsOf(t, id)).map((event) => [event.event_id, event]));
    const told = (await auditOf(t, id)).map((entry) => {
      const event = events.get(entry.interaction_id);
      expect(AuditEntry.parse(entry)).toEqual(entry);
      return [event?.event_type, event?.step_id, entry.outcome];
    });
    const queued = { type: "QueuedForReview", review_id: "gate-asked", reviewer: "unassigned" };
    expect(told).toEqual(
      expect.arrayContaining([
        ["POLICY_DECIDED", "free", { type: "AutoApproved" }],
        ["POLICY_DECIDED", "barred", { type: "Blocked", policy: "stance" }],
        ["POLICY_DECIDED", "asked", queued],
        ["USER_APPROVED", "asked", { type: "HumanApproved" }],
      ]),
    );
    const decisions = [...events.values()].filter((e) => /^(POLICY_DECIDED|USER_APPROVED)$/.test(e.event_type));
    expect((await auditOf(t, id)).map((entry) => entry.interaction_id)).toEqual(decisions.map((e) => e.event_id));
  });

  it("[RLH-04] lists every policy that matched, in evaluation order, also where the first one allowed", async () => {
    const { capability } = gatedSteps(1, { gate: undefined as never });
    const policies = [always("first", "ALLOW"), always("second", "REDACT")];
    await using t = await createTestKernel({ capabilities: [capability], policies, defaultPolicies: false });
    const { workflow_id } = await t.run(intent);
    const entries = (await auditOf(t, workflow_id)).filter((entry) => entry.policies.length > 0);
    expect(entries.map(({ outcome, policies: names }) => [outcome.type, names])).toEqual([
      ["AutoApproved", ["first", "second"]],
    ]);
  });

  it("[RLH-02][RLH-04] Blocked names the policy that denied, not one that only matched", async () => {
    const { capability } = gatedSteps(1);
    const policies = [always("kind", "ALLOW"), always("strict", "DENY"), always("curious", "REQUIRE_APPROVAL")];
    await using t = await createTestKernel({ capabilities: [capability], policies, defaultPolicies: false });
    const { workflow_id } = await t.run(intent);
    const [blocked] = (await auditOf(t, workflow_id)).filter((entry) => entry.outcome.type === "Blocked");
    expect(blocked).toMatchObject({
      outcome: { type: "Blocked", policy: "strict" },
      policies: ["kind", "strict", "curious"],
    });
  });

  it("[A-29] the reviewer is the role that the gate names; a gate of the plan is queued at its opening", async () => {
    const { capability } = gatedSteps(1, { gate: { roles: ["auditor"] } });
    await using t = await createTestKernel({ capabilities: [capability], defaultPolicies: false });
    const { workflow_id: id } = await t.run(intent);
    const queued = (await auditOf(t, id)).filter((entry) => entry.outcome.type === "QueuedForReview");
    const [opened] = (await eventsOf(t, id)).filter((event) => event.event_type === "GATE_OPENED");
    expect(queued).toEqual([
      {
        interaction_id: opened?.event_id,
        outcome: { type: "QueuedForReview", review_id: "gate-s1", reviewer: "auditor" },
        policies: [],
      },
    ]);
  });

  it("[RLH-03][C-12] a decision that votes carried is one entry, which names all whose votes carried it", async () => {
    const { capability } = gated({
      quorum: { approvals: 2 },
      approvers: [{ id: "ann" }, { id: "bob" }, { id: "cat" }],
    });
    await using t = await createTestKernel({ capabilities: [capability], defaultPolicies: false });
    const id = await waiting(t);
    await approve(t, id, ann);
    await withdraw(t, id, ann);
    await approve(t, id, bob);
    await reject(t, id, cat);
    const expires_at = new Date(t.clock.now() + 60_000).toISOString();
    await lend(t, id, [ann, dan], expires_at);
    await approve(t, id, dan);
    await t.rest(id);
    const entries = await auditOf(t, id);
    expect(entries.filter(({ outcome }) => outcome.type.startsWith("Human"))).toMatchObject([
      { outcome: { type: "HumanApproved" }, decided_by: "dan", carried_by: ["bob", "dan"] },
    ]);
    expect(entries.find(({ outcome }) => outcome.type === "QueuedForReview")?.outcome).toMatchObject({
      reviewer: "ann, bob, cat",
    });
    for (const entry of entries) expect(AuditEntry.parse(entry)).toEqual(entry);
  });

  it("[RLH-01][A-29] an entry stays what it was, whomever its gate is for later", async () => {
    const escalation = [{ after_ms: 1000, role: "chief" }];
    const { capability } = gatedSteps(1, { gate: { roles: ["user"], escalation } });
    const roles = { user: { scopes: ["*"] }, chief: { scopes: ["*"] } };
    await using t = await createTestKernel({ capabilities: [capability], defaultPolicies: false, roles });
    const { workflow_id: id } = await t.run(intent);
    const before = await auditOf(t, id);
    expect(before.at(-1)?.outcome).toMatchObject({ type: "QueuedForReview", reviewer: "user" });
    await t.clock.advance(2000);
    const chief = { ...testCaller, principal: { type: "user", id: 5, role: "chief" } };
    const edit = { gate_id: "gate-s1", decision: "approve", payload: { edit: { id: "other" } } } as const;
    await t.kernel.decideGate(id, { ...chief, ...edit });
    await t.rest(id);
    expect((await auditOf(t, id)).slice(0, before.length)).toEqual(before);
  });

  it("[RLH-03][C-12] a plan that waits for approval is queued once, and not again when its gate opens", async () => {
    const { capability } = gatedSteps(1, { gate: undefined as never });
    const policies = [rule("look", () => ({ decision: "REQUIRE_APPROVAL", reason: "look" }), ["plan"])];
    await using t = await createTestKernel({ capabilities: [capability], policies, defaultPolicies: false });
    const { workflow_id } = await t.run(intent);
    const queued = (await auditOf(t, workflow_id)).filter(({ outcome }) => outcome.type === "QueuedForReview");
    expect(queued).toMatchObject([{ outcome: { review_id: "gate-s1" }, policies: ["look"] }]);
  });

  it("[RLH-02] a rejection is HumanRejected; what expired was nobody's decision", async () => {
    const expiry = { after_ms: 1000, action: "deny" } as const;
    const { capability } = gatedSteps(2, { gate: { expiry } });
    await using t = await createTestKernel({ capabilities: [capability], defaultPolicies: false });
    const id = await t.submit(intent);
    await t.rest(id).catch(() => undefined);
    const other = await t.submit(intent);
    await t.clock.settle();
    await decide(t, other, { gate_id: "gate-s1", decision: "reject" });
    await t.rest(other);
    await t.clock.advance(2000);
    await t.rest(id);
    const ends = async (of: string) =>
      (await auditOf(t, of)).map((e) => e.outcome).filter(({ type }) => type === "HumanRejected" || type === "Blocked");
    expect(await ends(id)).toEqual([
      { type: "Blocked", policy: "gate expiry" },
      { type: "Blocked", policy: "gate expiry" },
    ]);
    expect(await ends(other)).toContainEqual({ type: "HumanRejected" });
  });

  it("[RLH-03] an edit that policy wants reviewed and that cannot be shown is queued for its people", async () => {
    const check = ({ input }: { readonly input: unknown }): void => {
      if ((input as { readonly text: string }).text === "no")
        throw operatorError({ code: "NOTE_TAKEN", category: "dependency", message: "the note is taken" });
    };
    const publish = counted("Note.Publish", { effect: "final_write", input: z.object({ text: z.string() }), check });
    const plan = [
      step("publish", publish, { params: { text: "yes" }, gate: { reason: "look", roles: ["user", "admin"] } }),
    ];
    const capabilities = [story([publish], plan)];
    const policies = [always("look", "REQUIRE_APPROVAL")];
    await using t = await createTestKernel({ capabilities, policies, defaultPolicies: false });
    const { workflow_id: id } = await t.run(intent);
    const edited = { gate_id: "gate-publish", decision: "approve", payload: { edit: { text: "no" } } } as const;
    await expect(decide(t, id, edited)).rejects.toThrow("the note is taken");
    const outcomes = (await auditOf(t, id)).map(({ outcome }) => outcome);
    const queued = { type: "QueuedForReview", review_id: "gate-publish", reviewer: "user, admin" };
    expect(outcomes.filter(({ type }) => type === "QueuedForReview")).toEqual([queued, queued]);
  });

  it("[RLH-01] the log is in ledger order, only grows, and no entry can be changed", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    const before = await auditOf(t, id);
    await t.approve(id, "gate-publish");
    await t.rest(id);
    const after = await auditOf(t, id);
    expect(after.length).toBeGreaterThan(before.length);
    expect(after.slice(0, before.length)).toEqual(before);
    const order = (await eventsOf(t, id)).map((event) => event.event_id);
    const places = after.map((entry) => order.indexOf(entry.interaction_id));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(() => Object.assign(after[0] as object, { interaction_id: "other" })).toThrow(TypeError);
    expect(() => Object.assign(after[0]?.outcome as object, { type: "Blocked" })).toThrow(TypeError);
    expect(() => (after as AuditEntry[]).push(after[0] as AuditEntry)).toThrow(TypeError);
  });

  it("[RLH-03] another tenant's workflow has no audit", async () => {
    await using t = await createTestKernel(threeSteps());
    const { workflow_id: id } = await t.run(intent);
    const asked = t.kernel.audit(id, { ...testCaller, tenant_id: 2 });
    await expect(asked).rejects.toMatchObject({ error: { code: "T4_WORKFLOW_NOT_FOUND" } });
  });
});
