/**
 * A reference to what a step did not give: its call is refused before policy, or takes the default that the author
 * gave.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ExecutionPlan } from "../../src/contract/plan.ts";
import { defineCapability, defineOperator, ref, resolveTemplates, text } from "../../src/index.ts";
import { createTestKernel, type TestKernelOptions } from "../../src/testing/index.ts";
import { refusalOf } from "../fixtures.ts";
import { flow, intent, payloads, type SkillCall, skill, step } from "./flow.ts";

const outputs = { s1: { there: "value", empty: null } };

/** `s1` gives two members; `s2` takes what the plan hands it. */
function taking(params: object, more: TestKernelOptions = {}, outcome?: string) {
  const taken: unknown[] = [];
  const asked: unknown[] = [];
  const give = skill("Probe.Give", () => outputs.s1);
  const take = skill("Probe.Take", ({ input }: SkillCall) => void taken.push(input));
  const steps = [
    step("s1", "Probe.Give", outcome === undefined ? {} : { outcome }),
    step("s2", "Probe.Take", { depends_on: ["s1"], params: params as never }),
  ];
  const watch = {
    name: "watch",
    stages: ["action" as const],
    evaluate({ subject }: { readonly subject: { readonly name: string } }) {
      asked.push(subject.name);
      return null;
    },
  };
  const options = { capabilities: [flow([give, take], steps)], policies: [watch], limits: { maxReplans: 0 }, ...more };
  return { taken, asked, open: () => createTestKernel(options as never) };
}

describe("a reference that gives nothing", () => {
  it.each<readonly [string, object, readonly (readonly [string, string])[]]>([
    ["alone", { to: "{{s1.output.b}}" }, [["/to", "{{s1.output.b}}"]]],
    ["made by ref", { to: ref("s1.output.b") }, [["/to", "{{s1.output.b}}"]]],
    ["in a text", { to: text`Dear ${ref("s1.output.b")}, ${"{{s1.output.c}}"}` }, [["/to", "{{s1.output.b}}"]]],
    ["in words", { to: "Welcome, you are {{s1.output.b}}" }, [["/to", "{{s1.output.b}}"]]],
    ["deep in a list", { all: [{ "a/b": ["{{ s1.output.b.c }}"] }] }, [["/all/0/a~1b/0", "{{ s1.output.b.c }}"]]],
    ["of a step that there is not", { to: "{{s9.output}}" }, [["/to", "{{s9.output}}"]]],
    ["below what is null", { to: "{{s1.output.empty.x}}" }, [["/to", "{{s1.output.empty.x}}"]]],
    [
      "in two places",
      { a: "{{s1.output.b}}", c: "x {{s1.output.d}} {{s1.output.there}}" },
      [
        ["/a", "{{s1.output.b}}"],
        ["/c", "{{s1.output.d}}"],
      ],
    ],
  ])("refuses the call before policy, %s, and names its path", async (_how, params, references) => {
    const { taken, asked, open } = taking(params);
    await using t = await open();
    const { state, steps } = await t.run(intent);
    expect([state, taken, asked]).toEqual(["failed", [], ["s1"]]);
    const named = references.map(([path, reference]) => ({ path, reference }));
    expect(steps[1]?.error).toMatchObject({ code: "T4_PARAMS_UNRESOLVED", detail: { references: named } });
    for (const [path] of references) expect(steps[1]?.error?.message).toContain(path);
  });

  it("is told to a person whose edit of the draft takes it away, and the gate stays as it was", async () => {
    const draft = skill("Probe.Draft", () => ({ more: { title: "draft" }, text: "words" }), { effect: "write_draft" });
    const sent: unknown[] = [];
    const send = skill("Probe.Send", ({ input }) => void sent.push(input), { effect: "final_write" });
    const params = { title: "{{draft.output.more.title}}", text: "{{draft.output.text}}" };
    const steps = [
      step("draft", "Probe.Draft", { outcome: "Note" }),
      step("send", "Probe.Send", {
        applies: "draft",
        depends_on: ["draft"],
        params,
        gate: { reason: "a person decides" },
      }),
    ];
    await using t = await createTestKernel({ capabilities: [flow([draft, send], steps)] });
    const { workflow_id, gates } = await t.run(intent);
    const refused = await refusalOf(t.approve(workflow_id, "gate-send", { edit: { more: {} } }));
    expect(refused).toMatchObject({
      code: "T4_PARAMS_UNRESOLVED",
      detail: { references: [{ path: "/title", reference: "{{draft.output.more.title}}" }] },
    });
    expect((await t.kernel.workflow(workflow_id)).gates).toEqual(gates);
    await t.approve(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(sent).toEqual([{ title: "draft", text: "words" }]);
  });

  it("stays literal in the resolution of templates, and so does what is no reference to an output", () => {
    const params = { a: "{{s1.output.b}}", b: "{{name}} {{s1.input}} {{s1.output.there ?? none}}" };
    expect(resolveTemplates(params, outputs)).toEqual(params);
  });
});

describe("a default", () => {
  it.each<readonly [string, object, object]>([
    ["of text", { to: ref("s1.output.b", { or: "nobody" }) }, { to: "nobody" }],
    [
      "of text with braces",
      { to: ref("s1.output.b", { or: "a {{s1.output.there}} } b" }) },
      { to: "a {{s1.output.there}} } b" },
    ],
    ["of a number", { n: ref("s1.output.b", { or: 0 }) }, { n: 0 }],
    ["of false", { on: ref("s1.output.b", { or: false }) }, { on: false }],
    ["of null", { to: ref("s1.output.b", { or: null }) }, { to: null }],
    ["of a list", { to: ref("s1.output.b", { or: ["a", 1] }) }, { to: ["a", 1] }],
    ["that leaves the member out", { a: 1, to: ref("s1.output.b", { or: undefined }) }, { a: 1 }],
    ["that leaves nothing in a list", { to: [ref("s1.output.b", { or: undefined })] }, { to: [null] }],
    ["in a text", { to: text`Dear ${ref("s1.output.b", { or: "customer" })}!` }, { to: "Dear customer!" }],
    ["in an author's own words", { to: `Dear ${ref("s1.output.b", { or: "customer" })}!` }, { to: "Dear customer!" }],
    ["written in a plan", { to: '{{ s1.output.b ?? "nobody" }}' }, { to: "nobody" }],
    ["of a step that there is not", { to: ref("s9.output", { or: 1 }) }, { to: 1 }],
    ["is not taken where there is a value", { to: ref("s1.output.there", { or: "nobody" }) }, { to: "value" }],
    ["is not taken where the value is null", { to: ref("s1.output.empty", { or: "nobody" }) }, { to: null }],
  ])("%s", async (_how, params, expected) => {
    const { taken, open } = taking(params);
    await using t = await open();
    const { state, workflow_id } = await t.run(intent);
    expect([state, taken]).toEqual(["completed", [expected]]);
    expect(await payloads(t, workflow_id, "TEMPLATE_UNRESOLVED")).toEqual([]);
    expect(resolveTemplates(params, outputs)).not.toBeNull();
  });

  it("follows its step into a plan that is made anew", async () => {
    let fails = true;
    const taken: unknown[] = [];
    const give = skill("Probe.Give", () => ({}), { retry: "NONE" });
    const take = skill(
      "Probe.Take",
      ({ input }) => {
        taken.push(input);
        if (fails) {
          fails = false;
          throw new Error("not yet");
        }
      },
      { retry: "NONE", effect: "none" },
    );
    const steps = [
      step("s1", "Probe.Give"),
      step("s2", "Probe.Take", { depends_on: ["s1"], params: { to: ref("s1.output.b", { or: "nobody" }) as never } }),
    ];
    await using t = await createTestKernel({ capabilities: [flow([give, take], steps)] });
    expect((await t.run(intent)).state).toBe("completed");
    expect(taken).toEqual([{ to: "nobody" }, { to: "nobody" }]);
  });

  it.each<readonly [string, unknown]>([
    ["an object", {}],
    ["NaN", Number.NaN],
    ["a function", () => 1],
    ["a list of nothing", [undefined]],
    ["a list of objects", [{}]],
  ])("that is %s is refused where it is written", async (_what, or) => {
    expect((await refusalOf((async () => ref("s1.output.b", { or: or as never }))())).code).toBe("T3_PLAN_INVALID");
  });
});

describe("a built step", () => {
  const look = defineOperator({
    name: "Probe.Look",
    input: z.object({ all: z.boolean() }),
    output: z.object({ id: z.string(), note: z.string().optional(), size: z.number().optional() }),
    run: ({ input }) => (input.all ? { id: "1", note: "n", size: 2 } : { id: "1" }),
  });
  const taken: unknown[] = [];
  const tell = defineOperator({
    name: "Probe.Tell",
    input: z.object({
      id: z.string(),
      note: z.string().optional(),
      size: z.number().default(7),
      kind: z.string(),
      deep: z.object({ note: z.string().optional() }),
    }),
    run: ({ input }) => void taken.push(input),
  });
  const building = (data: string) =>
    defineCapability({
      intentType: "Probe.Built",
      version: "1.0",
      input: z.object({ all: z.boolean() }),
      operators: [look, tell],
      plan: ({ input, step: build }): ExecutionPlan => {
        const found = build({ step_id: "look", name: "Look", operator: "Probe.Look", params: input });
        const { id, note, size } = found.output;
        const kind = ref(note, { or: data });
        return {
          reasoning: "",
          steps: [
            found,
            build({
              step_id: "tell",
              name: "Tell",
              operator: "Probe.Tell",
              params: { id, note, size, kind, deep: { note } },
            }),
          ],
        };
      },
    });

  it.each(["none", "{{look.output.id}} and } braces"])(
    "leaves an optional input out where an optional output is not there, and takes the default %s elsewhere",
    async (data) => {
      taken.length = 0;
      await using t = await createTestKernel({ capabilities: [building(data)] });
      expect(await t.run("Probe.Built", { all: false })).toMatchObject({ state: "completed", error: null });
      expect((await t.run("Probe.Built", { all: true })).state).toBe("completed");
      expect(taken).toEqual([
        { id: "1", size: 7, kind: data, deep: {} },
        { id: "1", note: "n", size: 2, kind: "n", deep: { note: "n" } },
      ]);
    },
  );
});
