/** Spans: one trace a workflow, made of committed events and their instants. */
import { context, createContextKey, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { afterEach, describe, expect, it } from "vitest";
import { operatorError } from "../../src/index.ts";
import { traceIdOf } from "../../src/observers/telemetry/index.ts";
import { llmOperator } from "../../src/packages/operators/llm/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { createWorld, job, minute, never, step, work } from "../recovery/shared-file.ts";
import { endpoint, modelThat, says } from "../routing/model-fixture.ts";
import { LocalContexts } from "./local-contexts.ts";
import { describeSpans, eventsOf, hrTimeOf, instantsOf, msOf, named, openObserver } from "./spans-fixture.ts";

const day = 24 * 60 * minute;
const flaky = ({ attempt }: { readonly attempt: number }) => {
  if (attempt < 3) throw operatorError({ code: "FLAKY", message: "not now: SECRET", category: "transient" });
  return { ok: true };
};

/** s1 fails twice and then works; s2 waits for a person. */
const retriedAndGated = () => {
  const world = createWorld();
  const operators = [work(world, "T.Flaky", { retry: "STANDARD", run: flaky }), work(world, "T.Send")];
  return job([step("s1", "T.Flaky"), step("s2", "T.Send", { depends_on: ["s1"], gate: {} })], operators);
};

describe("the spans of a workflow", () => {
  it.each([true, false])(
    "are one tree: the run, its steps, their calls and gates (derived ids: %s)",
    async (derived) => {
      const { observer, spans } = openObserver({ derived });
      await using t = await createTestKernel({ telemetry: observer, capabilities: [retriedAndGated()] });
      const { workflow_id } = await t.run("Test.Job");
      await t.clock.advance(day);
      await t.approve(workflow_id);
      await t.rest(workflow_id);
      expect(describeSpans(spans())).toEqual([
        "call T.Flaky < step T.Flaky: failed T4_OPERATOR_FLAKY",
        "call T.Flaky < step T.Flaky: failed T4_OPERATOR_FLAKY",
        "call T.Flaky < step T.Flaky: succeeded",
        "step T.Flaky < workflow Test.Job: succeeded",
        "gate T.Send < step T.Send: approved",
        "call T.Send < step T.Send: succeeded",
        "step T.Send < workflow Test.Job: succeeded",
        `workflow Test.Job < ${derived ? "root" : "nowhere"}: completed`,
      ]);
      expect(new Set(spans().map((s) => s.spanContext().traceId))).toEqual(new Set([traceIdOf(workflow_id)]));
      expect(observer.size()).toBe(0);
    },
  );

  it("begin and end at the instants of the ledger, and the gate lasts as long as the person took", async () => {
    const { observer, spans } = openObserver();
    await using t = await createTestKernel({ telemetry: observer, capabilities: [retriedAndGated()] });
    const { workflow_id: id } = await t.run("Test.Job");
    await t.clock.advance(day);
    await t.approve(id);
    await t.rest(id);
    const timesOf = (name: string) => named(spans(), name).map((s) => [msOf(s.startTime), msOf(s.endTime)]);
    const at = (type: string) => instantsOf(t.kernel, id, type);
    expect(timesOf("workflow Test.Job")).toEqual([
      [...(await at("INTENT_RECEIVED")), ...(await at("WORKFLOW_COMPLETED"))],
    ]);
    const starts = await at("ACTION_STARTED");
    const ends = [...(await at("ACTION_FAILED")), ...(await at("ACTION_SUCCEEDED"))];
    expect([...timesOf("call T.Flaky"), ...timesOf("call T.Send")]).toEqual(starts.map((start, i) => [start, ends[i]]));
    const [[opened = 0, decided = 0] = []] = timesOf("gate T.Send");
    expect([opened, decided]).toEqual([...(await at("GATE_OPENED")), ...(await at("USER_APPROVED"))]);
    expect(decided - opened).toBe(day);
    expect(starts[1]).toBeGreaterThan(starts[0] as number);
  });

  it("say codes and ids, and nothing of what was asked, given or said", async () => {
    const { observer, spans } = openObserver();
    await using t = await createTestKernel({ telemetry: observer, capabilities: [retriedAndGated()] });
    const { workflow_id } = await t.run("Test.Job");
    await t.approve(workflow_id, undefined, { comment: "SECRET" });
    await t.rest(workflow_id);
    const [failed] = spans();
    expect(failed?.status).toEqual({ code: SpanStatusCode.ERROR, message: "T4_OPERATOR_FLAKY" });
    expect(spans().filter((s) => s.status.code === SpanStatusCode.ERROR)).toHaveLength(2);
    expect(JSON.stringify(spans().map((s) => [s.name, s.attributes, s.status, s.events]))).not.toContain("SECRET");
    expect(named(spans(), "gate T.Send")[0]?.attributes).toMatchObject({
      "countersign.workflow.id": workflow_id,
      "countersign.gate.id": "gate-s2",
      "countersign.gate.decided_by": "user",
      "countersign.gate.kind": "approval",
    });
  });

  it("of steps that run at once lie side by side", async () => {
    const world = createWorld();
    const doors = [Promise.withResolvers<object>(), Promise.withResolvers<object>()];
    const slow = work(world, "T.Slow", { run: ({ context: { step_id } }) => doors[step_id === "a" ? 0 : 1]?.promise });
    const { observer, spans } = openObserver();
    await using t = await createTestKernel({
      telemetry: observer,
      capabilities: [job([step("a", "T.Slow"), step("b", "T.Slow")], [slow])],
    });
    const id = await t.submit("Test.Job");
    await t.clock.advance(10);
    doors[1]?.resolve({});
    await t.clock.advance(10);
    doors[0]?.resolve({});
    await t.rest(id);
    const told = named(spans(), "step T.Slow").map((s) => [
      s.attributes["countersign.step.id"],
      s.startTime,
      s.endTime,
    ]);
    const events = await eventsOf(t.kernel, id);
    const instant = (type: string, stepId: string) =>
      hrTimeOf(events.find((e) => e.event_type === type && e.step_id === stepId)?.timestamp);
    expect(told).toEqual(["b", "a"].map((s) => [s, instant("STEP_STARTED", s), instant("STEP_SUCCEEDED", s)]));
    expect(told[0]?.[1]).toEqual(told[1]?.[1]);
  });
});

describe("how spans end", () => {
  it("a run that fails has the code of its error, and the run that is made of it again is under it", async () => {
    const broken = { now: true };
    const fail = () => {
      if (broken.now) throw operatorError({ code: "BROKEN", message: "no", retryable: false });
      return {};
    };
    const { observer, spans } = openObserver();
    await using t = await createTestKernel({
      telemetry: observer,
      limits: { maxReplans: 0 },
      capabilities: [job([step("s1", "T.Act")], [work(createWorld(), "T.Act", { run: fail })])],
    });
    const { workflow_id } = await t.run("Test.Job");
    await t.clock.advance(minute);
    broken.now = false;
    await t.kernel.retry(workflow_id, testCaller);
    await t.rest(workflow_id);
    const [failed] = await instantsOf(t.kernel, workflow_id, "WORKFLOW_FAILED");
    const [again] = await instantsOf(t.kernel, workflow_id, "WORKFLOW_RESTARTED");
    const told = describeSpans(spans());
    expect(told.filter((line) => line.startsWith("workflow"))).toEqual([
      expect.stringMatching(/^workflow Test.Job < root: failed /),
      "workflow Test.Job < workflow Test.Job: completed",
    ]);
    const [first, second] = named(spans(), "workflow Test.Job");
    expect(msOf(first?.endTime ?? [0, 0])).toBe(failed);
    expect(msOf(second?.startTime ?? [0, 0])).toBe(again);
  });

  it("what policy denies is a step that failed, with the rule and its verdict", async () => {
    const { observer, spans } = openObserver();
    await using t = await createTestKernel({
      telemetry: observer,
      capabilities: [job([step("s1", "T.Act")], [work(createWorld(), "T.Act")])],
      policies: [{ name: "never", stages: ["action"], evaluate: () => ({ decision: "DENY", reason: "SECRET" }) }],
    });
    await t.run("Test.Job");
    expect(describeSpans(spans())).toEqual([
      expect.stringMatching(/^step T.Act < workflow Test.Job: blocked T5_/),
      expect.stringMatching(/^workflow Test.Job < root: blocked T5_/),
    ]);
    expect(spans()[0]?.attributes).toMatchObject({
      "countersign.policy.decision": "DENY",
      "countersign.policy.rule": "never",
    });
  });

  it("cancelled, rejected, refused: everything in progress ends with the run, and it is no failure", async () => {
    const world = createWorld();
    const steps = [step("s1", "T.Hang"), step("s2", "T.Act", { gate: {} })];
    const { observer, spans, started } = openObserver();
    await using t = await createTestKernel({
      telemetry: observer,
      capabilities: [job(steps, [work(world, "T.Hang", { run: never, idempotent: true }), work(world, "T.Act")])],
    });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    await t.kernel.cancel(id, testCaller);
    await t.rest(id);
    expect([...describeSpans(spans())].sort()).toEqual([
      "call T.Hang < step T.Hang: cut",
      "gate T.Act < step T.Act: voided",
      "step T.Act < workflow Test.Job: skipped",
      "step T.Hang < workflow Test.Job: skipped",
      "workflow Test.Job < root: cancelled",
    ]);
    expect(started()).toBe(spans().length);
    expect(observer.size()).toBe(0);
  });
});

describe("a model call", () => {
  it("is named and described as the gen_ai conventions say", async () => {
    const { observer, spans } = openObserver();
    const ask = llmOperator({ name: "Model.Say", models: { small: modelThat(() => says("SECRET answer")) } });
    const plan = [step("s1", "Model.Say", { params: { prompt: "SECRET question" } })];
    await using t = await createTestKernel({
      telemetry: observer,
      models: { endpoints: [endpoint("small", { price: { in: 1, out: 1 } })] },
      capabilities: [observer.traced(job(plan, [ask]))],
    });
    await t.run("Test.Job");
    const [call] = spans();
    expect([call?.name, call?.kind]).toEqual(["chat small", SpanKind.CLIENT]);
    expect(call?.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "small",
      "gen_ai.response.id": "resp-1",
      "gen_ai.provider.name": "mock",
      "gen_ai.usage.input_tokens": 30,
      "gen_ai.usage.output_tokens": 12,
      "countersign.cost": 42 / 1_000_000,
    });
    expect(JSON.stringify(spans().map((s) => s.attributes))).not.toContain("SECRET");
  });
});

describe("what operators do themselves", () => {
  afterEach(() => context.disable());

  it("is under the span of their call, across awaits and steps that run at once", async () => {
    context.setGlobalContextManager(new LocalContexts().enable());
    const { observer, spans, options } = openObserver();
    const own = async ({ context: { step_id } }: { readonly context: { readonly step_id: string } }) => {
      await Promise.resolve();
      options.tracer?.startSpan(`own ${step_id}`).end();
      return {};
    };
    const operators = [work(createWorld(), "T.A", { run: own }), work(createWorld(), "T.B", { run: own })];
    await using t = await createTestKernel({
      telemetry: observer,
      capabilities: [observer.traced(job([step("a", "T.A"), step("b", "T.B")], operators))],
    });
    await t.run("Test.Job");
    expect(describeSpans(spans()).filter((line) => line.startsWith("own"))).toEqual([
      "own a < call T.A: undefined",
      "own b < call T.B: undefined",
    ]);
    expect(trace.getActiveSpan()).toBeUndefined();
  });

  it("has the baggage of its own request, of those that come at once", async () => {
    context.setGlobalContextManager(new LocalContexts().enable());
    const carried = new Map<string, unknown>();
    const key = createContextKey("request");
    const note = async ({ context: { workflow_id } }: { readonly context: { readonly workflow_id: string } }) => {
      await Promise.resolve();
      carried.set(workflow_id, context.active().getValue(key));
      return {};
    };
    const { observer } = openObserver();
    const capability = observer.traced(job([step("a", "T.A")], [work(createWorld(), "T.A", { run: note })]));
    await using t = await createTestKernel({ telemetry: observer, capabilities: [capability] });
    const people = ["ann", "bo", "cy"];
    const ask = (who: string) => context.with(context.active().setValue(key, who), () => t.submit("Test.Job"));
    const ids = await Promise.all(people.map(ask));
    for (const id of ids) await t.rest(id);
    expect(ids.map((id) => carried.get(id))).toEqual(people);
  });
});

describe("watching does no harm", () => {
  const broken = () => {
    throw new Error("the tracer is broken");
  };

  it("a tracer that throws changes nothing of the run, and the failures are counted", async () => {
    const { observer: good } = openObserver();
    const runWith = async (observer: typeof good) => {
      await using t = await createTestKernel({ telemetry: observer, capabilities: [retriedAndGated()] });
      const { workflow_id } = await t.run("Test.Job");
      await t.approve(workflow_id);
      await t.rest(workflow_id);
      return eventsOf(t.kernel, workflow_id);
    };
    const { observer } = openObserver({ tracer: { startSpan: broken, startActiveSpan: broken } });
    expect(await runWith(observer)).toEqual(await runWith(good));
    expect(await observer.prometheus()).toMatch(/countersign_telemetry_failures_total [1-9]/);
    expect(await good.prometheus()).not.toMatch(/countersign_telemetry_failures_total [1-9]/);
  });

  it("at most maxLives are remembered, and what was forgotten is told whole all the same", async () => {
    const { observer, spans } = openObserver({ limits: { maxLives: 6 } });
    await using t = await createTestKernel({ telemetry: observer, capabilities: [retriedAndGated()] });
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) ids.push((await t.run("Test.Job")).workflow_id);
    expect(observer.size()).toBeLessThanOrEqual(6);
    await t.clock.advance(day);
    for (const id of ids) {
      await t.approve(id);
      await t.rest(id);
    }
    expect(observer.size()).toBe(0);
    for (const id of ids) {
      const mine = spans().filter((s) => s.spanContext().traceId === traceIdOf(id));
      expect(describeSpans(mine)).toHaveLength(8);
      expect(describeSpans(mine).join()).not.toContain("nowhere");
      const [gate] = named(mine, "gate T.Send");
      expect(msOf(gate?.endTime ?? [0, 0]) - msOf(gate?.startTime ?? [0, 0])).toBeGreaterThanOrEqual(day);
    }
  });

  it("after stop it hears nothing, holds nothing, and listens to nothing", async () => {
    const { observer, spans } = openObserver();
    await using t = await createTestKernel({ telemetry: observer, capabilities: [retriedAndGated()] });
    const { listeners } = t.kernel.vitals();
    const end = observer.watch(t.kernel);
    const { workflow_id } = await t.run("Test.Job");
    const before = spans().length;
    expect(observer.size()).toBe(3);
    observer.stop();
    end();
    expect([observer.size(), t.kernel.vitals().listeners]).toEqual([0, listeners]);
    await t.approve(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(spans()).toHaveLength(before);
  });
});
