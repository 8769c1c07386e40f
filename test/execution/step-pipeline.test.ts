// The step pipeline: templates, checks, the call, and what becomes of its result (seed 002 sections 4, 5, 9).
// The pure pieces (templates, previews, the schema) are tested alone, everything else on the real kernel.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Middleware, SkillExecutionContext } from "../../src/index.ts";
import { operatorError, resolveTemplates, StepResult, StepStatus, tracePreview } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/test-kernel.ts";
import { fieldsOf, flow, intent, last, named, oneStep, payloads, type SkillCall, skill, step } from "./flow.ts";

const noReplans = { limits: { maxReplans: 0 } };

/** What step `s2` is called with when `params` refer to the output of `s1`. */
async function resolvedInKernel(output: unknown, params: Readonly<Record<string, unknown>>): Promise<unknown> {
  const seen: unknown[] = [];
  const give = skill("Probe.Give", () => output);
  const take = skill("Probe.Take", ({ input }) => void seen.push(input));
  const steps = [step("s1", "Probe.Give"), step("s2", "Probe.Take", { params, depends_on: ["s1"] } as never)];
  await using t = await createTestKernel({ capabilities: [flow([give, take], steps)], ...noReplans });
  await t.run(intent);
  return seen[0];
}

async function assistantTexts(t: TestKernel, workflowId: string): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const delta of t.kernel.assistant(workflowId, { live: false }))
    if ("text" in delta) texts.push(delta.text);
  return texts;
}

describe("the order of a step", () => {
  const pipeline = [
    "security.validate_params",
    "schema.validate",
    "skill.execute",
    "security.validate_output",
    "policy.record_step_cost",
    "trace.append",
  ];

  it("[STP-01] a step passes its seven stages in the seed's order; templates are resolved first", async () => {
    const give = skill("Probe.Give", () => 7);
    const take = skill("Probe.Take", () => "done");
    const steps = [
      step("s1", "Probe.Give"),
      step("s2", "Probe.Take", { params: { n: "{{s1.output}}" }, depends_on: ["s1"] }),
    ];
    const checked: unknown[] = [];
    const validateParams = (params: unknown) => ({ ok: checked.push(params) > 0 }) as { ok: true };
    const capabilities = [flow([give, take], steps)];
    await using t = await createTestKernel({ capabilities, security: { validateParams } });
    expect((await t.run(intent)).state).toBe("completed");
    const from = t.marks.findIndex((m) => m.stage === "step.execute" && m["step_id"] === "s2");
    const stages = t.marks.slice(from).filter((m) => pipeline.includes(m.stage));
    expect(stages.map((m) => m.stage)).toEqual(pipeline);
    expect(checked).toEqual([{}, { n: 7 }]);
  });

  it("[STP-01] observers of the stages see no param, output or text, since policy masks them later", async () => {
    const secret = "iban-DE02";
    const act = skill("Probe.Act", () => ({ back: secret }));
    const one = oneStep(act, { params: { iban: secret } } as never);
    await using t = await createTestKernel({ capabilities: [one] });
    expect((await t.run(intent, {}, { input: { text: secret } } as never)).state).toBe("completed");
    expect(t.marks.map(({ stage }) => stage)).toContain("security.validate_params");
    expect(JSON.stringify(t.marks)).not.toContain(secret);
  });

  it("[STP-01] the checks and the skill themselves are called in that order, each once", async () => {
    const seen: string[] = [];
    const spy = (name: string) => seen.push(name) > 0;
    const input = z.object({}).refine(() => spy("schema"));
    const act = skill("Probe.Act", () => spy("skill"), { input });
    const security = {
      validateParams: () => ({ ok: spy("validateParams") }) as { ok: true },
      validateOutput: () => ({ ok: spy("validateOutput") }) as { ok: true },
    };
    await using t = await createTestKernel({ capabilities: [oneStep(act)], security });
    // The definition has tried the schema out.
    seen.length = 0;
    await t.run(intent);
    expect(seen).toEqual(["validateParams", "schema", "skill", "validateOutput"]);
  });

  it("[STP-08] params that do not fit the schema fail the step before the skill is called", async () => {
    const calls: SkillCall[] = [];
    const act = skill("Probe.Act", (call) => void calls.push(call), { input: z.object({ n: z.int() }) });
    await using t = await createTestKernel({ capabilities: [oneStep(act, { params: { n: "five" } })], ...noReplans });
    const state = await t.run(intent);
    expect(calls).toEqual([]);
    expect(state.steps[0]).toMatchObject({ state: "failed", error: { code: "T4_PARAMS_INVALID", category: "input" } });
    expect(named(t, "skill.execute")).toEqual([]);
  });
});

describe("templates", () => {
  it.each([{ a: [1, 2] }, 7, true, null, [1, { b: 2 }], "text"])(
    "[STP-02] a param that is wholly one reference keeps the type of %j",
    async (output) => {
      expect(resolveTemplates({ p: "{{step_1.output}}" }, { step_1: output })).toEqual({ p: output });
      expect(await resolvedInKernel(output, { p: "{{ s1.output }}" })).toEqual({ p: output });
    },
  );

  it("[STP-03] nested references descend into the output, by own properties and indices only", () => {
    const outputs = { step_1: { field: { sub: 7 }, list: ["a", { deep: true }] } };
    expect(resolveTemplates("{{step_1.output.field.sub}}", outputs)).toBe(7);
    expect(resolveTemplates("{{step_1.output.list.1.deep}}", outputs)).toBe(true);
    for (const path of ["list.length", "constructor", "__proto__", "field.toString"])
      expect(resolveTemplates(`{{step_1.output.${path}}}`, outputs)).toBe(`{{step_1.output.${path}}}`);
  });

  it("[STP-04] inside text every reference is put in as text", () => {
    const outputs = { step_1: "bob", step_2: { n: 3 } };
    expect(resolveTemplates("hello {{step_1.output}}!", outputs)).toBe("hello bob!");
    expect(resolveTemplates("{{step_1.output}} has {{step_2.output.n}}, {{step_1.output}}", outputs)).toBe(
      "bob has 3, bob",
    );
  });

  it("[STP-05] inside text objects, lists and model objects become JSON, never [object Object]", () => {
    class Model {
      toJSON() {
        return { kind: "model", when: new Date(0) };
      }
    }
    const outputs = { a: { a: 1 }, list: [1, "x"], model: new Model(), nested: { inner: new Model() } };
    expect(resolveTemplates("x={{a.output}}", outputs)).toBe('x={"a":1}');
    expect(resolveTemplates("x={{list.output}}", outputs)).toBe('x=[1,"x"]');
    const plain = '{"kind":"model","when":"1970-01-01T00:00:00.000Z"}';
    expect(resolveTemplates("x={{model.output}}", outputs)).toBe(`x=${plain}`);
    expect(resolveTemplates("x={{nested.output}}", outputs)).toBe(`x={"inner":${plain}}`);
    expect(resolveTemplates("{{model.output}}", outputs)).toEqual(JSON.parse(plain));
  });

  it("[STP-06] an unresolved reference stays as it was written", () => {
    const outputs = { step_1: { some: 1 } };
    for (const text of ["{{step_9.output}}", "a {{step_1.output.none}} b", "{{step_1}}", "{{step_1.input}}", "{{}}"])
      expect(resolveTemplates({ text }, outputs)).toEqual({ text });
  });

  it("[STP-06] braces that refer to no output reach the skill unchanged, and the ledger records that", async () => {
    const seen: unknown[] = [];
    const act = skill("Probe.Act", ({ input }) => void seen.push(input));
    await using t = await createTestKernel({
      capabilities: [oneStep(act, { params: { p: "a {{name}} b {{s1.input}}" } })],
    });
    const { workflow_id } = await t.run(intent);
    expect(seen).toEqual([{ p: "a {{name}} b {{s1.input}}" }]);
    expect(await payloads(t, workflow_id, "TEMPLATE_UNRESOLVED")).toEqual([
      { references: ["{{name}}", "{{s1.input}}"] },
    ]);
  });

  it("[STP-06] [A-45] a step that this one does not depend on is not there for it, whoever ran first", async () => {
    const seen: unknown[] = [];
    const give = skill("Probe.Give", () => "early");
    const take = skill("Probe.Take", ({ input }) => void seen.push(input));
    const steps = [
      step("s1", "Probe.Give"),
      step("s2", "Probe.Give", { depends_on: ["s1"] }),
      step("s3", "Probe.Give"),
      step("s4", "Probe.Take", { params: { far: "{{s1.output}}", aside: "{{s3.output}}" }, depends_on: ["s2"] }),
    ];
    await using t = await createTestKernel({ capabilities: [flow([give, take], steps)], ...noReplans });
    const { workflow_id, steps: done } = await t.run(intent);
    expect(seen).toEqual([]);
    expect(done.at(-1)?.error).toMatchObject({
      code: "T4_PARAMS_UNRESOLVED",
      detail: { references: [{ path: "/aside", reference: "{{s3.output}}" }] },
    });
    expect(await payloads(t, workflow_id, "TEMPLATE_UNRESOLVED")).toEqual([{ references: ["{{s3.output}}"] }]);
  });

  it("[STP-07] resolution recurses through objects and lists and leaves other values alone", async () => {
    const params = { a: ["{{s1.output}}", { b: "{{s1.output}}" }], n: 3, off: false, none: null };
    const resolved = { a: [5, { b: 5 }], n: 3, off: false, none: null };
    expect(resolveTemplates(params, { s1: 5 })).toEqual(resolved);
    expect(await resolvedInKernel(5, params)).toEqual(resolved);
  });
});

describe("the execution context", () => {
  const watch = (seen: SkillExecutionContext[], before: (context: SkillExecutionContext) => void = () => undefined) =>
    ({
      name: "watch",
      before: (context) => {
        seen.push(fieldsOf(context));
        before(context);
      },
    }) satisfies Middleware;

  const failing = (times: number) => (call: SkillCall) => {
    if (call.attempt <= times) throw operatorError({ code: "BUSY", category: "transient", message: "busy" });
    return "done";
  };

  it("[STP-09] the first middleware of attempt 1 sees every field, timeout 0 and attempt 1", async () => {
    const seen: SkillExecutionContext[] = [];
    const act = skill("Probe.Act", () => "done", { timeoutSec: 9 });
    await using t = await createTestKernel({
      capabilities: [oneStep(act, { params: { p: 1 } })],
      middleware: [watch(seen)],
    });
    const { workflow_id } = await t.run(intent);
    expect(seen[0]).toEqual({
      request_id: workflow_id,
      step_id: "s1",
      skill_name: "Probe.Act",
      params: { p: 1 },
      state: {},
      skill: expect.anything(),
      metadata: act.metadata,
      trace: expect.any(Object),
      timeout: 0,
      attempt: 1,
      start_time: t.clock.now(),
      is_retry: false,
    });
  });

  it("[STP-10] is_retry is true exactly from attempt 2 on, and cannot be written", async () => {
    const seen: SkillExecutionContext[] = [];
    const refused: unknown[] = [];
    const write = (context: SkillExecutionContext): void => {
      try {
        (context as { is_retry: boolean }).is_retry = !context.is_retry;
      } catch (thrown) {
        refused.push(thrown);
      }
      seen.push(fieldsOf(context));
    };
    const act = skill("Probe.Act", failing(2));
    await using t = await createTestKernel({
      capabilities: [oneStep(act)],
      middleware: [{ name: "watch", before: write }],
    });
    expect((await t.run(intent)).state).toBe("completed");
    expect(seen.map((c) => [c.attempt, c.is_retry])).toEqual([
      [1, false],
      [2, true],
      [3, true],
    ]);
    expect(refused).toHaveLength(3);
  });

  it("[STP-11] a retry repeats no approval, policy decision, notification or guarded side effect", async () => {
    const effects: number[] = [];
    const told: unknown[] = [];
    const calls: number[] = [];
    const once: Middleware = {
      name: "once",
      before: (context) => {
        if (!context.is_retry) effects.push(context.attempt);
      },
    };
    const act = skill("Probe.Act", (call) => {
      calls.push(call.attempt);
      return failing(1)(call);
    });
    await using t = await createTestKernel({
      capabilities: [oneStep(act, { gate: { reason: "a person looks first" } })],
      middleware: [once],
      notify: (notification) => told.push(notification),
    });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(calls).toEqual([1, 2]);
    expect(effects).toEqual([1]);
    expect(await payloads(t, workflow_id, "GATE_OPENED")).toHaveLength(1);
    const decided = await payloads(t, workflow_id, "POLICY_DECIDED");
    expect(decided.filter((d) => d.stage === "action")).toHaveLength(1);
    expect(told.filter((n) => JSON.stringify(n).includes("gate_opened"))).toHaveLength(1);
  });
});

describe("the result of a step", () => {
  it("[STP-12] a StepResult is data, output_text and one of three statuses", () => {
    expect(StepStatus.options).toEqual(["COMPLETED", "BLOCKED", "FAILED"]);
    for (const status of StepStatus.options)
      expect(StepResult.safeParse({ data: { any: [1] }, output_text: "t", status }).success).toBe(true);
    const valid = { data: 1, output_text: "t", status: "COMPLETED" };
    for (const broken of [{ status: "DONE" }, { output_text: 5 }, { output_text: undefined }])
      expect(StepResult.safeParse({ ...valid, ...broken }).success).toBe(false);
  });

  it("[STP-13] data is kept raw for later steps, and output_text is what people read", async () => {
    const raw = { list: [1, { x: true }] };
    const seen: unknown[] = [];
    const give = skill("Probe.Give", () => ({ data: raw, output_text: "found one thing", status: "COMPLETED" }));
    const take = skill("Probe.Take", ({ input }) => void seen.push(input));
    const steps = [
      step("s1", "Probe.Give"),
      step("s2", "Probe.Take", { params: { got: "{{s1.output}}" }, depends_on: ["s1"] }),
    ];
    await using t = await createTestKernel({ capabilities: [flow([give, take], steps)] });
    const { workflow_id } = await t.run(intent);
    expect(seen).toEqual([{ got: raw }]);
    expect(await assistantTexts(t, workflow_id)).toContain("found one thing");
    expect((await payloads(t, workflow_id, "STEP_SUCCEEDED"))[0]).toMatchObject({ output: raw });
  });

  it("[STP-14] a preview is bounded text that JSON can carry, whatever it is given", () => {
    const cycle: Record<string, unknown> = { name: "loop", run: () => 1, big: 1n, when: new Date(0) };
    cycle["self"] = cycle;
    const broken = {
      get field() {
        throw new Error("cannot be read");
      },
    };
    const big = "x".repeat(1_000_000);
    for (const value of [big, cycle, { deep: [cycle, big] }, undefined, () => 1, Symbol("s"), [undefined], broken]) {
      const preview = tracePreview(value);
      expect(preview.length).toBeLessThanOrEqual(500);
      expect(JSON.parse(JSON.stringify(preview))).toBe(preview);
    }
    expect(tracePreview(cycle)).toContain("loop");
    expect(tracePreview({ text: "abcdef" }, 5)).toBe('{"tex');
    expect(tracePreview(`begin${big}`, 20)).toMatch(/^"begin/);
  });

  it("[STP-14] the trace of a step that returned a megabyte holds its preview", async () => {
    await using t = await createTestKernel({
      capabilities: [oneStep(skill("Probe.Act", () => "x".repeat(1_000_000)))],
    });
    const { workflow_id } = await t.run(intent);
    const [traced] = (await t.kernel.trace(workflow_id)).steps;
    expect(traced?.output_data).toMatch(/^"x+/);
    expect(JSON.stringify(traced).length).toBeLessThan(2_000);
  });

  it("[STP-15] a plain string becomes a StepResult", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(skill("Probe.Act", () => "done"))] });
    const { workflow_id } = await t.run(intent);
    expect(last(await payloads(t, workflow_id, "STEP_SUCCEEDED"))).toMatchObject({
      output: "done",
      output_text: "done",
      status: "COMPLETED",
    });
  });

  it.each(["COMPLETED", "BLOCKED", "FAILED"] as const)(
    "[STP-16] sanitising leaves the status %s as it was",
    async (status) => {
      const act = skill("Probe.Act", () => ({ data: "the secret", output_text: "the secret", status }));
      const validateOutput = () => ({ ok: false as const, reason: "a secret" });
      await using t = await createTestKernel({
        capabilities: [oneStep(act)],
        security: { validateOutput },
        ...noReplans,
      });
      const { workflow_id } = await t.run(intent);
      const [traced] = (await t.kernel.trace(workflow_id)).steps;
      expect(traced?.status).toBe(status);
      const [action] = await t.kernel.actions(workflow_id);
      expect(action?.result_payload).toEqual({ data: "[Output sanitized]", output_text: "[Output sanitized]", status });
    },
  );
});
