/**
 * What the judge of calls takes for a person's word, where a retry does beside a workflow what that one does as well.
 */
import { expect, it } from "vitest";
import type { LedgerEvent } from "../../src/contract/event.ts";
import { judgeCalls } from "./judge-calls.ts";
import { type Called, OutsideWorld } from "./outside-world.ts";
import { drawStory, type StoryOperator } from "./story.ts";

const operator = { effect: "final_write", idempotent: false, ruling: "none" } as StoryOperator;
const nothing = { process: "p1", input: null, attempt: 1, asks: false, recovered: false, policy: null, gate: null };

/** One after the other, each in a row of its own: an event, or a call that took effect. */
type Told = readonly [workflow: string, event: string, payload?: object, step?: string];

function judgeTold(told: readonly Told[]): readonly string[] {
  const world = new OutsideWorld();
  for (const [at, [workflow_id, event_type, payload = {}, step_id = "s"]] of told.entries()) {
    world.durable.push({ at, event: { workflow_id, step_id, event_type, payload } as unknown as LedgerEvent });
    if (event_type !== "ACTION_STARTED") continue;
    const call: Called = {
      ...nothing,
      workflow_id,
      step_id,
      key: `${workflow_id} ${step_id}`,
      operator,
      at,
      shown: null,
      sent: true,
    };
    world.calls.push(call);
  }
  return judgeCalls({ ...drawStory(1), operators: [], deploy: null }, world);
}

const begun = (workflow: string, regenerated_from: string | null): Told => [
  workflow,
  "INTENT_RECEIVED",
  { regenerated_from, draft_version: 1 },
];
const called = (workflow: string, step?: string): Told => [workflow, "ACTION_STARTED", {}, step];
const plannedAnew: Told = ["two", "PLAN_CREATED", { cause: "replan", plan: { steps: [{ step_id: "s_r1" }] } }];
const retried = [begun("root", null), begun("one", "root"), begun("two", "root")];
const failed: Told = ["two", "STEP_FAILED"];

it("a step whose call failed before another retry's call is planned anew as work of its own", () => {
  const tried = called("two");
  expect(judgeTold([...retried, tried, failed, called("one"), plannedAnew, called("two", "s_r1")])).toHaveLength(0);
});

it("a step that failed without a call is not planned anew beside another retry's call", () => {
  const twice = [expect.stringMatching(/^twice: s_r1 of two .* two keys$/)];
  expect(judgeTold([...retried, failed, called("one"), plannedAnew, called("two", "s_r1")])).toEqual(twice);
});

it("a step that failed once another retry's call had begun is not planned anew", () => {
  const twice = [expect.stringMatching(/^twice: s_r1 of two .* two keys$/)];
  expect(judgeTold([...retried, called("one"), failed, plannedAnew, called("two", "s_r1")])).toEqual(twice);
  expect(judgeTold([...retried, called("one"), plannedAnew, called("two", "s_r1")])).toEqual(twice);
});

it("each order to make a step anew is a call of its own, whoever else ordered the same, and a replay is none", () => {
  const ordered = (workflow: string, more: object): Told => [
    workflow,
    "INTENT_RECEIVED",
    { regenerated_from: "root", draft_version: 2, regenerate: ["s"], ...more },
  ];
  const both = (more: object) =>
    judgeTold([
      begun("root", null),
      ordered("one", more),
      ordered("two", more),
      called("one"),
      failed,
      plannedAnew,
      called("two", "s_r1"),
    ]);
  expect(both({ kept_drafts: {} })).toEqual([]);
  expect(both({ kept_drafts: { s: { draft_version: 2, workflow_id: "zero" } } })).toHaveLength(1);
});

const restarted: Told = ["root", "WORKFLOW_RESTARTED"];

it.each([
  ["before", [begun("root", null), restarted, begun("one", "root")]],
  ["behind", [begun("root", null), begun("one", "root"), restarted]],
] as const)("a restart %s a retry asks for the work beside it", (_when, told) => {
  expect(judgeTold([...told, called("one"), called("root", "s_r1")])).toEqual([]);
});

it.each([
  ["never", [begun("root", null), begun("one", "root")]],
  ["and has ended again", [begun("root", null), restarted, ["root", "WORKFLOW_FAILED"], begun("one", "root")]],
] as const)("what was restarted %s does nothing beside a retry", (_when, told) => {
  expect(judgeTold([...told, called("one"), called("root", "s_r1")])).toHaveLength(1);
});
