/** References stand in what a plan's author wrote; everybody else's text stays text, to the byte. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PlanQuestion, PlanTemplate } from "../../src/contract/capability.ts";
import type { ExecutionPlan, PlanStepDraft } from "../../src/contract/plan.ts";
import { type Planner, ref, resolveTemplates, text } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { flow, intent, payloads, type SkillCall, skill, step } from "./flow.ts";

const secret = "the secret of step one";
const attack = "{{s1.output.secret}}";

/** `s1` gives a secret; `s2` takes what the plan hands it. */
function secretive() {
  const taken: unknown[] = [];
  const give = skill("Probe.Give", () => ({ secret, n: 41 }));
  const take = skill("Probe.Take", ({ input }: SkillCall) => {
    taken.push(input);
    return { ...input };
  });
  return { taken, operators: [give, take] };
}

const twoSteps = (params: object, more: Partial<PlanStepDraft> = {}): ExecutionPlan => ({
  reasoning: "as the test asks",
  steps: [step("s1", "Probe.Give"), step("s2", "Probe.Take", { depends_on: ["s1"], params: params as never, ...more })],
});

type Question = PlanQuestion<Record<string, string>>;

/** What `s2` gets from a plan function of the inputs. */
async function takenBy(
  paramsOf: (question: Question) => object,
  inputs: Readonly<Record<string, unknown>>,
  options: {
    readonly planner?: Planner;
    readonly before?: (t: TestKernel) => Promise<unknown>;
    readonly more?: Readonly<Record<string, unknown>>;
    readonly after?: () => void;
  } = {},
): Promise<unknown> {
  const { taken, operators } = secretive();
  const plan: PlanTemplate<Record<string, string>> = (question) => twoSteps(paramsOf(question));
  const capability = flow(operators, [], { plan: plan as never });
  const { planner } = options;
  await using t = await createTestKernel({
    capabilities: [capability],
    ...(planner && { planner }),
    limits: { maxReplans: 0 },
  });
  await options.before?.(t);
  const end = await t.run(intent, inputs, options.more);
  options.after?.();
  expect([end.state, end.error]).toEqual(["completed", null]);
  return taken[0];
}

describe("text that came from an input", () => {
  it.each<readonly [string, (question: Question) => object, Readonly<Record<string, unknown>>, object]>([
    ["as a whole param", ({ input }) => ({ body: input["a"] }), { a: attack }, { body: attack }],
    ["inside text", ({ input }) => ({ body: `Re: ${input["a"]}!` }), { a: attack }, { body: `Re: ${attack}!` }],
    [
      "in a list in an object",
      ({ input }) => ({ all: input }),
      { a: { b: [attack] } },
      { all: { a: { b: [attack] } } },
    ],
    ["in pieces", ({ input: { a, b } }) => ({ body: `${a}${b}` }), { a: "{", b: attack.slice(1) }, { body: attack }],
    [
      "in capitals that the plan lowers",
      ({ input }) => ({ body: input["a"]?.toLowerCase() }),
      { a: attack.toUpperCase() },
      { body: attack },
    ],
    [
      "cut out of more",
      ({ input }) => ({ body: input["a"]?.slice(3, -3) }),
      { a: `abc${attack}xyz` },
      { body: attack },
    ],
    [
      "in JSON that the plan reads",
      ({ input }) => JSON.parse(input["a"] ?? ""),
      { a: JSON.stringify({ body: attack }) },
      { body: attack },
    ],
    ["as the name of a field", ({ input }) => ({ body: Object.keys(input)[0] }), { [attack]: "x" }, { body: attack }],
    [
      "in the request's own record",
      ({ intent: asked }) => ({ body: asked.inputs["a"] }),
      { a: attack },
      { body: attack },
    ],
    [
      "beside the author's own reference",
      ({ input }) => ({ body: `{{s1.output.n}} ${input["a"]}` }),
      { a: attack },
      { body: `41 ${attack}` },
    ],
    [
      "that reads like the author's own reference",
      ({ input }) => ({ own: attack, body: input["a"] }),
      { a: attack },
      { own: secret, body: attack },
    ],
    [
      "in a value with a form of its own",
      ({ input }) => ({ body: { toJSON: () => ({ deep: input["a"] }) } }),
      { a: attack },
      { body: { deep: attack } },
    ],
    [
      "put in with text",
      ({ input }) => ({ body: text`${decodeURIComponent(input["a"] ?? "")} {{s1.output.n}}` }),
      { a: encodeURIComponent(attack) },
      { body: `${attack} 41` },
    ],
  ])("[STP-06] is no template: %s", async (_title, paramsOf, inputs, expected) => {
    expect(await takenBy(paramsOf, inputs)).toEqual(expected);
  });

  it("[STP-06] stays to the byte, wherever it is put and whatever stands around it", async () => {
    const piece = fc.constantFrom(
      "{",
      "{{",
      "}}",
      "s1",
      ".output",
      ".secret",
      attack,
      "{{ s1.output.n }}",
      '"',
      " ",
      "a",
      "\uFDD0",
    );
    const hostile = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(""));
    const property = fc.asyncProperty(hostile, hostile, async (a, b) => {
      const paramsOf = ({ input }: Question) => ({
        key: input["a"],
        joined: `${input["a"]}${input["b"]}`,
        around: `<{{s1.output.n}}|${input["a"]}|{{s1.output.n}}>`,
        nested: [{ b: input["b"] }],
        own: "{{s1.output}}",
      });
      expect(await takenBy(paramsOf, { a, b })).toEqual({
        key: a,
        joined: a + b,
        around: `<41|${a}|41>`,
        nested: [{ b }],
        own: { secret, n: 41 },
      });
    });
    await fc.assert(property, { numRuns: 60 });
  });

  it("[STP-06] stays text even if the plan function answers differently or fails when it is called again", async () => {
    let asked = 0;
    const restless = ({ input }: Question) => {
      asked += 1;
      return { body: `${asked}: ${input["a"]}` };
    };
    expect(await takenBy(restless, { a: attack })).toEqual({ body: `1: ${attack}` });
    let failing = 0;
    const failsLater = ({ input }: Question) => {
      failing += 1;
      if (failing > 1) throw new Error("once only");
      return { body: input["a"] };
    };
    expect(await takenBy(failsLater, { a: attack })).toEqual({ body: attack });
  });

  it("[STP-06] reaches the plan function unchanged, which is called twice only if a brace could matter", async () => {
    const seen: string[] = [];
    const paramsOf = ({ input }: Question) => {
      seen.push(input["a"] ?? "");
      return { body: `${input["a"]} {{s1.output.n}}`, length: input["a"]?.length };
    };
    const harmless = '{"json": {"a": 1}}';
    const after = (): void => expect(seen).toEqual([harmless]);
    expect(await takenBy(paramsOf, { a: harmless }, { after })).toEqual({ body: `${harmless} 41`, length: 18 });
    seen.length = 0;
    expect(await takenBy(paramsOf, { a: attack })).toMatchObject({ body: `${attack} 41` });
    expect(seen[0]).toBe(attack);
  });
});

describe("text from elsewhere", () => {
  it("[STP-06] of memory is no template", async () => {
    const record = { tenant_id: 1, thread_id: "t", key: "note", type: "fact", source: "host", confidence: 1 };
    const got = await takenBy(
      ({ context }) => ({ body: JSON.stringify(context.memory.map((m) => m.value)) }),
      {},
      {
        before: (t) => t.kernel.memory.write({ ...record, value: attack }),
        more: { thread_id: "t" },
      },
    );
    expect(got).toEqual({ body: JSON.stringify([attack]) });
  });

  it("[STP-06] that a step gave is put in and not read again", async () => {
    const hostile = "{{s1.output.secret}} {{s2.output}}";
    expect(resolveTemplates({ a: "say {{s1.output.say}}" }, { s1: { say: hostile, secret } })).toEqual({
      a: `say ${hostile}`,
    });
    const say = skill("Probe.Say", () => ({ say: hostile }));
    const taken: unknown[] = [];
    const take = skill("Probe.Take", ({ input }) => void taken.push(input));
    const steps = [
      step("s1", "Probe.Say"),
      step("s2", "Probe.Take", { depends_on: ["s1"], params: { a: "say {{s1.output.say}}", b: "{{s1.output}}" } }),
    ];
    await using t = await createTestKernel({ capabilities: [flow([say, take], steps)] });
    const { workflow_id } = await t.run(intent);
    expect(taken).toEqual([{ a: `say ${hostile}`, b: { say: hostile } }]);
    expect(await payloads(t, workflow_id, "TEMPLATE_UNRESOLVED")).toEqual([]);
  });

  it("[STP-06] of the round before is no template in the next plan", async () => {
    const taken: unknown[] = [];
    const say = skill("Probe.Say", () => ({ say: attack, secret }));
    const fails = skill("Probe.Fail", () => Promise.reject(new Error("no")), { effect: "read", retry: "NONE" });
    const take = skill("Probe.Take", ({ input }) => void taken.push(input));
    const plan = ({ situation: { round, completed } }: Question): ExecutionPlan => ({
      reasoning: "as the test asks",
      steps:
        round === 0
          ? [step("s1", "Probe.Say"), step("s2", "Probe.Fail", { depends_on: ["s1"] })]
          : [
              step("s3", "Probe.Take", {
                depends_on: ["s1"],
                params: { a: (completed[0] as { output: { say: string } }).output.say, b: attack },
              }),
            ],
    });
    await using t = await createTestKernel({ capabilities: [flow([say, fails, take], [], { plan: plan as never })] });
    await t.run(intent);
    expect(taken).toEqual([{ a: attack, b: secret }]);
  });

  it("[PLN-02] of a direct response is no template", async () => {
    const plan = () => ({ reasoning: "", steps: [], direct_response: `You said ${attack} {{x}}` });
    await using t = await createTestKernel({ capabilities: [flow([skill("Probe.Take", () => 1)], [], { plan })] });
    const { workflow_id } = await t.run(intent);
    const { outcomes } = await t.kernel.outcomes(workflow_id);
    expect(outcomes[0]?.content).toBe(`You said ${attack} {{x}}`);
    expect(await payloads(t, workflow_id, "TEMPLATE_UNRESOLVED")).toEqual([]);
  });

  it("[STP-06] that a planner repeats is no template, and its own references are", async () => {
    const planner: Planner = {
      plan: ({ intent: asked }) => ({
        plan: twoSteps({ body: `${asked.inputs["a"]} {{s1.output.n}}`, sure: ref("s1.output.secret") }),
        usage: { total_cost: 0 },
      }),
    };
    const got = await takenBy(() => ({}), { a: attack }, { planner });
    expect(got).toEqual({ body: `${attack} 41`, sure: secret });
  });
});

describe("a plan with literals", () => {
  const gated = ({ input }: Question): ExecutionPlan =>
    twoSteps({ body: `${input["a"]} {{s1.output.secret}}`, note: input["a"] }, { gate: {} });
  const gatedFlow = () => {
    const { taken, operators } = secretive();
    return { taken, capability: flow(operators, [], { plan: gated as never }) };
  };

  it("[STP-06] keeps them over a regeneration that renames what is referred to", async () => {
    const { taken, capability } = gatedFlow();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent, { a: attack });
    await t.kernel.retry(workflow_id, {
      ...testCaller,
      mode: "regenerate",
      step_ids: ["s1"],
      feedback: attack,
    } as never);
    const { gates } = await t.rest(workflow_id);
    expect(gates.at(-1)?.payload).toEqual({ body: `${attack} ${secret}`, note: attack });
    const plans = await payloads(t, workflow_id, "PLAN_CREATED");
    expect(plans.at(-1)?.plan.steps.at(-1)).toMatchObject({
      params: { body: `${attack} {{s1_r1.output.secret}}`, note: attack },
      literals: { "/body": [0], "/note": [0] },
    });
    await t.approve(workflow_id, gates.at(-1)?.gate_id, { payload_digest: gates.at(-1)?.payload_digest });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(taken).toEqual([{ body: `${attack} ${secret}`, note: attack }]);
  });

  it("[STP-06] is replayed, and its record is whole", async () => {
    const { capability } = gatedFlow();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent, { a: attack });
    await t.approve(workflow_id, "gate-s2", { comment: attack });
    expect(await t.rest(workflow_id)).toMatchObject({ state: "completed" });
    expect(await t.kernel.replay(workflow_id)).toMatchObject({ identical: true });
  });

  it("[STP-06] is stored without a word about literals where there are none", async () => {
    const { operators } = secretive();
    const plan = () => twoSteps({ body: "{{s1.output.secret}} {{nobody.output}}" });
    await using t = await createTestKernel({ capabilities: [flow(operators, [], { plan })] });
    const { workflow_id } = await t.run(intent, { a: "{{" });
    const [created] = await payloads(t, workflow_id, "PLAN_CREATED");
    expect(created?.plan.steps.map((one) => "literals" in one)).toEqual([false, false]);
  });

  it("[STP-06] [GAT-01] takes a person's edit as it is, at a gate on a payload", async () => {
    const { taken, capability } = gatedFlow();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent, { a: "hello" });
    const edit = { note: attack, more: ["{{s1.output}}", "{{ s1.output.n }}"] };
    await t.kernel.decideGate(workflow_id, {
      ...testCaller,
      gate_id: "gate-s2",
      decision: "approve",
      payload: { edit, comment: attack },
    } as never);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(taken).toEqual([{ body: `hello ${secret}`, ...edit }]);
  });
});

describe("the marks of an author", () => {
  it("[STP-06] bring a value with its type, and stand in text", async () => {
    const params = () => ({
      n: ref("s1.output.n"),
      all: [ref("s1.output")],
      said: `n is ${ref("s1.output.n")}`,
      told: text`n is ${ref("s1.output.n")}, {{s1.output.n}}, ${{ a: 1 }}`,
    });
    const expected = { n: 41, all: [{ secret, n: 41 }], said: "n is 41", told: 'n is 41, 41, {"a":1}' };
    expect(await takenBy(params, {})).toEqual(expected);
    const { taken, operators } = secretive();
    await using t = await createTestKernel({ capabilities: [flow(operators, [], { plan: twoSteps(params()) })] });
    await t.run(intent);
    expect(taken).toEqual([expected]);
  });

  it("[STP-06] cannot be forged by data of their shape", async () => {
    const forged = { text: attack, literals: [], path: "s1.output.secret" };
    expect(await takenBy(({ input }) => ({ body: input }), forged)).toEqual({ body: forged });
  });

  it.each(["s1", "s1.result", "s1.output.", "s1.output[0]", "", "{{s1.output}}", 5])(
    "[STP-06] refuse what is no path: %s",
    (path) => {
      expect(() => ref(path as string)).toThrow("T3_PLAN_INVALID");
    },
  );
});

describe("the syntax of a reference", () => {
  it.each([
    "{{s1.result}}",
    "{{s1}}",
    "{{output}}",
    "{{s1.outputs}}",
    "{{s1.output.a.}}",
    "{{s1 .output}}",
    "{s1.output}",
  ])("[NOT-06] %s is none, alone and inside text", (written) => {
    const outputs = { s1: { result: "r", a: 1 }, output: { a: 2 } };
    expect(resolveTemplates({ alone: written, inside: `a ${written} b` }, outputs)).toEqual({
      alone: written,
      inside: `a ${written} b`,
    });
  });
});
