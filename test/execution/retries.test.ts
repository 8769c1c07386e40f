// Retries: how often, after what pause, for which failures, and what each try leaves behind (seed 002 section 8, seed
// 003 section 8.2; C-08, C-09, C-16). The clock is virtual: times are exact.

import { describe, expect, it } from "vitest";
import type { Middleware, Operator } from "../../src/index.ts";
import { definePolicy, KernelErrorException, moduleRef, operatorError, policyError } from "../../src/index.ts";
import { createTestKernel, type TestKernelOptions } from "../../src/testing/test-kernel.ts";
import { createVirtualClock } from "../../src/testing/virtual-clock.ts";
import { flow, intent, last, oneStep, payloads, type SkillCall, skill, step } from "./flow.ts";

const noReplans = { limits: { maxReplans: 0 } };
const busy = (retry_after_ms: number | null = null) =>
  operatorError({ code: "BUSY", category: "transient", message: "busy", retry_after_ms });
const raising = (thrown: unknown) => () => {
  throw thrown;
};

/** Runs one step and gives the times of its calls in ms. */
async function callTimes(operator: (spy: () => void) => Operator, options: TestKernelOptions = noReplans) {
  const clock = createVirtualClock();
  const start = clock.now();
  const times: number[] = [];
  const capability = oneStep(operator(() => void times.push(clock.now() - start)));
  await using t = await createTestKernel({ capabilities: [capability], clock, ...options });
  const state = await t.run(intent);
  return { times, state };
}

const alwaysFailing = (retry: string) => (spy: () => void) =>
  skill(
    "Probe.Act",
    () => {
      spy();
      throw busy();
    },
    { retry },
  );

const denied = (code: string) =>
  new KernelErrorException(policyError("no", moduleRef(5, "policy", "evaluate"), null, { code }));
const timedOut = () => Object.assign(new Error("too slow"), { name: "TimeoutError" });

describe("how often and when", () => {
  it.each([
    ["NONE", 1],
    ["STANDARD", 3],
    ["AGGRESSIVE", 5],
  ])("[RTY-01] a skill that always fails is called under %s %i times", async (retry, times) => {
    expect((await callTimes(alwaysFailing(retry))).times).toHaveLength(times);
  });

  it("[RTY-03] STANDARD waits 2 s and 4 s, AGGRESSIVE goes on with 8 s and 16 s", async () => {
    expect((await callTimes(alwaysFailing("STANDARD"))).times).toEqual([0, 2_000, 6_000]);
    expect((await callTimes(alwaysFailing("AGGRESSIVE"))).times).toEqual([0, 2_000, 6_000, 14_000, 30_000]);
  });

  it.each([
    [10_000, 10_000],
    [500, 2_000],
    [0, 2_000],
  ])("[RTY-08] after a hint of %i ms the next try starts at %i ms", async (hint, at) => {
    const { times } = await callTimes((spy) =>
      skill("Probe.Act", ({ attempt }) => {
        spy();
        if (attempt === 1) throw busy(hint);
        return "done";
      }),
    );
    expect(times).toEqual([0, at]);
  });

  it("[RTY-01] a pause that has ended ends once, however long the answer takes whether to go on", async () => {
    const clock = createVirtualClock();
    let timers = 0;
    const setTimer: typeof clock.setTimer = (...given) => {
      timers += 1;
      // Timer after timer at one instant would never end.
      return timers > 500 ? () => undefined : clock.setTimer(...given);
    };
    const late = () =>
      new Promise<{ ok: true }>((resolve) => clock.setTimer(clock.now() + 300, () => resolve({ ok: true })));
    let checked = 0;
    const validateParams = () => {
      checked += 1;
      return checked === 1 ? { ok: true as const } : late();
    };
    const act = skill("Probe.Act", ({ attempt }: SkillCall) => {
      if (attempt === 1) throw busy();
      return "done";
    });
    const hooks: Middleware = {
      name: "none",
      before: ({ attempt }) => (attempt === 1 ? undefined : late().then(() => undefined)),
    };
    const capabilities = [oneStep(act)];
    await using t = await createTestKernel({
      capabilities,
      clock: { ...clock, setTimer },
      security: { validateParams },
      middleware: [hooks],
    });
    const id = await t.submit(intent);
    await clock.advance(1_900);
    const before = timers;
    await clock.advance(200);
    expect((await t.kernel.workflow(id)).state).toBe("running");
    expect(timers - before).toBeLessThan(30);
    await clock.advance(5_000);
    expect((await t.kernel.workflow(id)).state).toBe("completed");
  });

  it("[RTY-04] an action that failed has an end, one that may still be under way has none", async () => {
    const ends = skill("Probe.Act", () => {
      throw operatorError({ code: "NO_CITY", message: "no such city" });
    });
    const hangs = skill("Probe.Act", () => new Promise(() => undefined), { timeoutSec: 1, effect: "final_write" });
    for (const [act, isOver] of [
      [ends, true],
      [hangs, false],
    ] as const) {
      await using t = await createTestKernel({ capabilities: [oneStep(act)], defaultPolicies: false, ...noReplans });
      const { workflow_id } = await t.run(intent);
      const [action] = await t.kernel.actions(workflow_id);
      expect(action?.error).not.toBeNull();
      expect(action?.timing.finished_at !== null).toBe(isOver);
    }
  });

  it("[RTY-04] every try is in the trace by number, outcome and time, and the skill was told the same", async () => {
    const told: unknown[] = [];
    const seen: unknown[] = [];
    const watch: Middleware = { name: "watch", before: ({ attempt, is_retry }) => void seen.push([attempt, is_retry]) };
    const act = skill("Probe.Act", ({ attempt, isRetry }: SkillCall) => {
      told.push([attempt, isRetry]);
      if (attempt < 3) throw busy();
      return "done";
    });
    await using t = await createTestKernel({ capabilities: [oneStep(act)], middleware: [watch] });
    const { workflow_id, accepted_at } = await t.run(intent);
    const [traced] = (await t.kernel.trace(workflow_id)).steps;
    const at = (ms: number) => new Date(Date.parse(accepted_at) + ms).toISOString();
    expect(traced?.attempts).toMatchObject([
      { attempt: 1, outcome: "failed", started_at: at(0), finished_at: at(0), error: { message: "busy" } },
      { attempt: 2, outcome: "failed", started_at: at(2_000), finished_at: at(2_000), duration_ms: 0 },
      { attempt: 3, outcome: "succeeded", started_at: at(6_000), finished_at: at(6_000), error: null },
    ]);
    expect(traced?.attempts).toHaveLength(3);
    const expected = [
      [1, false],
      [2, true],
      [3, true],
    ];
    expect(told).toEqual(expected);
    expect(seen).toEqual(expected);
  });
});

describe("which failures", () => {
  const raised: readonly (readonly [string, () => unknown, number])[] = [
    ["a generic exception", () => new Error("broken"), 3],
    ["a timeout", timedOut, 3],
    ["PolicyDenied", () => denied("T5_POLICY_DENIED"), 1],
    ["HumanDenied", () => denied("T5_HUMAN_DENIED"), 1],
    [
      "a denial in the operators' words",
      () => operatorError({ code: "NO", category: "policy_denied", message: "no" }),
      1,
    ],
  ];

  it.each(raised)("[RTY-02] a skill raising %s makes the right number of tries", async (_what, thrown, tries) => {
    const { times } = await callTimes((spy) =>
      skill("Probe.Act", () => {
        spy();
        throw thrown();
      }),
    );
    expect(times).toHaveLength(tries);
  });

  it.each(
    raised.flatMap(([what, thrown, tries]) => [
      [what, "at once", raising(thrown()), tries] as const,
      [what, "later", async () => raising(thrown())(), tries] as const,
    ]),
  )("[RTY-02] a middleware raising %s %s makes the right number of tries", async (_what, _when, before, tries) => {
    const calls: number[] = [];
    const hook: Middleware = {
      name: "raiser",
      before: (context) => {
        calls.push(context.attempt);
        return before();
      },
    };
    const { times, state } = await callTimes((spy) => skill("Probe.Act", spy), { ...noReplans, middleware: [hook] });
    expect(calls).toHaveLength(tries);
    expect(times).toEqual([]);
    expect(state.steps[0]?.error?.code).not.toBe("T4_OPERATOR_BUG");
  });

  it.each([
    ["transient", false, 3],
    ["timeout", false, 3],
    ["validation", true, 1],
    ["authorization", true, 1],
    ["policy_denied", true, 1],
    ["operator_bug", true, 1],
    ["dependency", true, 3],
    ["dependency", false, 1],
  ] as const)("[RTY-05] category %s with its flag at %s makes %i tries", async (category, retryable, tries) => {
    const { times } = await callTimes((spy) =>
      skill("Probe.Act", () => {
        spy();
        throw operatorError({ code: "FAILED", category, message: "failed", retryable });
      }),
    );
    expect(times).toHaveLength(tries);
  });

  it("[RTY-05] an answer that is no JSON is refused for good: the call has happened and is not repeated", async () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    for (const answer of [cycle, () => 1, { n: Number.NaN }]) {
      const { times, state } = await callTimes((spy) =>
        skill("Probe.Act", () => {
          spy();
          return answer;
        }),
      );
      expect(times).toEqual([0]);
      expect(state.steps[0]?.error?.code).toBe("T4_OUTPUT_INVALID");
    }
  });

  it("[RTY-05] a policy of the host's own says how often", async () => {
    const { times } = await callTimes(alwaysFailing("TWICE"), { ...noReplans, retryPolicies: { TWICE: 2 } });
    expect(times).toEqual([0, 2_000]);
  });
});

describe("what follows", () => {
  const invalid = operatorError({ code: "BAD", category: "validation", message: "bad" });

  it.each([
    [0, 1],
    [2, 3],
  ])(
    "[RTY-06] a validation error under %i replans ends the workflow after %i plans, once",
    async (maxReplans, plans) => {
      const act = skill("Probe.Act", raising(invalid));
      await using t = await createTestKernel({ capabilities: [oneStep(act)], limits: { maxReplans } });
      const { workflow_id, state } = await t.run(intent);
      expect(state).toBe("failed");
      const types = await t.types(workflow_id);
      const steps = types.filter((e) => e === "PLAN_CREATED" || e === "STEP_FAILED" || e === "WORKFLOW_FAILED");
      expect(steps).toEqual([
        ...Array.from({ length: plans }, () => ["PLAN_CREATED", "STEP_FAILED"]).flat(),
        "WORKFLOW_FAILED",
      ]);
    },
  );

  it("[RTY-06] a policy denial is never replanned", async () => {
    const deny = definePolicy({ name: "no", stages: ["action"], evaluate: () => ({ decision: "DENY", reason: "no" }) });
    await using t = await createTestKernel({ capabilities: [oneStep(skill("Probe.Act", () => 1))], policies: [deny] });
    const { workflow_id, status } = await t.run(intent);
    expect(status).toBe("blocked");
    expect(await payloads(t, workflow_id, "PLAN_CREATED")).toHaveLength(1);
    expect(last(await t.types(workflow_id))).toBe("WORKFLOW_FAILED");
  });

  it("[RTY-06] a person's denial ends in WORKFLOW_CANCELLED and is never replanned", async () => {
    const act = skill("Probe.Act", () => 1);
    await using t = await createTestKernel({ capabilities: [oneStep(act, { gate: { reason: "look" } })] });
    const { workflow_id } = await t.run(intent);
    await t.reject(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("cancelled");
    const types = await t.types(workflow_id);
    expect(last(types)).toBe("WORKFLOW_CANCELLED");
    expect(types.filter((type) => type === "PLAN_CREATED" || type === "WORKFLOW_FAILED")).toEqual(["PLAN_CREATED"]);
  });

  it("[RTY-07] each failure, of a try, a step or the workflow, is an event with its category", async () => {
    const act = skill("Probe.Act", raising(busy()), { retry: "TWICE" });
    await using t = await createTestKernel({
      capabilities: [oneStep(act)],
      retryPolicies: { TWICE: 2 },
      ...noReplans,
    });
    const { workflow_id } = await t.run(intent);
    const failures: string[] = [];
    for await (const { event_type, payload } of t.kernel.events(workflow_id, { live: false }))
      if (event_type.endsWith("_FAILED")) failures.push(`${event_type} ${String(payload["category"])}`);
    expect(failures).toEqual([
      "ACTION_FAILED transient",
      "ACTION_FAILED transient",
      "STEP_FAILED transient",
      "WORKFLOW_FAILED transient",
    ]);
  });

  it("[RTY-07] a failure before the call, and one of a branch beside it, are told no less", async () => {
    const act = skill("Probe.Act", () => 1, { retry: "NONE" });
    const bad = skill("Probe.Bad", raising(invalid));
    const steps = [step("s1", "Probe.Act"), step("s2", "Probe.Bad"), step("s3", "Probe.Act", { depends_on: ["s2"] })];
    const before = ({ step_id }: { readonly step_id: string }) => {
      if (step_id === "s1") throw new Error("not ready");
    };
    await using t = await createTestKernel({
      capabilities: [flow([act, bad], steps)],
      middleware: [{ name: "guard", before }],
      ...noReplans,
    });
    const { workflow_id } = await t.run(intent);
    const failed = await payloads(t, workflow_id, "STEP_FAILED");
    expect(failed.map((f) => f.category).sort()).toEqual(["transient", "validation"]);
    expect(await payloads(t, workflow_id, "ACTION_FAILED")).toHaveLength(2);
    expect(await payloads(t, workflow_id, "STEP_SKIPPED")).toEqual([{ reason: "dependency_failed", because: "s2" }]);
  });
});
