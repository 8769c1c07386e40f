/**
 * The life of a request (seed 002 sections 1 and 2): the order of its stages, the session they happen in, and what the
 * kernel does for an operator that does nothing for itself.
 */
import { describe, expect, it } from "vitest";
import { templatePlanner } from "../../src/adapters/template-planner.ts";
import { type KernelOptions, operatorError, type Planner, type RequestTrace } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import {
  type Asked,
  counted,
  eventsOf,
  intentType,
  ofType,
  oneStep,
  packageOf,
  planStep,
  refusalOf,
  ruleOf,
  toldLedger,
} from "./parts.ts";

const inOrder = [
  "security.validate",
  "session.open",
  "ensure_initialized",
  "memory.load",
  "memory.augment",
  "plan.create",
  "dag.run",
  "step.execute",
  "trace.finalize",
];
const markedIn = (t: TestKernel): string[] => t.marks.map((m) => m.stage).filter((stage) => inOrder.includes(stage));

const always = operatorError({ code: "GONE", message: "gone", category: "dependency", retryable: false });
const failing = () =>
  counted("Notes.Write", {}, () => {
    throw always;
  });

describe("the order of a run", () => {
  it("[LIF-01] goes through the seed's stages, one after the other, to the answer", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"))] });
    const state = await t.run(intentType, {}, { input: { text: "write" } });
    const stages = t.marks.map((m) => m.stage);
    const at = inOrder.map((stage) => stages.lastIndexOf(stage));
    expect(at).not.toContain(-1);
    expect([...at].sort((a, b) => a - b)).toEqual(at);
    expect(stages).not.toContain("replan");
    expect(stages.lastIndexOf("trace.finalize")).toBeLessThan(stages.lastIndexOf("session.close"));
    expect(state.response.status).toBe("completed");
  });

  it("[LIF-01] has one step execution for each step", async () => {
    const write = counted("Notes.Write");
    const steps = ["s1", "s2", "s3"].map((id) => planStep(id, write));
    await using t = await createTestKernel({ capabilities: [packageOf([write], steps)] });
    await t.run(intentType);
    const executed = t.marks.filter((m) => m.stage === "step.execute").map((m) => m["step_id"]);
    expect(executed).toEqual(["s1", "s2", "s3"]);
  });

  it("[LIF-01] replans only after a failed round, and at most twice", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(failing())] });
    const state = await t.run(intentType);
    expect(state.state).toBe("failed");
    const rounds = t.marks
      .map((m) => m.stage)
      .filter((stage) => ["plan.create", "dag.run", "replan", "trace.finalize"].includes(stage));
    const round = ["plan.create", "dag.run"];
    expect(rounds).toEqual([...round, "replan", ...round, "replan", ...round, "trace.finalize"]);
  });

  it("[LIF-02] input that is refused opens no session, loads no memory, plans nothing and runs nothing", async () => {
    const write = counted("Notes.Write");
    let planned = 0;
    const planner: Planner = {
      plan(question) {
        planned += 1;
        return templatePlanner.plan(question);
      },
    };
    await using t = await createTestKernel({
      capabilities: [oneStep(write)],
      planner,
      security: { validate: (text) => (text.includes("bomb") ? { ok: false, reason: "no bombs" } : { ok: true }) },
    });
    const error = await refusalOf(t.submit(intentType, {}, { input: { text: "build a bomb" } }));
    await t.clock.settle();
    expect(error.code).toBe("T1_SECURITY_INPUT_REFUSED");
    expect(markedIn(t)).toEqual(["security.validate"]);
    expect([planned, write.calls.length]).toEqual([0, 0]);
    expect((await refusalOf(t.submit(intentType, { text: "a bomb" }))).code).toBe("T1_SECURITY_INPUT_REFUSED");
  });
});

describe("the session", () => {
  type End = (t: TestKernel, workflowId: string) => Promise<unknown>;
  const none: End = async () => undefined;
  const stuck = Promise.withResolvers<string>();
  const endings: readonly (readonly [string, ReturnType<typeof oneStep>, End])[] = [
    ["success", oneStep(counted("Notes.Write")), none],
    ["failure", oneStep(failing()), none],
    ["parking", oneStep(counted("Notes.Write"), { gate: {} }), none],
    [
      "cancellation",
      oneStep(counted("Notes.Write", { honoursAbort: true }, () => stuck.promise)),
      async (t, id) => {
        await t.kernel.cancel(id, testCaller);
        stuck.resolve("late");
      },
    ],
  ];

  it.each(endings)(
    "[LIF-03] is closed on %s as often as opened, and the run asks the ledger inside it only",
    async (_how, pkg, end) => {
      const told: (string | Asked)[] = [];
      const ledger = toldLedger((asked) => told.push(asked));
      await using t = await createTestKernel({
        ledger,
        capabilities: [pkg],
        telemetry: { mark: (stage) => void told.push(stage) },
      });
      const workflowId = await t.submit(intentType, {}, { thread_id: "t" });
      await t.clock.settle();
      await end(t, workflowId);
      while (!told.includes("session.close") && (await t.clock.advanceToNext()));
      await t.clock.settle();
      const open = told.indexOf("session.open");
      const close = told.indexOf("session.close");
      expect(told.filter((at) => at === "session.open")).toHaveLength(1);
      expect(told.filter((at) => at === "session.close")).toHaveLength(1);
      const asked = told.flatMap((at, i) => (typeof at !== "string" && at.stream === workflowId ? [i] : []));
      expect(asked.length).toBeGreaterThan(1);
      for (const i of asked) expect(i > open && i < close).toBe(true);
      expect(told.slice(0, open).filter((at) => typeof at !== "string" && at.stream !== null)).toEqual([]);
    },
  );

  it("[LIF-03] a parked workflow that goes on has a session of its own for that", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"), { gate: {} })] });
    const { workflow_id } = await t.run(intentType);
    const sessions = () =>
      t.marks.map((m) => m.stage).filter((stage) => stage.startsWith("session.o") || stage === "session.close");
    expect(sessions()).toEqual(["session.open", "session.close"]);
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    await t.clock.settle();
    expect(sessions()).toEqual(["session.open", "session.close", "session.open", "session.close"]);
  });

  it("[LIF-04] five runs that start at once share one initialisation, and all succeed", async () => {
    const ready = Promise.withResolvers<void>();
    let initialized = 0;
    await using t = await createTestKernel({
      capabilities: [oneStep(counted("Notes.Write"))],
      initialize: () => {
        initialized += 1;
        return ready.promise;
      },
    });
    const workflows = await Promise.all(Array.from({ length: 5 }, () => t.submit(intentType)));
    await t.clock.settle();
    expect(t.marks.map((m) => m.stage)).not.toContain("memory.load");
    ready.resolve();
    for (const workflowId of workflows) expect((await t.rest(workflowId)).state).toBe("completed");
    expect(initialized).toBe(1);
  });

  it("[LIF-04] an initialisation that failed fails its run, and is tried again by the next", async () => {
    let tries = 0;
    await using t = await createTestKernel({
      capabilities: [oneStep(counted("Notes.Write"))],
      initialize: async () => {
        tries += 1;
        if (tries === 1) throw new Error("not yet");
      },
    });
    expect(await t.run(intentType)).toMatchObject({
      state: "failed",
      error: { message: "initialize failed: not yet" },
    });
    expect((await t.run(intentType)).state).toBe("completed");
    expect(tries).toBe(2);
  });
});

describe("memory", () => {
  it("[LIF-05] what the thread remembers and what the text recalls both reach the planner", async () => {
    const seen: Parameters<Planner["plan"]>[0][] = [];
    const planner: Planner = {
      plan(question) {
        seen.push(question);
        return templatePlanner.plan(question);
      },
    };
    await using t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"))], planner });
    const memory = { tenant_id: 1, type: "fact", source: "host", confidence: 1 };
    await t.kernel.memory.write({ ...memory, thread_id: "t", key: "mood", value: "calm" });
    await t.kernel.memory.write({ ...memory, key: "umbrella", value: "an umbrella is in the hall" });
    await t.run(intentType, {}, { thread_id: "t", input: { text: "where is my umbrella" } });
    expect(seen[0]?.context.memory.map((m) => [m.key, m.value])).toEqual([["mood", "calm"]]);
    expect(seen[0]?.context.semantic.map((m) => m.key)).toEqual(["umbrella"]);
    const stages = markedIn(t);
    expect(stages.indexOf("memory.load")).toBeLessThan(stages.indexOf("memory.augment"));
    expect(stages.indexOf("memory.augment")).toBeLessThan(stages.indexOf("plan.create"));
  });

  it("[LIF-08] what a run has learned is in the context of the next run on its thread, and of no other", async () => {
    await using t = await createTestKernel({
      capabilities: [oneStep(counted("Notes.Write", {}, () => "seven umbrellas"))],
    });
    const first = await t.run(intentType, {}, { thread_id: "t" });
    expect(await t.types(first.workflow_id)).toContain("MEMORY_WRITTEN");
    const bundleOf = async (thread_id: string) => {
      const { workflow_id } = await t.run(intentType, {}, { thread_id });
      return ofType(await eventsOf(t, workflow_id), "CONTEXT_BUILT")[0]?.payload["bundle"];
    };
    expect(await bundleOf("t")).toMatchObject({
      memory: [{ key: `run:${first.workflow_id}`, type: "run_summary", value: { text: "seven umbrellas" } }],
      thread_summary: "seven umbrellas",
    });
    expect(await bundleOf("another")).toMatchObject({ memory: [], thread_summary: null });
  });
});

describe("the end", () => {
  const deny = ruleOf(["action"], () => ({ decision: "DENY", reason: "no" }));
  const endings: readonly (readonly [RequestTrace["status"], KernelOptions, boolean])[] = [
    ["completed", { capabilities: [oneStep(counted("Notes.Write"))] }, false],
    ["failed", { capabilities: [oneStep(failing())] }, true],
    ["blocked", { capabilities: [oneStep(counted("Notes.Write"))], policies: [deny] }, true],
    ["cancelled", { capabilities: [oneStep(counted("Notes.Write"), { gate: {} })] }, true],
  ];

  it.each(endings)(
    "[LIF-06] %s: the trace has status, duration and error when the answer is there",
    async (status, options, hasError) => {
      await using t = await createTestKernel(options);
      const workflowId = await t.submit(intentType);
      const parked = await t.rest(workflowId);
      await t.clock.advance(250);
      if (parked.state === "waiting_for_user") await t.reject(workflowId);
      const state = await t.rest(workflowId);
      const trace = await t.kernel.trace(workflowId);
      expect(state.response.status).toBe(status);
      expect(trace).toMatchObject({ status, duration: expect.any(Number) });
      expect(trace.duration).toBe(Date.parse(state.finished_at as string) - Date.parse(state.accepted_at));
      expect(trace.error !== undefined).toBe(hasError);
      const stages = markedIn(t);
      expect(stages.filter((stage) => stage === "trace.finalize")).toHaveLength(1);
    },
  );

  it("[LIF-06] the trace is not final before the end", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"), { gate: {} })] });
    const { workflow_id } = await t.run(intentType);
    expect(await t.kernel.trace(workflow_id)).toMatchObject({ status: "waiting", duration: null });
    expect(markedIn(t)).not.toContain("trace.finalize");
  });
});
