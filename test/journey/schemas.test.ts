/**
 * The stored schemas (seed 003 section 6): events, progress and actions as records, and the whole of a workflow as
 * intent, plan, actions, outcomes and events.
 */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { genesisHash } from "../../src/contract/chain.ts";
import { sealTurn, type TurnEnvelope } from "../../src/contract/turn.ts";
import { ActionRecord, canonicalJson, EventType, eventTypes, KernelProgress, LedgerEvent } from "../../src/index.ts";
import { createTestKernel, memoryLedger, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { eventsIn } from "../ledgers/reseal.ts";
import { counted, eventsOf, intentType, listOf, ofType, oneStep, packageOf, planStep, refusalOf } from "./parts.ts";

const ulid = "0000000000000000000000000A";
const event = {
  event_id: `evt_${ulid}`,
  event_type: "ACTION_SUCCEEDED",
  timestamp: "2026-01-01T00:00:00.000Z",
  tenant_id: 1,
  workflow_id: `wf_${ulid}`,
  thread_id: "t",
  intent_id: `int_${ulid}`,
  plan_id: `pln_${ulid}`,
  step_id: "s1",
  actor: { type: "system", id: "kernel" },
  correlation_id: `cor_${ulid}`,
  sequence: 4,
  payload: { operator_name: "Notes.Write", action_id: `act_${ulid}`, outcome_id: null },
};

function draftAndApply() {
  const write = counted("Notes.Write", {}, ({ usage }) => {
    usage({ tokens: { in: 3, out: 4, total: 7 }, cost: { total: 0.5 }, trace: { trace_id: "x", trace_type: "p" } });
    return { text: "wet" };
  });
  const file = counted("Notes.File");
  return packageOf(
    [write, file],
    [
      planStep("s1", write, { outcome: "Note", params: { b: 2, a: 1 } }),
      planStep("s2", file, { applies: "s1", depends_on: ["s1"] }),
    ],
  );
}

const applied = async (t: TestKernel): Promise<string> => {
  const { workflow_id } = await t.run(intentType, {}, { thread_id: "t" });
  await t.approve(workflow_id);
  await t.rest(workflow_id);
  return workflow_id;
};

describe("the ledger event", () => {
  it("[SCH-02] has the fields of the seed", () => {
    expect(LedgerEvent.parse(event)).toEqual(event);
    for (const field of Object.keys(event))
      expect(LedgerEvent.safeParse({ ...event, [field]: undefined }).success, field).toBe(false);
    expect(LedgerEvent.safeParse({ ...event, timestamp: "yesterday" }).success).toBe(false);
  });

  it("[SCH-02] ACTION_SUCCEEDED of a run is system/kernel's, and names operator, action and outcome", async () => {
    await using t = await createTestKernel({ capabilities: [draftAndApply()] });
    const workflow_id = await applied(t);
    const events = await eventsOf(t, workflow_id);
    const { outcomes } = await t.kernel.outcomes(workflow_id);
    for (const each of events) expect(LedgerEvent.parse(each)).toEqual(each);
    const succeeded = ofType(events, "ACTION_SUCCEEDED");
    expect(succeeded).toHaveLength(2);
    for (const { actor, payload } of succeeded) {
      expect(actor).toEqual({ type: "system", id: "kernel" });
      expect(Object.keys(payload)).toEqual(expect.arrayContaining(["operator_name", "action_id", "outcome_id"]));
    }
    expect(succeeded[1]?.payload).toMatchObject({
      operator_name: "Notes.File",
      outcome_id: outcomes[0]?.outcome_id,
      action_id: (await t.kernel.actions(workflow_id))[1]?.action_id,
    });
  });

  it("[SCH-03] is of a closed list of types: another is refused by the schema, and on append", () => {
    const envelope = { stream: "x", now: 1, first: 1, count: 1 } as unknown as TurnEnvelope;
    const sealing = (type: string) =>
      sealTurn(envelope, [{ id: event.event_id, type: type as never, step: null, payload: {} }], genesisHash);
    expect(LedgerEvent.safeParse({ ...event, event_type: "NOTE_WRITTEN" }).success).toBe(false);
    expect(() => sealing("NOTE_WRITTEN")).toThrow(/NOTE_WRITTEN/);
    for (const type of eventTypes) expect(sealing(type).body).toContain(type);
  });

  it("[SCH-03] the types that the seed names occur", async () => {
    const ledger = memoryLedger();
    const failing = oneStep(
      counted("Notes.Break", {}, () => ({ text: 5 }).text.toFixed(-1)),
      {},
      { intentType: "A.B" },
    );
    await using t = await createTestKernel({
      ledger,
      capabilities: [draftAndApply(), failing],
      limits: { maxReplans: 0 },
    });
    await applied(t);
    await t.reject((await t.run(intentType)).workflow_id);
    await t.run("A.B");
    await refusalOf(t.submit("No.Such"));
    const seen = new Set<string>(eventsIn((await ledger.tail(0, 1000)).map(({ row }) => row)).map((e) => e.event_type));
    const named = [
      "INTENT_RECEIVED",
      "INTENT_REJECTED",
      "PLAN_CREATED",
      "ACTION_STARTED",
      "ACTION_SUCCEEDED",
      "ACTION_FAILED",
    ];
    const more = [
      "OUTCOME_DRAFTED",
      "OUTCOME_FINALIZED",
      "USER_APPROVED",
      "USER_REJECTED",
      "WORKFLOW_FAILED",
      "POLICY_DECIDED",
    ];
    const transitions = ["STEP_QUEUED", "STEP_STARTED", "STEP_SUCCEEDED", "STEP_FAILED", "WORKFLOW_STARTED"];
    const rest = ["WORKFLOW_WAITING", "WORKFLOW_RESUMED", "WORKFLOW_COMPLETED", "WORKFLOW_CANCELLED"];
    const wanted = [...named, ...more, ...transitions, ...rest];
    expect(wanted.filter((type) => !seen.has(type))).toEqual([]);
    for (const type of wanted) expect(EventType.safeParse(type).success, type).toBe(true);
  });
});

describe("progress", () => {
  const progress = {
    tenant_id: 1,
    workflow_id: `wf_${ulid}`,
    correlation_id: `cor_${ulid}`,
    percent: 40,
    stage: "running",
    current_step: { step_id: "s1", name: "Step s1" },
  };

  it("[SCH-04] has the fields of the seed, a percent of 0 to 100, and a workflow state as its stage", () => {
    expect(KernelProgress.parse(progress)).toEqual(progress);
    for (const field of Object.keys(progress))
      expect(KernelProgress.safeParse({ ...progress, [field]: undefined }).success, field).toBe(false);
    for (const percent of [-1, 101, 1.5])
      expect(KernelProgress.safeParse({ ...progress, percent }).success).toBe(false);
    expect(KernelProgress.safeParse({ ...progress, stage: "writing" }).success).toBe(false);
  });

  it("[SCH-04] of a run is such a record each time", async () => {
    await using t = await createTestKernel({ capabilities: [draftAndApply()] });
    const told = await listOf(t.kernel.progress(await applied(t), { live: false }));
    for (const each of told) expect(KernelProgress.parse(each)).toEqual(each);
    expect(new Set(told.map((p) => p.stage))).toEqual(new Set(["planned", "running", "waiting_for_user", "completed"]));
    expect(told.at(-1)?.percent).toBe(100);
    expect(told.some((p) => p.current_step?.step_id === "s1")).toBe(true);
  });
});

describe("the action record", () => {
  it("[SCH-05] has the fields of the seed; total is in plus out; the hash covers the normalised input", async () => {
    await using t = await createTestKernel({ capabilities: [draftAndApply()] });
    const [action] = (await t.kernel.actions(await applied(t))) as [ActionRecord];
    expect(ActionRecord.parse(action)).toEqual(action);
    expect(action).toMatchObject({
      step_id: "s1",
      operator_name: "Notes.Write",
      operator_version: "1.0",
      status: "succeeded",
      error: null,
      tokens: { in: 3, out: 4, total: 7 },
      cost: { total: 0.5 },
      trace: { trace_id: "x", trace_type: "p" },
      timing: { started_at: expect.any(String), finished_at: expect.any(String) },
    });
    const normalised = canonicalJson({ a: 1, b: 2 });
    expect(action.payload_hash).toContain(createHash("sha256").update(normalised).digest("hex"));
    for (const field of Object.keys(action))
      expect(ActionRecord.safeParse({ ...action, [field]: undefined }).success, field).toBe(false);
    const wrong = { ...action, tokens: { in: 3, out: 4, total: 8 } };
    expect(ActionRecord.safeParse(wrong).success).toBe(false);
  });
});

describe("a finished workflow", () => {
  /** What is missing for a workflow to be intent, plan, actions, outcomes and events, linked by ids. */
  async function gapsOf(t: TestKernel, workflowId: string): Promise<string[]> {
    const events = await eventsOf(t, workflowId);
    const { intent, plan } = await t.kernel.workflow(workflowId);
    const actions = await t.kernel.actions(workflowId);
    const { outcomes } = await t.kernel.outcomes(workflowId);
    const keys = actions.map((a) => a.idempotency_key);
    const ran = new Set(ofType(events, "STEP_SUCCEEDED").map((e) => e.step_id));
    const plans = new Set(ofType(events, "PLAN_CREATED").map((e) => e.plan_id));
    const checks: Readonly<Record<string, boolean>> = {
      "begins with its intent": events[0]?.event_type === "INTENT_RECEIVED" && events[0].intent_id === intent.intent_id,
      "has a plan, or a plan's rejection": plan !== null || ofType(events, "PLAN_REJECTED").length === 1,
      "its plan is of its intent":
        plan === null || (plan.intent_id === intent.intent_id && plan.workflow_id === workflowId),
      "each step that ran has its action": [...ran].every((id) => actions.some((a) => a.step_id === id)),
      "each action has a key of its own": keys.every((key) => key.length > 0) && new Set(keys).size === keys.length,
      "each action is of its plan": actions.every((a) => plans.has(a.plan_id) && a.workflow_id === workflowId),
      "each outcome is of its intent": outcomes.every((o) => o.intent_id === intent.intent_id),
      "each outcome was recorded": outcomes.length === events.filter((e) => /^OUTCOME_/.test(e.event_type)).length,
      "its events are dense": events.every((e, i) => e.sequence === i + 1 && e.workflow_id === workflowId),
      "its chain holds": (await t.kernel.verify(workflowId)).ok,
      "it ends once": events.filter((e) => /^WORKFLOW_(COMPLETED|FAILED|CANCELLED)$/.test(e.event_type)).length === 1,
    };
    return Object.entries(checks).flatMap(([what, holds]) => (holds ? [] : [what]));
  }

  it("[SCH-07] is intent, plan, actions, outcomes and events without a gap, however it ended", async () => {
    const broken = counted("Notes.Break", {}, () => Promise.reject(new Error("broken")));
    const say = counted("Notes.Say");
    const capabilities = [
      draftAndApply(),
      oneStep(broken, {}, { intentType: "Notes.Fail" }),
      packageOf([say], [], { intentType: "Notes.Empty" }),
      packageOf([say], [], {
        intentType: "Notes.Answer",
        plan: () => ({ reasoning: "", steps: [], direct_response: "yes" }),
      }),
      oneStep(say, { operator: "Notes.Nobody" }, { intentType: "Notes.Invalid" }),
    ];
    await using t = await createTestKernel({ capabilities });
    const done = [await applied(t)];
    const rejected = await t.run(intentType);
    await t.reject(rejected.workflow_id);
    await t.rest(rejected.workflow_id);
    const cancelled = await t.run(intentType);
    await t.kernel.cancel(cancelled.workflow_id, testCaller);
    done.push(rejected.workflow_id, cancelled.workflow_id);
    for (const type of ["Notes.Fail", "Notes.Empty", "Notes.Answer", "Notes.Invalid"])
      done.push((await t.run(type)).workflow_id);
    const read = (await t.kernel.workflows()).map(({ workflow_id }) => t.kernel.workflow(workflow_id));
    const states = new Set((await Promise.all(read)).map((w) => w.response.status));
    expect(states).toEqual(new Set(["completed", "cancelled", "failed", "empty_plan"]));
    for (const workflowId of done) expect(await gapsOf(t, workflowId), workflowId).toEqual([]);
  });
});
