/**
 * Intake (seed 003 section 2.1): from a request of any source to one canonical intent, its queued workflow, and an
 * answer that waits for nothing.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { roleAuthenticator } from "../../src/adapters/role-authenticator.ts";
import { templatePlanner } from "../../src/adapters/template-planner.ts";
import type { LedgerEvent } from "../../src/contract/event.ts";
import { Intent, SubmitRequest, SubmitResponse } from "../../src/contract/intent.ts";
import { openTurn, toExecutorError } from "../../src/index.ts";
import { createTestKernel, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { counted, eventsOf, intentType, ofType, oneStep, packageOf, planStep, refusalOf } from "./parts.ts";

const hint = { intent_type: intentType, inputs: { topic: "rain" } };

const fullRequest = {
  source: "chat" as const,
  tenant_id: 7,
  principal: { type: "user", id: "p-1", role: "user" },
  thread_id: "thread-1",
  scope: { scope_type: "folder", scope_id: 12 },
  input: { mode: "message" as const, text: "make a note", attachments: { document_ids: [3, "d-4"] } },
  intent_hint: hint,
  constraints: { length: { at_most: 3 } },
};

describe("the request", () => {
  it("[INT-06] has all fields of the seed, and none of them is lost on the way in", () => {
    expect(SubmitRequest.parse(fullRequest)).toEqual({ ...fullRequest, context_refs: {} });
  });

  it.each(["tenant_id", "principal"] as const)("[INT-06] is refused without %s", async (field) => {
    await using t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"))] });
    const { [field]: _left, ...rest } = fullRequest;
    const error = await refusalOf(t.kernel.submit(rest as never));
    expect(error).toMatchObject({ code: "T0_VALIDATION_SCHEMA_MISMATCH", category: "input" });
    expect(error.detail["issues"]).toEqual([field]);
  });

  it("[INT-01] of chat, api and webhook becomes one canonical intent", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"))] });
    const intents: Intent[] = [];
    for (const source of ["chat", "api", "webhook"] as const) {
      const { workflow_id } = await t.kernel.submit({ ...fullRequest, source });
      intents.push((await t.rest(workflow_id)).intent);
    }
    expect(intents.map(({ source }) => source)).toEqual(["chat", "api", "webhook"]);
    const [first, ...others] = intents.map(({ source: _s, intent_id: _i, ...same }) => same);
    for (const other of others) expect(other).toEqual(first);
    expect(first).toMatchObject({
      type: intentType,
      actor: fullRequest.principal,
      scope: fullRequest.scope,
      inputs: { topic: "rain" },
      constraints: fullRequest.constraints,
      context_refs: { document_ids: [3, "d-4"] },
    });
  });
});

describe("the answer", () => {
  it("[INT-07] holds the ids, the three stream addresses of its workflow, and accepted", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"))] });
    const answer = await t.kernel.submit(fullRequest);
    expect(SubmitResponse.parse(answer)).toEqual(answer);
    expect(answer.status).toBe("accepted");
    const addresses = Object.values(answer.stream);
    expect(Object.keys(answer.stream)).toEqual(["events", "progress", "assistant"]);
    expect(new Set(addresses).size).toBe(3);
    for (const address of addresses) expect(address).toContain(answer.workflow_id);
  });

  it("[INT-08] waits for no planner", async () => {
    const { promise, reject } = Promise.withResolvers<never>();
    await using t = await createTestKernel({
      capabilities: [oneStep(counted("Notes.Write"))],
      planner: { plan: () => promise },
    });
    const answer = await t.kernel.submit(fullRequest);
    await t.clock.settle();
    expect(answer.status).toBe("accepted");
    expect((await t.kernel.workflow(answer.workflow_id)).state).toBe("accepted");
    reject(new Error("the test is over"));
  });

  it("[INT-08] waits for no operator", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const stuck = counted("Notes.Write", {}, () => promise);
    await using t = await createTestKernel({ capabilities: [oneStep(stuck)] });
    const answer = await t.kernel.submit(fullRequest);
    await t.clock.settle();
    expect(answer.status).toBe("accepted");
    expect(stuck.calls).toHaveLength(1);
    expect((await t.kernel.workflow(answer.workflow_id)).state).toBe("running");
    resolve("the test is over");
  });

  it("[INT-02] gives the ids that every later record of the run carries", async () => {
    const write = counted("Notes.Write");
    const file = counted("Notes.File", { effect: "final_write" });
    await using t = await createTestKernel({
      capabilities: [
        packageOf(
          [write, file],
          [planStep("s1", write, { outcome: "Note" }), planStep("s2", file, { applies: "s1", depends_on: ["s1"] })],
        ),
      ],
    });
    const answer = await t.kernel.submit(fullRequest);
    const { workflow_id, intent_id, correlation_id } = answer;
    await t.rest(workflow_id);
    const { tenant_id, principal } = fullRequest;
    await t.kernel.decideGate(workflow_id, { tenant_id, principal, decision: "approve" });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    const events = await eventsOf(t, workflow_id);
    expect(events.length).toBeGreaterThan(20);
    for (const event of events)
      expect(event).toMatchObject({ workflow_id, intent_id, correlation_id, thread_id: "thread-1" });
    const actions = await t.kernel.actions(workflow_id);
    expect(actions).toHaveLength(2);
    for (const action of actions) {
      expect(action).toMatchObject({ workflow_id, intent_id });
      const told = events.filter(({ payload }) => payload["action_id"] === action.action_id);
      expect(new Set(told.map((e) => e.correlation_id))).toEqual(new Set([correlation_id]));
    }
    for (const outcome of (await t.kernel.outcomes(workflow_id)).outcomes)
      expect(outcome).toMatchObject({ workflow_id, intent_id });
  });
});

describe("what intake records", () => {
  it("[INT-03] an accepted request: first INTENT_RECEIVED, later PLAN_CREATED with the promised plan id", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"))] });
    const answer = await t.kernel.submit(fullRequest);
    await t.rest(answer.workflow_id);
    const events = await eventsOf(t, answer.workflow_id);
    expect(events[0]?.event_type).toBe("INTENT_RECEIVED");
    const [created] = ofType(events, "PLAN_CREATED");
    expect(created?.plan_id).toBe(answer.plan_id);
    expect(created?.payload["plan"]).toMatchObject({ plan_id: answer.plan_id });
  });

  it("[INT-03] a refused one: INTENT_REJECTED and nothing else, and no workflow is alive", async () => {
    const ledger = memoryLedger();
    await using t = await createTestKernel({ ledger });
    const error = await refusalOf(t.kernel.submit(fullRequest));
    await t.clock.settle();
    expect(error.code).toBe("T1_NORMALIZE_UNKNOWN_INTENT");
    const events: LedgerEvent[] = (await ledger.tail(0, 100)).flatMap(({ row }) => [...openTurn(row)]);
    expect(events.map((e) => e.event_type)).toEqual(["INTENT_REJECTED"]);
    expect(t.kernel.vitals()).toMatchObject({ workflows: 0, actors: 0 });
    expect(await t.kernel.workflows()).toEqual([]);
  });
});

describe("what intake leaves alone", () => {
  it("[INT-04] a request on its whole way in fetches nothing, plans nothing and runs nothing", async () => {
    const write = counted("Notes.Write");
    let planned = 0;
    await using t = await createTestKernel({
      capabilities: [oneStep(write)],
      planner: {
        plan: (question) => {
          planned += 1;
          return templatePlanner.plan(question);
        },
      },
      limits: { maxInFlight: 0, maxWaitingSubmits: 0 },
    });
    // The last door of intake is T7's, which is full: everything before it has been passed.
    const error = await refusalOf(t.kernel.submit(fullRequest));
    expect(error.code).toBe("T7_SPAWN_INSUFFICIENT_RESOURCES");
    expect({ planned, calls: write.calls.length }).toEqual({ planned: 0, calls: 0 });
    const stages = new Set(t.marks.map((m) => m.stage));
    for (const stage of ["memory.load", "memory.augment", "plan.create", "skill.execute"])
      expect(stages).not.toContain(stage);
  });

  it("[INT-04] when the answer leaves, no operator, context or planner has been asked", async () => {
    const write = counted("Notes.Write");
    await using t = await createTestKernel({ capabilities: [oneStep(write)] });
    await t.kernel.submit(fullRequest);
    const stages = t.marks.map((m) => m.stage);
    expect(write.calls).toHaveLength(0);
    expect(stages).not.toContain("memory.load");
    expect(stages).not.toContain("plan.create");
  });

  it("[INT-05] an adapter needs three calls: authenticate, submit, open the stream", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"))] });
    const authenticator = roleAuthenticator();
    async function* adapter(body: typeof fullRequest): AsyncGenerator<LedgerEvent, void, void> {
      const { principal, tenant_id } = body;
      const auth = await authenticator.authorize({ principal, tenant_id, intent_hint: null, scope: null });
      if (auth === null) return;
      const { workflow_id } = await t.kernel.submit(body);
      yield* t.kernel.events(workflow_id, {}, { tenant_id, principal });
    }
    const told: string[] = [];
    for await (const event of adapter(fullRequest)) told.push(event.event_type);
    expect(told[0]).toBe("INTENT_RECEIVED");
    expect(told.at(-1)).toBe("WORKFLOW_COMPLETED");
  });
});

describe("the normaliser", () => {
  const strict = oneStep(counted("Notes.Write"), {}, { input: z.object({ topic: z.string().min(1) }) });

  it.each([
    ["an unknown type", { intent_type: "Notes.Nothing", inputs: {} }, "T1_NORMALIZE_UNKNOWN_INTENT"],
    ["inputs against the schema", { intent_type: intentType, inputs: { topic: 5 } }, "T1_NORMALIZE_INPUTS_INVALID"],
  ])("[INT-09] refuses %s with a validation error", async (_what, intent_hint, code) => {
    await using t = await createTestKernel({ capabilities: [strict] });
    const error = await refusalOf(t.kernel.submit({ ...testCaller, intent_hint }));
    expect(error.code).toBe(code);
    expect(toExecutorError(error)).toMatchObject({ category: "validation", retryable: false });
  });

  it("[INT-09] gives an Intent for a good request", async () => {
    await using t = await createTestKernel({ capabilities: [strict] });
    const { intent } = await t.run(intentType, { topic: "rain" });
    expect(Intent.parse(intent)).toEqual(intent);
    expect(intent).toMatchObject({ type: intentType, version: "1.0", inputs: { topic: "rain" } });
  });
});

describe("a request without a hint", () => {
  const write = oneStep(counted("Notes.Write"), {}, { keywords: ["note"] });
  const count = oneStep(counted("Words.Count"), {}, { intentType: "Words.Count", keywords: ["count"] });
  const said = (text: string) => ({ ...testCaller, input: { text } });

  it("[INT-10] is typed from its text by the packages' keywords", async () => {
    await using t = await createTestKernel({ capabilities: [write, count] });
    const { workflow_id } = await t.kernel.submit(said("please count them"));
    expect((await t.rest(workflow_id)).intent.type).toBe("Words.Count");
  });

  it("[INT-10] that is ambiguous is rejected with T1_CLASSIFY_LOW_CONFIDENCE", async () => {
    await using t = await createTestKernel({ capabilities: [write, count] });
    const error = await refusalOf(t.kernel.submit(said("count each note")));
    expect(error.code).toBe("T1_CLASSIFY_LOW_CONFIDENCE");
  });

  it("[INT-10] that is ambiguous becomes the fallback intent, where there is one, and says so", async () => {
    await using t = await createTestKernel({ capabilities: [write, count], fallbackIntent: intentType });
    const { workflow_id } = await t.kernel.submit(said("count each note"));
    const state = await t.rest(workflow_id);
    expect(state.intent.type).toBe(intentType);
    expect(state.warnings.map((w) => w.code)).toEqual(["T1_CLASSIFY_LOW_CONFIDENCE"]);
  });
});
