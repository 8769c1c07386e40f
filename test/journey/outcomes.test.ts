/**
 * Outcomes (seed 003 sections 3.3, 6.4): their schema, who sees them, and what must be true before one is recorded or
 * final.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { TurnEvent } from "../../src/contract/turn.ts";
import { Outcome, toExecutorError } from "../../src/index.ts";
import { createTestKernel, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { reseal } from "../ledgers/reseal.ts";
import { counted, eventsOf, intentType, ofType, oneStep, packageOf, planStep, refusalOf, ruleOf } from "./parts.ts";

const ulid = "0000000000000000000000000A";
const sample = {
  outcome_id: `out_${ulid}`,
  tenant_id: 1,
  workflow_id: `wf_${ulid}`,
  intent_id: `int_${ulid}`,
  outcome_type: "Note",
  schema_version: "1.0",
  status: "draft",
  content: { text: "wet" },
  confidence: 0.5,
  created_at: "2026-01-01T00:00:00.000Z",
};

const note = { Note: z.object({ text: z.string() }) };
const writing = (answer: unknown) => counted("Notes.Write", {}, () => answer);

function draftAndApply() {
  const [write, file] = [writing({ text: "wet" }), counted("Notes.File")];
  const steps = [
    planStep("s1", write, { outcome: "Note" }),
    planStep("s2", file, { applies: "s1", depends_on: ["s1"] }),
  ];
  return packageOf([write, file], steps, { outcomes: note });
}

describe("the record", () => {
  it("[OUT-01] has the ten fields of the seed", () => {
    expect(Outcome.parse(sample)).toMatchObject(sample);
    for (const field of Object.keys(sample))
      expect(Outcome.safeParse({ ...sample, [field]: undefined }).success, field).toBe(false);
  });

  it.each([-0.01, 1.01, Number.NaN, "1"])("[OUT-01] refuses a confidence of %s", (confidence) => {
    expect(Outcome.safeParse({ ...sample, confidence }).success).toBe(false);
  });

  it("[OUT-02] fetching gives the workflow and each outcome's id, type, status and content to its tenant", async () => {
    const write = writing({ text: "wet" });
    const steps = [planStep("s1", write, { outcome: "Note" }), planStep("s2", write, { outcome: "Summary" })];
    await using t = await createTestKernel({ capabilities: [packageOf([write], steps)] });
    const { workflow_id } = await t.run(intentType);
    const answer = await t.kernel.outcomes(workflow_id, testCaller);
    expect(answer.workflow_id).toBe(workflow_id);
    expect(answer.outcomes).toMatchObject([
      { outcome_id: expect.stringMatching(/^out_/), outcome_type: "Note", status: "draft", content: { text: "wet" } },
      {
        outcome_id: expect.stringMatching(/^out_/),
        outcome_type: "Summary",
        status: "draft",
        content: { text: "wet" },
      },
    ]);
    const other = { ...testCaller, tenant_id: 2 };
    expect((await refusalOf(t.kernel.outcomes(workflow_id, other))).code).toBe("T4_WORKFLOW_NOT_FOUND");
  });
});

describe("before an outcome is recorded", () => {
  it("[OUT-03] its content follows the schema of its type, or the step fails and nothing is recorded", async () => {
    const write = writing({ text: 5 });
    const pkg = oneStep(write, { outcome: "Note" }, { outcomes: note });
    await using t = await createTestKernel({ capabilities: [pkg], limits: { maxReplans: 0 } });
    const state = await t.run(intentType);
    expect(state.steps[0]).toMatchObject({ state: "failed", error: { code: "T4_OUTCOME_INVALID" } });
    expect(toExecutorError(state.steps[0]?.error as NonNullable<typeof state.error>).category).toBe("validation");
    expect(state.outcomes).toEqual([]);
    expect(ofType(await eventsOf(t, state.workflow_id), "OUTCOME_DRAFTED")).toEqual([]);
    expect(write.calls).toHaveLength(1);
  });

  it("[OUT-03] a schema that throws at it refuses it", async () => {
    const link = z.object({ text: z.string().transform((text) => new URL(text).href) });
    const write = writing({ text: "no link" });
    const pkg = oneStep(write, { outcome: "Note" }, { outcomes: { Note: link } });
    await using t = await createTestKernel({ capabilities: [pkg], limits: { maxReplans: 0 } });
    const state = await t.run(intentType);
    expect(state.steps[0]?.error).toMatchObject({
      code: "T4_OUTCOME_INVALID",
      message: expect.stringContaining("URL"),
    });
    expect([state.outcomes, write.calls.length]).toEqual([[], 1]);
  });

  it("[OUT-05] policy is asked at stage outcome, and what it denies is never an outcome", async () => {
    await using t = await createTestKernel({
      capabilities: [oneStep(writing({ text: "wet" }), { outcome: "Note" })],
      policies: [
        ruleOf(["outcome"], ({ subject }) =>
          subject.name === "Note" ? { decision: "DENY", reason: "not to be shown" } : null,
        ),
      ],
    });
    const state = await t.run(intentType);
    const types = await t.types(state.workflow_id);
    expect(state).toMatchObject({ status: "blocked", outcomes: [], error: { code: "T5_POLICY_DENIED" } });
    expect((await t.kernel.outcomes(state.workflow_id)).outcomes).toEqual([]);
    expect(types).not.toContain("OUTCOME_DRAFTED");
  });

  it("[OUT-05] the decision on it comes before the record of it", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(writing("wet"), { outcome: "Note" })] });
    const { workflow_id } = await t.run(intentType);
    const events = await eventsOf(t, workflow_id);
    const decided = events.findIndex((e) => e.event_type === "POLICY_DECIDED" && e.payload["stage"] === "outcome");
    expect(decided).toBeGreaterThan(-1);
    expect(decided).toBeLessThan(events.findIndex((e) => e.event_type === "OUTCOME_DRAFTED"));
  });
});

describe("a final outcome", () => {
  const statusesOf = (outcomes: readonly Outcome[]): string[] => outcomes.map((o) => o.status);

  it("[OUT-05] comes of an approved apply, and of nothing else", async () => {
    await using t = await createTestKernel({ capabilities: [draftAndApply()] });
    const { workflow_id, outcomes } = await t.run(intentType);
    expect(statusesOf(outcomes)).toEqual(["draft"]);
    await t.approve(workflow_id);
    expect(statusesOf((await t.rest(workflow_id)).outcomes)).toEqual(["draft", "final"]);
    const types = await t.types(workflow_id);
    expect(types.indexOf("USER_APPROVED")).toBeLessThan(types.indexOf("OUTCOME_FINALIZED"));
  });

  it("[OUT-05] does not come of a rejected one", async () => {
    await using t = await createTestKernel({ capabilities: [draftAndApply()] });
    const { workflow_id } = await t.run(intentType);
    await t.reject(workflow_id);
    expect(statusesOf((await t.rest(workflow_id)).outcomes)).toEqual(["draft"]);
  });

  it("[OUT-04] outcomes have events of their own: without any action result they read the same", async () => {
    const ledger = memoryLedger();
    await using seeing = await createTestKernel({ ledger, capabilities: [draftAndApply()] });
    const { workflow_id } = await seeing.run(intentType);
    await seeing.approve(workflow_id);
    await seeing.rest(workflow_id);
    const blind = memoryLedger();
    await blind.open();
    const rows = reseal(await ledger.read(workflow_id), { event: withoutResult });
    await blind.append(rows.map((row) => ({ tenant_id: 1, row, now: 0 })));
    await using t = await createTestKernel({ ledger: blind, capabilities: [draftAndApply()] });
    for (const action of await t.kernel.actions(workflow_id)) expect(action.result_payload).toBeNull();
    const { outcomes } = await t.kernel.outcomes(workflow_id);
    expect(outcomes.map((o) => [o.version, o.status, o.content])).toEqual([
      [1, "draft", { text: "wet" }],
      [2, "final", { text: "wet" }],
    ]);
  });
});

/** An event as a ledger would have it that keeps no action results. */
const withoutResult = (event: TurnEvent): TurnEvent =>
  event.type === "ACTION_SUCCEEDED" ? { ...event, payload: { ...event.payload, result: null } } : event;
