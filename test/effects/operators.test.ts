/**
 * Operators in a run: registered by name and version, structured in failure, and a model call is one like any other.
 */
import { describe, expect, it } from "vitest";
import { type CapabilityDefinition, defineOperator, operatorError } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { anyObject, counted, eventsOf, intent, payloads, refusalOf, step, story } from "../gates/story.ts";

describe("operators are registered", () => {
  it("[OPR-04] a type registered at run time is used by a plan; its action names it with its version", async () => {
    const seen: unknown[] = [];
    const late = defineOperator({
      name: "Brand.New",
      version: "3.2",
      input: anyObject,
      run: ({ input }) => {
        seen.push(input);
        return { done: true };
      },
    });
    const capability: CapabilityDefinition = {
      ...story([], [step("s1", { operator: late, name: "Brand.New", calls: [] }, { params: { a: 1 } })], {
        operators: ["Brand.New"],
      } as never),
      operators: ["Brand.New"],
    };
    await using t = await createTestKernel();
    expect(t.kernel.registerOperator(late)).toMatchObject({ name: "Brand.New", version: "3.2" });
    t.kernel.registerCapability(capability);
    const done = await t.run(intent);
    expect([done.state, seen]).toEqual(["completed", [{ a: 1 }]]);
    expect(await t.kernel.actions(done.workflow_id)).toMatchObject([
      { operator_name: "Brand.New", operator_version: "3.2", status: "succeeded" },
    ]);
  });

  it("[OPR-04] one that nobody registered is in no plan", async () => {
    const known = counted("Note.Work");
    const capability = story([known], [{ step_id: "s1", name: "s1", operator: "Nobody.Knows" }]);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id, state, error } = await t.run(intent);
    expect([state, error?.code]).toEqual(["failed", "T3_PLAN_UNKNOWN_OPERATOR"]);
    expect(await t.kernel.actions(workflow_id)).toEqual([]);
  });

  it("[OPR-04] a name and version stand for one operator: another under both is refused", async () => {
    const work = counted("Note.Work");
    await using t = await createTestKernel({ operators: [work.operator] });
    const again = Promise.resolve().then(() => t.kernel.registerOperator(counted("Note.Work").operator));
    expect((await refusalOf(again)).message).toContain("Note.Work");
  });
});

describe("a failing operator", () => {
  it("[OPR-03] leaves a structured error in its action, its step and the workflow", async () => {
    const work = counted("Note.Work", {}, () => {
      throw operatorError({
        code: "NO_BOARD",
        message: "no board 7",
        category: "dependency",
        retryable: false,
        retry_after_ms: 1500,
        details: { board: 7 },
      });
    });
    await using t = await createTestKernel({
      capabilities: [story([work], [step("s1", work)])],
      limits: { maxReplans: 0 },
    });
    const { workflow_id, steps } = await t.run(intent);
    const [failed] = await payloads(t, workflow_id, "ACTION_FAILED");
    expect(failed).toMatchObject({ category: "dependency", retryable: false, error: { message: "no board 7" } });
    expect(failed?.error.detail).toMatchObject({ board: 7 });
    const [action] = await t.kernel.actions(workflow_id);
    expect(action?.error).toEqual(failed?.error);
    expect(steps[0]?.error).toMatchObject({ message: "no board 7", retry_eligible: false });
  });

  it("[OPR-03] its hint is the pause before the next attempt, where it is longer than the policy's own", async () => {
    const work = counted("Note.Work", { retry: "STANDARD" }, () => {
      if (work.calls.length > 1) return {};
      throw operatorError({ code: "BUSY", message: "busy", category: "transient", retry_after_ms: 90_000 });
    });
    await using t = await createTestKernel({ capabilities: [story([work], [step("s1", work)])] });
    const id = await t.submit(intent);
    await t.clock.settle();
    await t.clock.advance(89_999);
    expect(work.calls).toHaveLength(1);
    await t.clock.advance(1);
    expect(work.calls).toHaveLength(2);
    expect((await t.rest(id)).state).toBe("completed");
  });
});

describe("a model call", () => {
  const usage = {
    tokens: { in: 30, out: 12, total: 42 },
    cost: { total: 0.02 },
    trace: { trace_id: "prov-1", trace_type: "chat" },
  };
  const marksOf = (t: TestKernel, stepId: string) =>
    t.marks.filter((m) => m["step_id"] === stepId).map((m) => `${m.stage} ${String(m["name"] ?? "")}`);

  it("[EXE-08] is an action with its provider's trace, tokens and cost", async () => {
    const write = counted("Model.Write", { kind: "llm" }, (call) => {
      call.usage(usage);
      return { text: "words" };
    });
    await using t = await createTestKernel({ capabilities: [story([write], [step("s1", write)])] });
    const { workflow_id } = await t.run(intent);
    const [action] = await t.kernel.actions(workflow_id);
    expect(action).toMatchObject({ ...usage, operator_name: "Model.Write", status: "succeeded" });
    expect(action?.idempotency_key).not.toBe("");
    expect((await payloads(t, workflow_id, "ACTION_SUCCEEDED"))[0]?.usage).toEqual(usage);
    expect(await t.kernel.trace(workflow_id)).toMatchObject({
      llm_calls: [{ operator_name: "Model.Write", ...usage }],
    });
  });

  it("[EXE-08] passes the same middleware, policy and records as any other operator", async () => {
    const model = counted("Model.Write", { kind: "llm" });
    const plain = counted("Note.Work");
    const rows = [step("m", model), step("p", plain, { depends_on: ["m"] })];
    await using t = await createTestKernel({ capabilities: [story([model, plain], rows)] });
    const { workflow_id } = await t.run(intent);
    expect(marksOf(t, "m")).toEqual(marksOf(t, "p"));
    expect(marksOf(t, "m")).toContain("middleware.before Policy");
    const events = await eventsOf(t, workflow_id);
    const typesOf = (id: string) => events.filter((e) => e.step_id === id).map((e) => e.event_type);
    expect(typesOf("m")).toEqual(typesOf("p"));
    expect(typesOf("m")).toContain("POLICY_DECIDED");
  });

  it("[EXE-06] two capabilities that share nothing run through the same stages in the same order", async () => {
    const a = counted("Garden.Water");
    const b = counted("Ledger.Close");
    const shape = (w: typeof a, prefix: string) => [
      step(`${prefix}1`, w),
      step(`${prefix}2`, w, { depends_on: [`${prefix}1`], gate: {} }),
    ];
    const garden = story([a], shape(a, "a"), { intentType: "Garden.Beds.Water" });
    const books = story([b], shape(b, "a"), { intentType: "Books.Year.Close" });
    await using t = await createTestKernel({ capabilities: [garden, books] });
    const seen: string[][] = [];
    const types: (readonly string[])[] = [];
    for (const [type, scope_type] of [
      ["Garden.Beds.Water", "garden"],
      ["Books.Year.Close", "company"],
    ] as const) {
      const from = t.marks.length;
      const { workflow_id } = await t.run(type, {}, { scope: { scope_type, scope_id: 1 } });
      await t.approve(workflow_id);
      expect((await t.rest(workflow_id)).state).toBe("completed");
      seen.push(t.marks.slice(from).map((m) => `${m.stage} ${String(m["step_id"] ?? "")} ${String(m["name"] ?? "")}`));
      types.push(await t.types(workflow_id));
    }
    // Once per kernel, not per run.
    const stages = seen.map((s) => s.filter((m) => !m.startsWith("ensure_initialized")));
    expect(stages[1]).toEqual(stages[0]);
    expect(types[1]).toEqual(types[0]);
  });
});
