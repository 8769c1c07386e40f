/**
 * Stability zones (seed 002 section 17): what a host may extend, and the six contracts that only a new spec version may
 * change, written down by hand as they are.
 */
import { describe, expect, it } from "vitest";
import {
  createKernel,
  type KernelOptions,
  type Middleware,
  operatorError,
  resolveTemplates,
  StepResult,
} from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { middlewareSpecVersion } from "../../src/tiers/t4-execution/decide/call/middleware.ts";
import { counted, eventsOf, intentType, ofType, oneStep, packageOf, planStep, refusalOf, ruleOf } from "./parts.ts";

const busy = operatorError({ code: "BUSY", message: "busy", category: "transient" });
const always = (thrown: Error, more: Parameters<typeof counted>[1] = {}) =>
  counted("Notes.Write", more, () => {
    throw thrown;
  });
const once = (options: KernelOptions) => createTestKernel({ limits: { maxReplans: 0 }, ...options });

describe("safe to extend", () => {
  it("[NOT-06] middleware: a hook of the host's own runs around each call", async () => {
    const seen: string[] = [];
    const own: Middleware = {
      name: "Timing",
      before: (ctx) => void seen.push(`before ${ctx.step_id}`),
      after: (ctx) => void seen.push(`after ${ctx.step_id}`),
    };
    await using t = await once({ capabilities: [oneStep(counted("Notes.Write"))], middleware: [own] });
    await t.run(intentType);
    expect(seen).toEqual(["before s1", "after s1"]);
  });

  it("[NOT-06] retry policies: a name of the host's own has its own number of attempts", async () => {
    const write = always(busy, { retry: "PATIENT" });
    await using t = await once({ capabilities: [oneStep(write)], retryPolicies: { PATIENT: 7 } });
    await t.run(intentType);
    expect(write.calls).toHaveLength(7);
    expect((await refusalOf(createKernel({ retryPolicies: { STANDARD: 9 } }))).category).toBe("input");
  });

  it("[NOT-06] policy rules: a rule of the host's own is asked and named", async () => {
    const rule = ruleOf(["action"], () => ({ decision: "DENY", reason: "own" }), "own rule");
    await using t = await once({ capabilities: [oneStep(counted("Notes.Write"))], policies: [rule] });
    const { workflow_id } = await t.run(intentType);
    const decided = ofType(await eventsOf(t, workflow_id), "POLICY_DECIDED");
    expect(decided.at(-1)?.payload).toMatchObject({ decision: "DENY", policies: ["own rule"] });
  });

  it("[NOT-06] metadata fields: what a host adds reaches its own hooks, frozen", async () => {
    const seen: unknown[] = [];
    const own: Middleware = { name: "Owner", before: (ctx) => void seen.push(ctx.metadata.extensions) };
    const write = counted("Notes.Write", { extensions: { owner: "notes team" } });
    await using t = await once({ capabilities: [oneStep(write)], middleware: [own] });
    await t.run(intentType);
    expect(seen).toEqual([{ owner: "notes team" }]);
    expect(Object.isFrozen(seen[0])).toBe(true);
  });

  it("[NOT-06] trace fields: what an operator reports of its provider is in the trace's model calls", async () => {
    const write = counted("Notes.Write", { kind: "llm" }, ({ usage }) => {
      usage({ trace: { trace_id: "abc", trace_type: "provider" }, tokens: { in: 1, out: 2, total: 3 } });
      return "wet";
    });
    await using t = await once({ capabilities: [oneStep(write)] });
    const { workflow_id } = await t.run(intentType);
    expect((await t.kernel.trace(workflow_id)).llm_calls).toMatchObject([
      { operator_name: "Notes.Write", trace: { trace_id: "abc" }, tokens: { total: 3 } },
    ]);
  });

  it("[NOT-06] DAG strategies: how many run at once, and which of the ready goes first", async () => {
    const write = counted("Notes.Write");
    const steps = ["s1", "s2", "s3"].map((id, i) => planStep(id, write, { priority: i * 10 }));
    const capabilities = [packageOf([write], steps)];
    await using t = await createTestKernel({ capabilities, limits: { maxConcurrentSteps: 1 } });
    await t.run(intentType);
    expect(write.calls.map((c) => c.context.step_id)).toEqual(["s3", "s2", "s1"]);
  });
});

describe("frozen by spec 1.1", () => {
  it("[NOT-06] the spec version", () => {
    expect(middlewareSpecVersion).toBe("1.1");
  });

  it("[NOT-06] middleware order, before and after, custom ones between Approval and Timeout", async () => {
    await using t = await once({ capabilities: [oneStep(counted("Notes.Write"))], middleware: [{ name: "Own" }] });
    await t.run(intentType);
    expect(hooksOf(t)).toEqual([
      ...["before Trace", "before Policy", "before Approval", "before Timeout"],
      ...["after Timeout", "after Own", "after Approval", "after Policy", "after Trace"],
    ]);
    expect((await refusalOf(createKernel({ middleware: [{ name: "Trace" }] }))).code).toBe("T4_MIDDLEWARE_VIOLATION");
  });

  it("[NOT-06] the StepResult", () => {
    expect(Object.keys(StepResult.shape)).toEqual(["data", "output_text", "status"]);
    expect(StepResult.shape.status.options).toEqual(["COMPLETED", "BLOCKED", "FAILED"]);
    expect(StepResult.parse({ data: null, output_text: "", status: "FAILED" })).toEqual({
      data: null,
      output_text: "",
      status: "FAILED",
    });
  });

  it("[NOT-06] is_retry is true from the second attempt on, and skips Policy and Approval", async () => {
    const seen: [number, boolean][] = [];
    const own: Middleware = { name: "Own", before: (ctx) => void seen.push([ctx.attempt, ctx.is_retry]) };
    const write = always(busy);
    await using t = await once({ capabilities: [oneStep(write)], middleware: [own] });
    await t.run(intentType);
    expect(seen).toEqual([
      [1, false],
      [2, true],
      [3, true],
    ]);
    expect(write.calls.map((c) => c.isRetry)).toEqual([false, true, true]);
    const asked = hooksOf(t).filter((hook) => hook === "before Policy" || hook === "before Approval");
    expect(asked).toEqual(["before Policy", "before Approval"]);
  });

  it("[NOT-06] the timeout is written by Timeout alone, from the metadata; its default is 60 s", async () => {
    const seen: number[] = [];
    const refused: string[] = [];
    const own: Middleware = {
      name: "Own",
      before(ctx) {
        seen.push(ctx.timeout);
        try {
          (ctx as { timeout: number }).timeout = 999;
        } catch (thrown) {
          refused.push((thrown as { readonly error: { readonly code: string } }).error.code);
        }
      },
      after: (ctx) => void seen.push(ctx.timeout),
    };
    const [limited, bare] = [counted("Notes.Write", { timeoutSec: 7 }), counted("Notes.Bare")];
    const steps = [planStep("s1", limited), planStep("s2", bare, { depends_on: ["s1"] })];
    await using t = await once({ capabilities: [packageOf([limited, bare], steps)], middleware: [own] });
    await t.run(intentType);
    expect(seen).toEqual([0, 7, 0, 0]);
    expect(refused).toEqual(["T4_MIDDLEWARE_VIOLATION", "T4_MIDDLEWARE_VIOLATION"]);
    expect(t.marks.filter((m) => m.stage === "skill.execute").map((m) => m["timeout_ms"])).toEqual([7_000, 60_000]);
  });

  it.each([
    ["{{s1.output}}", { a: { b: 1 }, list: ["x"] }],
    ["{{s1.output.a.b}}", 1],
    ["{{ s1.output.a.b }}", 1],
    ["{{s1.output.list.0}}", "x"],
    ["b is {{s1.output.a.b}}", "b is 1"],
    ["a is {{s1.output.a}}", 'a is {"b":1}'],
    ["{{s2.output}}", "{{s2.output}}"],
    ["{{s1.output.none}}", "{{s1.output.none}}"],
    ["{{s1}}", "{{s1}}"],
    ["{s1.output}", "{s1.output}"],
  ])("[NOT-06] the template %s", (template, resolved) => {
    expect(resolveTemplates(template, { s1: { a: { b: 1 }, list: ["x"] } })).toEqual(resolved);
  });

  it.each([
    ["NONE", 1, []],
    ["STANDARD", 3, [2, 4]],
    ["AGGRESSIVE", 5, [2, 4, 8, 16]],
  ])("[NOT-06] retry %s: %i attempts, 2^attempt seconds between them", async (retry, attempts, pauses) => {
    const at: number[] = [];
    const write = counted("Notes.Write", { retry }, () => {
      at.push(clock().now());
      throw busy;
    });
    await using t = await once({ capabilities: [oneStep(write)] });
    const clock = (): TestKernel["clock"] => t.clock;
    await t.run(intentType);
    expect(at).toHaveLength(attempts);
    expect(at.slice(1).map((ms, i) => (ms - (at[i] as number)) / 1000)).toEqual(pauses);
  });

  it.each([
    ["transient", 3],
    ["timeout", 3],
    ["dependency", 1],
    ["validation", 1],
    ["authorization", 1],
    ["policy_denied", 1],
    ["operator_bug", 1],
  ] as const)("[NOT-06] retry: what an operator calls %s is tried %i times", async (category, attempts) => {
    const write = always(operatorError({ code: "X", message: "x", category }));
    await using t = await once({ capabilities: [oneStep(write)] });
    await t.run(intentType);
    expect(write.calls).toHaveLength(attempts);
  });
});

const hooksOf = (t: TestKernel): string[] =>
  t.marks.filter((m) => m.stage.startsWith("middleware.")).map((m) => `${m.stage.slice(11)} ${String(m["name"])}`);
