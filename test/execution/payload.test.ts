/** The payload of a call is parsed once, before policy; everybody who sees it afterwards sees that one value. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { PolicyQuestion, PolicyRule } from "../../src/contract/policy.ts";
import { digest, operatorError } from "../../src/index.ts";
import { createTestKernel, type TestKernel, type TestKernelOptions } from "../../src/testing/index.ts";
import { eventsOf, refusalOf } from "../fixtures.ts";
import { flow, intent, oneStep, payloads, skill, step } from "./flow.ts";

/** A policy rule that keeps the payloads it is asked about at stage action, and answers what it is told to. */
function watching(answer: (payload: unknown) => ReturnType<PolicyRule["evaluate"]> = () => null) {
  const asked: unknown[] = [];
  const rule: PolicyRule = {
    name: "watching",
    stages: ["action"],
    evaluate({ subject }: PolicyQuestion) {
      asked.push(subject.payload);
      return answer(subject.payload);
    },
  };
  return { asked, rule };
}

/** Gives another text each time. */
function nextDraw(): () => string {
  let draws = 0;
  return () => {
    draws += 1;
    return `draw ${draws}`;
  };
}

/** A schema whose default is another at each reading. */
const drawing = () => z.object({ to: z.string(), reference: z.string().default(nextDraw()) });

const referenceIn = (payload: unknown): string => (payload as { readonly reference: string }).reference;

const askAPerson = { decision: "REQUIRE_HUMAN_APPROVAL", reason: "a person decides" } as const;

async function openTest(options: TestKernelOptions): Promise<TestKernel> {
  return createTestKernel({ limits: { maxReplans: 0 }, ...options });
}

describe("the payload that the operator's schema makes of the params", () => {
  it("is what policy judges, the gate shows and binds, preview and check see, and the operator gets", async () => {
    const seen: Record<string, unknown> = {};
    const input = z.object({ amount: z.coerce.number(), notify: z.boolean().default(true), note: z.string().trim() });
    const pay = skill(
      "Probe.Pay",
      (call) => {
        seen["run"] = call.input;
        return {};
      },
      {
        input,
        effect: "final_write",
        check(question) {
          seen["check"] = question.input;
        },
        preview: (question) => {
          seen["preview"] = question.input;
          return { preview: "pays" };
        },
      },
    );
    const { asked, rule } = watching(() => askAPerson);
    const params = { amount: "41", note: " thanks ", unknown: "dropped" };
    await using t = await openTest({ capabilities: [oneStep(pay, { params })], policies: [rule] });
    const { workflow_id, gates } = await t.run(intent);
    const parsed = { amount: 41, notify: true, note: "thanks" };
    expect(gates[0]).toMatchObject({ payload: parsed, payload_digest: digest(parsed) });
    await t.approve(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(asked).toEqual([parsed]);
    expect(seen).toEqual({ run: parsed, check: parsed, preview: parsed });
    const [started] = await payloads(t, workflow_id, "ACTION_STARTED");
    expect(started).toMatchObject({ input: parsed, payload_hash: digest(parsed) });
  });

  it("is one for preview, approval and all attempts, even if the schema draws a default at each reading", async () => {
    const seen: unknown[] = [];
    const send = skill(
      "Probe.Send",
      ({ input, attempt }) => {
        seen.push(input["reference"]);
        if (attempt === 1) throw operatorError({ code: "BUSY", message: "not yet", category: "transient" });
        return {};
      },
      {
        input: drawing(),
        effect: "final_write",
        preview: ({ input }) => {
          seen.push(referenceIn(input));
          return { preview: referenceIn(input) };
        },
      },
    );
    const { asked, rule } = watching(() => askAPerson);
    await using t = await openTest({ capabilities: [oneStep(send, { params: { to: "ann" } })], policies: [rule] });
    const { workflow_id, gates } = await t.run(intent);
    const shown = referenceIn(gates[0]?.payload);
    await t.approve(workflow_id, undefined, { payload_digest: gates[0]?.payload_digest });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(seen).toEqual([shown, shown, shown]);
    expect(asked).toEqual([{ to: "ann", reference: shown }]);
  });

  it("is one for policy and all attempts of a call without a gate", async () => {
    const seen: unknown[] = [];
    const send = skill(
      "Probe.Send",
      ({ input, attempt }) => {
        seen.push({ ...input });
        input["reference"] = "changed by the operator";
        if (attempt < 3) throw operatorError({ code: "BUSY", message: "not yet", category: "transient" });
        return {};
      },
      { input: drawing(), effect: "none" },
    );
    const { asked, rule } = watching();
    await using t = await openTest({ capabilities: [oneStep(send, { params: { to: "ann" } })], policies: [rule] });
    const { state, workflow_id } = await t.run(intent);
    expect(state).toBe("completed");
    expect(asked).toHaveLength(1);
    expect(seen).toEqual([asked[0], asked[0], asked[0]]);
    const keys = (await payloads(t, workflow_id, "ACTION_STARTED")).map(({ key }) => key);
    expect(new Set(keys).size).toBe(1);
  });

  it("is what a decision that is given ahead of its gate binds to", async () => {
    let release = (): void => undefined;
    const wait = skill("Probe.Wait", () => new Promise((resolve) => (release = () => resolve({}))));
    const sent: unknown[] = [];
    const send = skill("Probe.Send", ({ input }) => void sent.push(input), {
      input: z.object({ to: z.string(), notify: z.boolean().default(true) }),
      effect: "final_write",
    });
    const steps = [
      step("s1", "Probe.Wait"),
      step("s2", "Probe.Send", { depends_on: ["s1"], params: { to: "ann" }, gate: { reason: "a person decides" } }),
    ];
    await using t = await openTest({ capabilities: [flow([wait, send], steps)] });
    const id = await t.submit(intent);
    await t.clock.settle();
    await t.approve(id, "gate-s2", { payload_digest: digest({ to: "ann", notify: true }) });
    release();
    expect((await t.rest(id)).state).toBe("completed");
    expect(sent).toEqual([{ to: "ann", notify: true }]);
  });

  it("reaches a host's security check as it was written, before the schema", async () => {
    const checked: unknown[] = [];
    const act = skill("Probe.Act", () => ({}), { input: z.object({ n: z.coerce.number() }) });
    const security = {
      validate: () => ({ ok: true }),
      validateParams(params: unknown) {
        checked.push(params);
        return { ok: true };
      },
      validateOutput: () => ({ ok: true }),
    };
    await using t = await openTest({
      capabilities: [oneStep(act, { params: { n: "7" } })],
      security: security as never,
    });
    expect((await t.run(intent)).state).toBe("completed");
    expect(checked).toEqual([{ n: "7" }]);
  });
});

describe("what policy makes of a payload", () => {
  it("is parsed before the gate shows it, and is the same for every attempt", async () => {
    const seen: unknown[] = [];
    const send = skill(
      "Probe.Send",
      ({ input, attempt }) => {
        seen.push(input);
        if (attempt === 1) throw operatorError({ code: "BUSY", message: "not yet", category: "transient" });
        return {};
      },
      { input: drawing(), effect: "none" },
    );
    const { rule } = watching((payload) =>
      (payload as { readonly to: string }).to === "bob" ? null : { decision: "TRANSFORM", transform: { to: "bob" } },
    );
    await using t = await openTest({
      capabilities: [oneStep(send, { params: { to: "ann" } })],
      policies: [rule as never],
    });
    expect((await t.run(intent)).state).toBe("completed");
    expect(seen).toHaveLength(2);
    expect(seen[0]).toMatchObject({ to: "bob", reference: expect.stringMatching(/^draw/) });
    expect(seen[1]).toEqual(seen[0]);
  });
});

describe("a person's edit", () => {
  const gated = (input: z.ZodType, seen: unknown[]) =>
    oneStep(
      skill("Probe.Send", ({ input: got }) => void seen.push(got), { input, effect: "final_write" }),
      { params: { to: "ann", amount: 5 }, gate: { reason: "a person decides" } },
    );

  it("that the schema changes is parsed, judged and shown before it is decided on", async () => {
    const seen: unknown[] = [];
    const input = z.object({ to: z.string().trim(), amount: z.coerce.number() });
    const { asked, rule } = watching();
    await using t = await openTest({ capabilities: [gated(input, seen)], policies: [rule] });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id, undefined, { edit: { to: " bob ", amount: "7" } }).catch(() => undefined);
    const { gates } = await t.kernel.workflow(workflow_id);
    expect(gates[0]).toMatchObject({ status: "open", payload: { to: "bob", amount: 7 } });
    expect(asked.at(-1)).toEqual({ to: "bob", amount: 7 });
    await t.approve(workflow_id, undefined, { payload_digest: gates[0]?.payload_digest });
    await t.rest(workflow_id);
    expect(seen).toEqual([{ to: "bob", amount: 7 }]);
  });

  it("that the schema leaves as it is decides at once, and keeps what a default drew", async () => {
    const seen: unknown[] = [];
    const input = drawing().extend({ amount: z.number() });
    await using t = await openTest({ capabilities: [gated(input, seen)] });
    const { workflow_id, gates } = await t.run(intent);
    const reference = referenceIn(gates[0]?.payload);
    await t.approve(workflow_id, undefined, { edit: { amount: 7 } });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(seen).toEqual([{ to: "ann", amount: 7, reference }]);
  });

  it("of an outcome is shown first where the schema draws another value for the call", async () => {
    const seen: unknown[] = [];
    const draft = skill("Probe.Draft", () => ({ text: "draft" }), { effect: "write_draft" });
    const publish = skill("Probe.Publish", ({ input }) => void seen.push(input), {
      input: drawing(),
      effect: "final_write",
    });
    const steps = [
      step("draft", "Probe.Draft", { outcome: "Note" }),
      step("publish", "Probe.Publish", {
        applies: "draft",
        depends_on: ["draft"],
        params: { to: "{{draft.output.text}}" },
      }),
    ];
    const outcomes = { Note: z.object({ text: z.string() }) };
    await using t = await openTest({ capabilities: [flow([draft, publish], steps, { outcomes })] });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id, undefined, { edit: { text: "mine" } }).catch(() => undefined);
    const { gates } = await t.kernel.workflow(workflow_id);
    expect(gates.at(-1)).toMatchObject({ status: "open", payload: { to: "mine" } });
    expect(seen).toEqual([]);
    await t.approve(workflow_id, undefined, { payload_digest: gates.at(-1)?.payload_digest });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(seen).toEqual([gates.at(-1)?.payload]);
  });
});

/** A reader that nobody could try out when the operator was defined: it takes one word only. */
const word = z.string().refine((text) => text === "swordfish");

describe("a schema that cannot be relied on", () => {
  it.each<readonly [string, z.ZodType, string, string]>([
    ["gives a Date", z.object({ w: word.transform(() => new Date(0)) }), "T4_PARAMS_NOT_JSON", "at w"],
    [
      "gives a Map",
      z.object({ a: z.array(word.transform(() => new Map())), w: word }),
      "T4_PARAMS_NOT_JSON",
      "at a[0]",
    ],
    ["gives a BigInt", z.object({ w: word.transform(() => 1n) }), "T4_PARAMS_NOT_JSON", "at w"],
    ["gives NaN", z.object({ w: word.transform(() => Number.NaN) }), "T4_PARAMS_NOT_JSON", "at w"],
    ["gives a function", z.object({ w: word.transform(() => () => 1) }), "T4_PARAMS_NOT_JSON", "at w"],
    ["gives undefined in a list", z.object({ w: word.transform(() => [undefined]) }), "T4_PARAMS_NOT_JSON", "at w[0]"],
    [
      "counts on",
      z.object({
        w: z.union([word, z.number().refine((n) => n === 1)]).transform((v) => (v === "swordfish" ? 1 : Number(v) + 1)),
      }),
      "T4_PARAMS_NOT_STABLE",
      '{"w":2}',
    ],
    ["refuses what it made", z.object({ w: word.transform((text) => text.length) }), "T4_PARAMS_NOT_STABLE", '{"w":9}'],
    [
      "throws",
      z.object({
        w: word.transform(() => {
          throw new Error("never");
        }),
      }),
      "T4_PARAMS_INVALID",
      "never",
    ],
    ["is asynchronous", z.object({ w: word.refine(async () => true) }), "T4_PARAMS_INVALID", "Operator"],
  ])("and %s is refused with a code of its own, before policy", async (_how, input, code, said) => {
    const act = skill("Probe.Act", () => expect.unreachable("it was called"), { input });
    const { asked, rule } = watching();
    const capability = oneStep(act, { params: { w: "swordfish", a: ["swordfish"] } });
    await using t = await openTest({ capabilities: [capability], policies: [rule] });
    const { state, steps } = await t.run(intent);
    expect([state, steps[0]?.error?.code]).toEqual(["failed", code]);
    if (code !== "T4_PARAMS_INVALID") expect(steps[0]?.error?.message).toContain(said);
    expect(asked).toEqual([]);
  });

  it.each(["upper", "counting"] as const)(
    "is refused where it no longer leaves what a gate shows as it is, and the gate stays open (%s)",
    async (how) => {
      let isAnother = false;
      const read = (text: string): string => {
        if (!isAnother) return text.toLowerCase();
        return how === "upper" ? text.toUpperCase() : `${text}!`;
      };
      const input = z.object({ text: z.string().transform(read) });
      const sent: unknown[] = [];
      const act = skill("Probe.Act", ({ input: got }) => void sent.push(got), { input, effect: "final_write" });
      const capability = oneStep(act, { params: { text: "Some" }, gate: { reason: "a person decides" } });
      await using t = await openTest({ capabilities: [capability] });
      const { workflow_id } = await t.run(intent);
      isAnother = true;
      const refused = await refusalOf(t.approve(workflow_id));
      expect([refused.code, refused.detail["reason"]]).toEqual(["T5_GATE_NOT_RUNNABLE", "T4_PARAMS_NOT_STABLE"]);
      expect(await Array.fromAsync(t.kernel.doctor())).toMatchObject([
        { obstacles: [{ code: "T4_PARAMS_NOT_STABLE" }] },
      ]);
      isAnother = false;
      await t.approve(workflow_id);
      expect((await t.rest(workflow_id)).state).toBe("completed");
      expect(sent).toEqual([{ text: "some" }]);
    },
  );
});

it("the events of a call with defaults name the parsed payload everywhere", async () => {
  const act = skill("Probe.Act", () => ({}), { input: z.object({ n: z.number().default(3) }) });
  await using t = await openTest({ capabilities: [oneStep(act)] });
  const { workflow_id } = await t.run(intent);
  const events = await eventsOf(t, workflow_id);
  const hashes = events.flatMap(({ event_type, payload }) =>
    event_type === "POLICY_DECIDED" && payload["stage"] !== "action" ? [] : (payload["payload_hash"] ?? []),
  );
  expect(new Set(hashes)).toEqual(new Set([digest({ n: 3 })]));
});

describe("what the schema made of params", () => {
  const input = z.object({ to: z.string(), count: z.coerce.number(), drawn: z.string().default(nextDraw()) });
  const act = skill("Probe.Act", () => ({}), { input });
  const capabilities = [oneStep(act, { params: { to: "ann", count: "2" } })];

  it.each<readonly [string, ReturnType<PolicyRule["evaluate"]>]>([
    ["let through", null],
    ["denied", { decision: "DENY", reason: "not this" }],
    ["transformed", { decision: "TRANSFORM", transform: { to: "bob", count: 2 } } as never],
    ["sent to a person", askAPerson],
  ])("and policy %s is replayed from its record, and can be judged by other rules", async (_how, answer) => {
    const { rule } = watching((payload) => ((payload as { readonly to: string }).to === "bob" ? null : answer));
    await using t = await openTest({ capabilities, policies: [rule] });
    const { workflow_id, state } = await t.run(intent);
    if (state === "waiting_for_user") await t.approve(workflow_id);
    await t.rest(workflow_id);
    expect(await t.kernel.replay(workflow_id)).toMatchObject({ identical: true, difference: null });
    const judged: unknown[] = [];
    const other: PolicyRule = {
      name: "other",
      stages: ["action"],
      evaluate({ subject }) {
        judged.push(subject.payload);
        return null;
      },
    };
    const asked = t.kernel.whatIf({ policies: [other] } as never);
    for await (const finding of asked) expect(finding).not.toMatchObject({ would_be: null });
    expect(judged[0]).toMatchObject({ to: "ann", count: 2, drawn: expect.stringMatching(/^draw/) });
  });
});
