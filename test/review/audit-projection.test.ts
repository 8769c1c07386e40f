/** The audit as a function of a workflow's events, without a kernel: what each type of event is called there. */
import { describe, expect, it } from "vitest";
import type { LedgerEvent } from "../../src/contract/event.ts";
import { projectAudit } from "../../src/tiers/t6-metacognition/project-audit.ts";

/** An event as far as the audit reads it; a sequence is its place, from 1. */
type GivenDecision = readonly [event_type: string, step_id: string | null, payload: object];

const log = (...said: readonly GivenDecision[]): readonly LedgerEvent[] =>
  said.map(
    ([event_type, step_id, payload], i) =>
      ({ event_id: `e${i + 1}`, sequence: i + 1, event_type, step_id, payload }) as never,
  );

const entriesOf = (...said: readonly GivenDecision[]) => projectAudit(log(...said));
const outcomesOf = (...said: readonly GivenDecision[]) => entriesOf(...said).map(({ outcome }) => outcome);

const decided = (decision: string, more: object = {}, step_id: string | null = "s1"): GivenDecision => [
  "POLICY_DECIDED",
  step_id,
  { stage: "action", decision, policies: [], ...more },
];
const gate = (gate_id: string, more: object = {}) => ({ gate: { gate_id, roles: null, approvers: null, ...more } });
const opened = (more: object = {}, step_id = "s1"): GivenDecision => [
  "GATE_OPENED",
  step_id,
  gate(`gate-${step_id}`, more),
];
const revised = (more: object = {}, step_id = "s1"): GivenDecision => [
  "GATE_REVISED",
  step_id,
  gate(`gate-${step_id}`, more),
];
const person = (
  type: "USER_APPROVED" | "USER_REJECTED",
  more: object = {},
  step_id: string | null = "s1",
): GivenDecision => [type, step_id, { principal: { type: "user", id: "ann" }, ...more }];
const queued = (reviewer = "unassigned", review_id = "gate-s1") => ({ type: "QueuedForReview", review_id, reviewer });

describe("what policy decided", () => {
  it.each(["ALLOW", "TRANSFORM", "ALLOW_WITH_REDACTION"])("[RLH-02] %s is AutoApproved", (decision) => {
    expect(entriesOf(decided(decision, { policies: ["a", "b"] }))).toEqual([
      { interaction_id: "e1", outcome: { type: "AutoApproved" }, policies: ["a", "b"], stage: "action" },
    ]);
  });

  it.each<[string, object, string]>([
    ["names the rule that decided", { decided_by: "b", policies: ["a", "b"] }, "b"],
    ["names the first rule where none is said to have decided", { policies: ["a", "b"] }, "a"],
    ["names no rule where none matched", {}, "unnamed"],
    ["is read from ledgers that name no rules", { policies: undefined }, "unnamed"],
  ])("[RLH-02] DENY is Blocked and %s", (_what, more, policy) => {
    expect(outcomesOf(decided("DENY", more))).toEqual([{ type: "Blocked", policy }]);
  });

  it("[RLH-04] an entry has a list of rules of its own, an empty one where the event has none", () => {
    const policies = ["a"];
    const [entry] = entriesOf(decided("ALLOW", { policies }));
    policies.push("later");
    expect([entry?.policies, entriesOf(decided("ALLOW", { policies: undefined }))[0]?.policies]).toEqual([["a"], []]);
  });
});

describe("a gate that policy asks for is queued where policy said so", () => {
  it.each<[string, object, string]>([
    ["the roles of the gate", { roles: ["user", "admin"] }, "user, admin"],
    ["the approvers where it has no roles", { approvers: [{ id: "ann" }, { id: 7 }] }, "ann, 7"],
    ["the roles where it has both", { roles: ["admin"], approvers: [{ id: "ann" }] }, "admin"],
    ["nobody where it has neither", {}, "unassigned"],
    ["nobody where it names none", { roles: [] }, "unassigned"],
  ])("[A-29] for %s, and not again where it opens", (_what, asked, reviewer) => {
    expect(outcomesOf(decided("REQUIRE_HUMAN_APPROVAL"), opened(asked))).toEqual([queued(reviewer)]);
  });

  it("[RLH-01] for those whom it asked as it opened next, not as it stood later or before", () => {
    const ask = decided("REQUIRE_HUMAN_APPROVAL");
    const told = outcomesOf(
      ask,
      opened({ roles: ["first"] }),
      ask,
      revised({ roles: ["second"] }),
      revised({ roles: ["third"] }),
    );
    expect(told).toEqual([queued("first"), queued("second")]);
  });

  it("[RLH-03] for those whom it asked last where it was not shown again, and only of its own step", () => {
    const ask = decided("REQUIRE_HUMAN_APPROVAL");
    const shown = [opened({ roles: ["first"] }), revised({ roles: ["last"] }), opened({ roles: ["other"] }, "s2")];
    expect(outcomesOf(ask, ...shown, ask)).toEqual([queued("first"), queued("other", "gate-s2"), queued("last")]);
  });

  it("[A-29] for nobody in particular where its gate never opened", () => {
    expect(outcomesOf(decided("REQUIRE_HUMAN_APPROVAL"))).toEqual([queued()]);
  });

  it("[A-29] of a plan: at the first gate of the plan that was made then", () => {
    const ask = decided("REQUIRE_HUMAN_APPROVAL", { stage: "plan", policies: ["look"] }, null);
    const plan = (...gates: string[]): GivenDecision => ["PLAN_CREATED", null, { plan: { gates } }];
    const opens = [opened({ roles: ["one"] }, "s1"), opened({ roles: ["two"] }, "s2")];
    const told = entriesOf(plan("gate-s1"), ask, plan("gate-s2", "gate-s3"), ...opens);
    expect(told.map(({ outcome, policies }) => [outcome, policies])).toEqual([
      [queued("two", "gate-s2"), ["look"]],
      [queued("one", "gate-s1"), []],
    ]);
  });

  it("[A-29] of a plan that came to nothing, or has no gate: as the gate of the plan", () => {
    const ask = decided("REQUIRE_HUMAN_APPROVAL", { stage: "plan" }, null);
    expect(outcomesOf(ask)).toEqual([queued("unassigned", "gate-plan")]);
    expect(outcomesOf(ask, ["PLAN_CREATED", null, { plan: { gates: [] } }])).toEqual([
      queued("unassigned", "gate-plan"),
    ]);
  });

  it("[RLH-03] a gate that policy did not ask for is queued where it opens, by no rule", () => {
    expect(entriesOf(decided("ALLOW", { policies: ["a"] }), opened({ roles: ["admin"] }))[1]).toEqual({
      interaction_id: "e2",
      outcome: queued("admin"),
      policies: [],
    });
  });
});

describe("what became of a gate", () => {
  it.each([
    ["USER_APPROVED", "HumanApproved"],
    ["USER_REJECTED", "HumanRejected"],
  ] as const)(
    "[RLH-02] %s is %s, by whom, under the rules that last decided about the step's call",
    (type, outcome) => {
      const rules = (name: string, stage = "action", step_id: string | null = "s1") =>
        decided("ALLOW", { stage, policies: [name] }, step_id);
      const before = [
        rules("first"),
        rules("second"),
        rules("outcome", "outcome"),
        rules("plan", "plan", null),
        rules("other", "action", "s2"),
      ];
      expect(entriesOf(...before, person(type)).at(-1)).toMatchObject({
        outcome: { type: outcome },
        policies: ["second"],
        decided_by: "ann",
      });
      expect(entriesOf(...before, person(type, {}, "s3")).at(-1)?.policies).toEqual([]);
      expect(entriesOf(...before, person(type, {}, null)).at(-1)?.policies).toEqual([]);
    },
  );

  it("[C-12] a decision that votes carried names all who gave them, one that none carried names nobody", () => {
    const vote = (id: string) => ({ principal: { type: "user", id } });
    const [carried] = entriesOf(person("USER_APPROVED", { carried_by: [vote("ann"), vote("bob")] }));
    expect(carried).toMatchObject({ decided_by: "ann", carried_by: ["ann", "bob"] });
    const [alone] = entriesOf(person("USER_APPROVED", { principal: null }));
    expect(alone).toEqual({ interaction_id: "e1", outcome: { type: "HumanApproved" }, policies: [] });
  });

  it("[RLH-02] what expired is AutoApproved or Blocked by the gate's own expiry, under the rules of the step", () => {
    const expired = (action: string): GivenDecision => ["GATE_EXPIRED", "s1", { action }];
    const rules = decided("ALLOW", { policies: ["a"] });
    expect(entriesOf(rules, expired("allow"))[1]).toEqual({
      interaction_id: "e2",
      outcome: { type: "AutoApproved" },
      policies: ["a"],
    });
    expect(entriesOf(rules, expired("deny"))[1]).toEqual({
      interaction_id: "e2",
      outcome: { type: "Blocked", policy: "gate expiry" },
      policies: ["a"],
    });
  });
});

it("[C-12] no other event is an entry: votes, suspensions, escalations, calls and ends are told elsewhere", () => {
  const types = [
    "GATE_VOTED",
    "GATE_SUSPENDED",
    "GATE_ESCALATED",
    "GATE_REVISED",
    "ACTION_STARTED",
    "WORKFLOW_COMPLETED",
  ];
  expect(entriesOf(...types.map((type): GivenDecision => [type, "s1", gate("gate-s1")]))).toEqual([]);
});

it("[RLH-01] the entries are in the order of the events, frozen, and each by its event's id", () => {
  const entries = entriesOf(decided("ALLOW"), opened(), person("USER_APPROVED"), decided("DENY"));
  expect(entries.map(({ interaction_id }) => interaction_id)).toEqual(["e1", "e2", "e3", "e4"]);
  expect([entries, entries[0], entries[0]?.outcome, entries[0]?.policies].every(Object.isFrozen)).toBe(true);
});
