/** Workflows with sleeps, conditions and joins that are run again, planned again, or ended by their plan. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, defineOperator, operatorError } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";

const day = 86_400_000;
const owner = { tenant_id: 1, principal: { type: "user", id: 1, role: "admin" } } as const;

interface Settings {
  readonly continues?: boolean;
  readonly limits?: { readonly maxReplans: number };
}

/** A package whose operator gives what the test has for the step next, or throws. */
async function stage(steps: readonly object[], { continues = false, limits }: Settings = {}) {
  const calls: string[] = [];
  const given = new Map<string, unknown[]>();
  const waiting = new Map<string, (value: unknown) => void>();
  const take = defineOperator({
    name: "Again.Take",
    effect: "write_draft",
    timeoutSec: 172_800,
    retry: "STANDARD",
    input: z.looseObject({}),
    output: z.unknown(),
    run: ({ context: { step_id } }) => {
      calls.push(step_id);
      const next = given.get(step_id.replace(/_r\d+$/, ""))?.shift() ?? step_id;
      if (next === "waits") return new Promise((resolve) => waiting.set(step_id, resolve));
      if (next instanceof Error) throw next;
      return next;
    },
  });
  const plan = { reasoning: "as written", steps: steps as never };
  const capability = defineCapability({
    intentType: "Again.Play",
    version: "1.0",
    input: z.looseObject({}),
    operators: [take],
    outcomes: { Draft: z.unknown() },
    plan: ({ situation }) => (continues && situation.round === 0 ? { ...plan, continues } : plan),
    ...(limits === undefined ? {} : { limits }),
  });
  const t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
  const retry = (id: string, mode: string, step_ids?: string[]) =>
    t.kernel.retry(id, { ...owner, mode, ...(step_ids === undefined ? {} : { step_ids }) } as never);
  const view = async (id: string) => {
    const { steps: all, state } = await t.kernel.workflow(id);
    return [state, Object.fromEntries(all.map((one) => [one.step_id, one.skip_reason ?? one.state]))];
  };
  return { t, calls, given, waiting, retry, view };
}

const take = (step_id: string, depends_on: readonly unknown[] = [], more: object = {}) => ({
  step_id,
  name: step_id,
  operator: "Again.Take",
  depends_on,
  ...more,
});
const sleep = (step_id: string, depends_on: readonly unknown[] = [], params: object = { ms: day }) => ({
  ...{ step_id, name: step_id, kind: "sleep", params, depends_on },
});
const fail = (step_id: string, depends_on: readonly unknown[] = [], more: object = {}) => ({
  ...{ step_id, name: step_id, kind: "fail", params: { code: "NO", message: "no" }, depends_on, ...more },
});
const broken = () => operatorError({ code: "BROKEN", message: "never", retryable: false });
const settled = (step_id: string) => ({ step_id, settled: true });
async function textOf({ kernel }: Awaited<ReturnType<typeof stage>>["t"], id: string): Promise<unknown> {
  const events = await Array.fromAsync(kernel.events(id, { live: false }));
  return events.at(-1)?.payload["text"];
}
const sound = async ({ t }: Awaited<ReturnType<typeof stage>>, id: string) => {
  expect((await t.kernel.replay(id)).identical).toBe(true);
  expect((await t.kernel.verify()).ok).toBe(true);
};

describe("a regeneration", () => {
  it("evaluates a condition again on what is made again, and waits for any end of it", async () => {
    const steps = [
      take("score"),
      take("high", ["score"], { when: { value: "{{score.output}}", above: 70 } }),
      take("join", [settled("high"), "score"]),
      take("last", ["join"]),
    ];
    const s = await stage(steps);
    await using t = s.t;
    s.given.set("score", [1, 99]);
    s.given.set("last", [broken()]);
    s.given.set("high", [broken()]);
    const id = await t.submit("Again.Play");
    await t.rest(id);
    expect(await s.view(id)).toMatchObject(["failed", { high: "condition", join: "succeeded" }]);
    await s.retry(id, "regenerate", ["score"]);
    await t.rest(id);
    expect(await s.view(id)).toMatchObject([
      "completed",
      { high_r1: "failed", join_r1: "succeeded", last: "succeeded" },
    ]);
    await sound(s, id);
  });

  it("makes a sleep again that had not ended, once what it follows is made again", async () => {
    const steps = [
      take("first"),
      sleep("rest", ["first"]),
      take("next", ["rest"]),
      take("asked", [], { gate: { reason: "look" } }),
    ];
    const s = await stage(steps);
    await using t = s.t;
    const id = await t.submit("Again.Play");
    await t.clock.settle();
    await t.clock.advance(day / 2);
    s.given.set("first", ["waits"]);
    await s.retry(id, "regenerate", ["first"]);
    await t.clock.settle();
    await t.clock.advance(day);
    expect(await s.view(id)).toMatchObject(["running", { rest: "replanned", rest_r1: "queued", next: "queued" }]);
    s.waiting.get("first_r1")?.("done");
    await t.clock.settle();
    expect(await s.view(id)).toMatchObject(["waiting_for_user", { rest_r1: "running", next: "queued" }]);
    await t.approve(id, "gate-asked");
    await t.clock.advance(day);
    await t.rest(id);
    expect(await s.view(id)).toMatchObject(["completed", { rest_r1: "succeeded", next: "succeeded" }]);
    await sound(s, id);
  });

  it("is taken by a workflow that waits for a time", async () => {
    const s = await stage([take("first"), sleep("rest", ["first"]), take("next", ["rest"])]);
    await using t = s.t;
    const id = await t.submit("Again.Play");
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).state).toBe("waiting");
    await s.retry(id, "regenerate", ["first"]);
    await t.clock.advance(day);
    await t.rest(id);
    expect(s.calls).toEqual(["first", "first_r1", "next"]);
    await sound(s, id);
  });
});

describe("a resumption", () => {
  it("leaves a failure alone that the plan went on from", async () => {
    const s = await stage([take("pay"), take("refund", [settled("pay")]), take("last", ["refund"])]);
    await using t = s.t;
    s.given.set("pay", [broken()]);
    s.given.set("last", [broken()]);
    const id = await t.submit("Again.Play");
    await t.rest(id);
    await s.retry(id, "resume_failed_steps");
    await t.rest(id);
    expect(s.calls).toEqual(["pay", "refund", "last", "last"]);
    expect((await t.kernel.workflow(id)).state).toBe("completed");
    await sound(s, id);
  });

  it("runs such a failure again where what is run again needs it", async () => {
    const s = await stage([take("pay"), take("note", [settled("pay")]), take("ship", ["pay"])]);
    await using t = s.t;
    s.given.set("pay", [broken()]);
    const id = await t.submit("Again.Play");
    await t.rest(id);
    expect((await t.kernel.workflow(id)).state).toBe("failed");
    await s.retry(id, "resume_failed_steps");
    await t.rest(id);
    expect(s.calls).toEqual(["pay", "note", "pay", "ship"]);
    expect((await t.kernel.workflow(id)).state).toBe("completed");
  });

  it("evaluates the conditions of repeated steps again, and runs the steps that a failure had kept back", async () => {
    const isGone = { value: "{{pay.output}}", exists: false };
    const steps = [
      take("pay"),
      take("mark", [settled("pay")], { when: { not: isGone } }),
      fail("end", [settled("pay"), "mark"], { when: isGone }),
      take("last", ["end"]),
    ];
    const s = await stage(steps);
    await using t = s.t;
    s.given.set("pay", [broken()]);
    const id = await t.submit("Again.Play");
    await t.rest(id);
    expect(await s.view(id)).toEqual([
      "failed",
      { pay: "failed", mark: "condition", end: "failed", last: "plan_failed" },
    ]);
    await s.retry(id, "resume_failed_steps");
    await t.rest(id);
    expect(await s.view(id)).toEqual([
      "completed",
      { pay: "succeeded", mark: "succeeded", end: "condition", last: "succeeded" },
    ]);
    expect((await t.kernel.workflow(id)).progress.percent).toBe(100);
    await sound(s, id);
  });

  it("sleeps anew where a failure had ended the sleep", async () => {
    const s = await stage([
      take("first"),
      sleep("rest"),
      take("next", ["rest"]),
      fail("end", ["first"], { when: { value: "{{first.output}}", equals: "bad" } }),
    ]);
    await using t = s.t;
    s.given.set("first", ["waits"]);
    const id = await t.submit("Again.Play");
    await t.clock.settle();
    s.waiting.get("first")?.("bad");
    await t.rest(id);
    expect(await s.view(id)).toMatchObject(["failed", { rest: "plan_failed", next: "plan_failed" }]);
    await expect(s.retry(id, "regenerate", ["rest"])).rejects.toThrow("step end has ended this workflow");
    await s.retry(id, "regenerate", ["first", "rest"]);
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).state).toBe("waiting");
    await t.clock.advance(day);
    await t.rest(id);
    expect(await s.view(id)).toMatchObject(["completed", { rest: "succeeded", next: "succeeded", end: "condition" }]);
    await sound(s, id);
  });
});

describe("a step that fails by the plan's choice", () => {
  it("lets nothing begin after it, and waits for the end of a call under way", async () => {
    const s = await stage([
      take("long"),
      fail("end"),
      take("beside"),
      take("asked", [], { gate: { reason: "look" } }),
      sleep("rest"),
    ]);
    await using t = s.t;
    s.given.set("long", ["waits"]);
    const id = await t.submit("Again.Play");
    await t.clock.settle();
    expect(await s.view(id)).toEqual([
      "running",
      { long: "running", end: "failed", beside: "plan_failed", asked: "plan_failed", rest: "plan_failed" },
    ]);
    s.waiting.get("long")?.("done");
    await t.rest(id);
    expect(await s.view(id)).toMatchObject(["failed", { long: "succeeded" }]);
    expect(s.calls).toEqual(["long"]);
    const { why, steps } = await t.kernel.explain(id);
    expect(why.join("\n")).toContain("end: the plan chose to fail with NO: no");
    expect(steps.find(({ step_id }) => step_id === "beside")?.because).toContain(
      "beside: skipped: another step ended the workflow, as the plan chose",
    );
    await sound(s, id);
  });

  it("has no call made again", async () => {
    const s = await stage([take("busy"), fail("end", ["quick"]), take("quick")]);
    await using t = s.t;
    s.given.set("busy", [operatorError({ code: "BUSY", message: "not now", category: "transient" })]);
    s.given.set("quick", ["waits"]);
    const id = await t.submit("Again.Play");
    await t.clock.settle();
    s.waiting.get("quick")?.("done");
    await t.clock.settle();
    await t.clock.advance(day);
    expect(await s.view(id)).toEqual(["failed", { busy: "plan_failed", end: "failed", quick: "succeeded" }]);
    expect(s.calls).toEqual(["busy", "quick"]);
    await sound(s, id);
  });
});

describe("the progress of a workflow", () => {
  it("counts no step that its condition left out, before its end and after a restart", async () => {
    const steps = [
      take("first"),
      take("never", ["first"], { when: { value: "{{first.output}}", equals: "x" } }),
      take("asked", ["never"], { gate: { reason: "look" } }),
      take("last", ["asked"]),
    ];
    const s = await stage(steps);
    await using t = s.t;
    s.given.set("last", [broken()]);
    const percent = async (id: string) => (await t.kernel.workflow(id)).progress.percent;
    const id = await t.submit("Again.Play");
    await t.clock.settle();
    expect(await percent(id)).toBe(33);
    await t.approve(id, "gate-asked");
    await t.rest(id);
    expect(await percent(id)).toBe(67);
    await s.retry(id, "regenerate", ["asked"]);
    await t.clock.settle();
    expect(await percent(id)).toBe(50);
  });
});

describe("a plan that another follows", () => {
  it("is gone through where a condition left steps out, and failures are answered for: that is no replan", async () => {
    const steps = [
      take("first"),
      take("never", ["first"], { when: { value: "{{first.output}}", equals: "x" } }),
      take("bad"),
      take("join", [settled("bad")]),
    ];
    const s = await stage(steps, { continues: true, limits: { maxReplans: 0 } });
    await using t = s.t;
    s.given.set("bad", [broken(), broken()]);
    const id = await t.submit("Again.Play");
    await t.rest(id);
    const causes = (await Array.fromAsync(t.kernel.events(id, { live: false }))).flatMap(({ event_type, payload }) =>
      event_type === "PLAN_CREATED" ? [payload["cause"]] : [],
    );
    expect(causes).toEqual(["submit", "continue"]);
    await sound(s, id);
  });

  it("may have a condition about a step of before, through one that is done", async () => {
    const steps = [
      take("first"),
      take("second", ["first"]),
      take("third", ["second"], { when: { value: "{{first.output}}", exists: true } }),
    ];
    const s = await stage(steps, { limits: { maxReplans: 1 } });
    await using t = s.t;
    s.given.set("third", [broken()]);
    const id = await t.submit("Again.Play");
    await t.rest(id);
    expect(await s.view(id)).toMatchObject(["completed", { third: "failed", third_r1: "succeeded" }]);
    await sound(s, id);
  });
});

describe("the text of a workflow", () => {
  it("is that of its last calls, whatever sleeps or is left out behind them", async () => {
    const steps = [
      take("first"),
      sleep("rest", ["first"], { ms: 1 }),
      take("never", ["rest"], { when: { value: 1, equals: 2 } }),
    ];
    const s = await stage(steps);
    await using t = s.t;
    const state = await t.run("Again.Play");
    expect(await textOf(t, state.workflow_id)).toBe("first");
    const { why, steps: told } = await t.kernel.explain(state.workflow_id);
    expect(why.some((line) => /^rest: waits until \d{4}-/.test(line))).toBe(true);
    expect(told.at(-1)?.because.at(-1)).toBe("never: skipped: its condition does not hold");
  });
});
