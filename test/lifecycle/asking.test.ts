/** Steps that ask people: the form, the gate, the answer and what becomes of it. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { answerFormOf } from "../../src/define/answer-form-of.ts";
import { defineCapability, defineOperator, definePolicy, type GateSpec, when } from "../../src/index.ts";
import { createTestKernel, memoryLedger, type TestKernelOptions, testCaller } from "../../src/testing/index.ts";

const hour = 3_600_000;
const taken: unknown[] = [];
const take = defineOperator({
  name: "Shop.Take",
  input: z.looseObject({}),
  output: z.unknown(),
  run: ({ input }) => {
    taken.push(input);
    return input;
  },
});
const Terms = z.object({
  limit: z.int().min(1).max(1000).describe("What may be spent in a month."),
  currency: z.enum(["EUR", "CHF"]).default("EUR"),
  note: z.string().max(40).optional(),
  until: z.iso.date(),
  tags: z.array(z.string()).max(3).default([]),
});
const terms = { limit: 20, until: "2026-12-31" };
const whole = { limit: 20, currency: "EUR", until: "2026-12-31", tags: [] };

interface Asking {
  readonly gate?: z.input<typeof GateSpec>;
  readonly otherwise?: z.output<typeof Terms>;
}

const asking = (options: Asking = {}) =>
  defineCapability({
    intentType: "Shop.Terms",
    version: "1.0",
    input: z.looseObject({}),
    operators: [take],
    plan: ({ step, ask }) => {
      const look = step({ step_id: "look", name: "Look", operator: "Shop.Take", params: { name: "Acme" } });
      const asked = ask({
        step_id: "terms",
        name: "Agree on terms",
        question: `On which terms do we buy from ${look.output}?`,
        show: { of: look.output },
        form: Terms,
        ...options,
      });
      const isLarge = when(asked.output.limit).above(10);
      return {
        reasoning: "people say on which terms",
        steps: [
          look,
          asked,
          step({
            step_id: "buy",
            name: "Buy",
            operator: "Shop.Take",
            params: { limit: asked.output.limit, in: asked.output.currency },
            when: isLarge,
          }),
        ],
      };
    },
  });

async function open(options: Asking = {}, more: TestKernelOptions = {}) {
  taken.length = 0;
  const t = await createTestKernel({ capabilities: [asking(options)], ...more });
  const id = await t.submit("Shop.Terms");
  await t.rest(id);
  const answer = (given: object | undefined, by = 1, decision: "approve" | "reject" = "approve") =>
    t.kernel.decideGate(id, {
      tenant_id: 1,
      principal: { type: "user", id: by, role: "user" },
      gate_id: "gate-terms",
      decision,
      payload: given === undefined ? {} : { answer: given as never },
    });
  return {
    t,
    id,
    answer,
    gate: () => t.kernel.gate(id, "gate-terms", testCaller),
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

describe("a step that asks", () => {
  it("waits at one gate whose digest binds the question, what is shown and the form", async () => {
    await using s = await open();
    const gate = await s.gate();
    expect(gate).toMatchObject({
      kind: "ask",
      status: "open",
      operator: "Kernel.Ask",
      effect: "none",
      editable: null,
      payload: {
        question: 'On which terms do we buy from {"name":"Acme"}?',
        show: { of: { name: "Acme" } },
        form: { type: "object", required: ["limit", "currency", "until", "tags"] },
      },
    });
    expect((await s.t.kernel.workflow(s.id)).state).toBe("waiting_for_user");
    const stale = {
      ...testCaller,
      decision: "approve" as const,
      payload: { payload_digest: "another", answer: terms },
    };
    await expect(s.t.kernel.decideGate(s.id, { ...stale, gate_id: "gate-terms" })).rejects.toMatchObject({
      error: { code: "T5_GATE_CONFLICT" },
    });
  });

  it("gives the answer as its form reads it, once, to params and conditions of later steps", async () => {
    await using s = await open();
    expect(await s.answer(terms)).toMatchObject({ status: "resumed" });
    const state = await s.t.rest(s.id);
    expect(state.state).toBe("completed");
    expect(taken.at(-1)).toEqual({ limit: 20, in: "EUR" });
    expect((await s.gate()).decision).toMatchObject({ decision: "approve", answer: whole });
    const succeeded = [];
    for await (const event of s.t.kernel.events(s.id))
      if (event.event_type === "STEP_SUCCEEDED" && event.step_id === "terms") succeeded.push(event.payload);
    expect(succeeded).toMatchObject([{ output: whole, action_id: null, cost: 0 }]);
    expect(await s.answer(terms)).toMatchObject({ status: "resumed" });
    await expect(s.answer({ ...terms, limit: 21 })).rejects.toMatchObject({ error: { code: "T5_GATE_CONFLICT" } });
  });

  it("refuses an answer that does not follow the form, and names each member", async () => {
    await using s = await open();
    const wrong = s.answer({ limit: 0, currency: "USD", until: "soon", more: 1 });
    await expect(wrong).rejects.toMatchObject({
      error: {
        code: "T5_ANSWER_INVALID",
        detail: {
          errors: [
            { pointer: "#/payload/answer/limit" },
            { pointer: "#/payload/answer/currency" },
            { pointer: "#/payload/answer/until" },
            { pointer: "#/payload/answer/more" },
          ],
        },
      },
    });
    await expect(s.answer(undefined)).rejects.toMatchObject({ error: { code: "T5_ANSWER_INVALID" } });
    await expect(s.answer(terms, 1, "reject")).rejects.toMatchObject({ error: { code: "T5_ANSWER_INVALID" } });
    expect((await s.gate()).status).toBe("open");
  });

  it("takes no edit, and no other gate takes an answer", async () => {
    await using s = await open();
    const edit = {
      ...testCaller,
      gate_id: "gate-terms",
      decision: "approve" as const,
      payload: { edit: { question: "?" } },
    };
    await expect(s.t.kernel.decideGate(s.id, edit)).rejects.toMatchObject({
      error: { code: "T5_EDIT_WITHOUT_EFFECT" },
    });
    const ahead = { ...testCaller, gate_id: "gate-buy", decision: "approve" as const };
    const early = { ...ahead, payload: { payload_digest: "one", answer: terms } };
    await expect(s.t.kernel.decideGate(s.id, early)).rejects.toMatchObject({ error: { code: "T5_GATE_CONFLICT" } });
  });

  it("ends as denied where a person rejects it, with their words", async () => {
    await using s = await open();
    await s.t.kernel.decideGate(s.id, {
      ...testCaller,
      gate_id: "gate-terms",
      decision: "reject",
      payload: { comment: "not with them" },
    });
    const state = await s.t.rest(s.id);
    expect(state.state).toBe("cancelled");
    expect(state.steps[1]).toMatchObject({ state: "failed", error: { code: "T5_HUMAN_DENIED" } });
    expect((await s.gate()).decision).toMatchObject({ decision: "reject", comment: "not with them" });
  });
});

describe("a question to several people", () => {
  it("is answered once the quorum gives the same answer, and refuses another one meanwhile", async () => {
    await using s = await open({ gate: { quorum: { approvals: 2 } } });
    expect(await s.answer(terms, 1)).toMatchObject({ status: "voted", tally: { approvals: 1 } });
    await expect(s.answer({ ...terms, limit: 30 }, 2)).rejects.toMatchObject({
      error: { code: "T5_GATE_CONFLICT", message: expect.stringContaining("another answer") },
    });
    // The same answer in another order, with the default said, is the same answer.
    expect(await s.answer({ until: "2026-12-31", currency: "EUR", limit: 20 }, 2)).toMatchObject({ status: "resumed" });
    await s.t.rest(s.id);
    expect((await s.gate()).decision).toMatchObject({ answer: whole, carried_by: [{}, {}] });
  });

  it("takes another answer after the first voter has withdrawn", async () => {
    await using s = await open({ gate: { quorum: { approvals: 2 } } });
    await s.answer(terms, 1);
    await s.t.kernel.withdrawVote(s.id, { ...testCaller, gate_id: "gate-terms" });
    await s.answer({ ...terms, limit: 30 }, 2);
    await s.answer({ ...terms, limit: 30 }, 1);
    await s.t.rest(s.id);
    expect((await s.gate()).decision).toMatchObject({ answer: { limit: 30 } });
  });

  it("keeps those who requested the work from answering where duties are separated", async () => {
    await using s = await open({ gate: { separation: true } });
    await expect(s.answer(terms, 1)).rejects.toMatchObject({ error: { code: "T5_AUTHZ_FORBIDDEN" } });
    expect(await s.answer(terms, 2)).toMatchObject({ status: "resumed" });
  });

  it("lets a delegate answer", async () => {
    await using s = await open({ gate: { approvers: [{ id: 1 }] } });
    await expect(s.answer(terms, 2)).rejects.toMatchObject({ error: { code: "T5_AUTHZ_FORBIDDEN" } });
    const expires_at = new Date(s.t.clock.now() + hour).toISOString();
    await s.t.kernel.delegateGate(s.id, { ...testCaller, gate_id: "gate-terms", to: { id: 2 }, expires_at });
    expect(await s.answer(terms, 2)).toMatchObject({ status: "resumed" });
  });
});

describe("a question that nobody answers in time", () => {
  it("denies its step", async () => {
    await using s = await open({ gate: { expiry: { after_ms: hour, action: "deny" } } });
    await s.t.clock.advance(hour);
    expect((await s.t.rest(s.id)).steps[1]).toMatchObject({ state: "failed", error: { code: "T5_GATE_EXPIRED" } });
    await expect(s.answer(terms)).rejects.toMatchObject({ error: { code: "T5_GATE_CONFLICT" } });
  });

  it("goes on with the answer that it has for itself, which people were shown", async () => {
    const otherwise = { limit: 5, currency: "CHF" as const, until: "2026-02-01", tags: [] };
    await using s = await open({ gate: { expiry: { after_ms: hour, action: "allow" } }, otherwise });
    expect((await s.gate()).payload).toMatchObject({ otherwise });
    await s.t.clock.advance(hour);
    const state = await s.t.rest(s.id);
    expect(state.state).toBe("completed");
    expect(state.steps[1]).toMatchObject({ state: "succeeded", output_text: JSON.stringify(otherwise) });
    // The condition of the next step is about the answer.
    expect(state.steps[2]).toMatchObject({ state: "skipped", skip_reason: "condition" });
  });
});

describe("a question under policy", () => {
  it("is judged as any gate decision is, before the answer counts", async () => {
    const deny = definePolicy({
      name: "no",
      stages: ["gate"],
      evaluate: () => ({ decision: "DENY", reason: "not you" }),
    });
    await using s = await open({}, { policies: [deny] });
    await expect(s.answer(terms)).rejects.toMatchObject({ error: { code: "T5_POLICY_DENIED" } });
    expect((await s.gate()).status).toBe("open");
  });
});

describe("a plan that asks", () => {
  const plan = (step: object) => ({ reasoning: "as data", steps: [step] });
  const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
  const ask = (params: object, more: object = {}) => ({ step_id: "q", name: "Q", kind: "ask", params, ...more });
  const run = async (step: object) => {
    await using t = await createTestKernel({
      capabilities: [
        defineCapability({
          intentType: "Shop.Data",
          version: "1.0",
          input: z.looseObject({}),
          operators: [take],
          plan: () => plan(step) as never,
        }),
      ],
    });
    return await t.run("Shop.Data");
  };

  it("may be plain data, so that a model can ask", async () => {
    const state = await run(ask({ question: "Yes?", form }));
    expect(state.gates).toMatchObject([{ kind: "ask", payload: { question: "Yes?", show: {}, form } }]);
  });

  it.each([
    ["a keyword that no form has", { properties: { a: { type: "string", pattern: "^x" } } }, "pattern"],
    ["a type that no form has", { properties: { a: { type: "null" } } }, "properties.a.type"],
    ["other members", { additionalProperties: true }, "additionalProperties"],
    ["no field", { properties: {} }, "at least one property"],
    ["a required member that is no field", { required: ["b"] }, "b is required"],
    ["a default that does not fit", { properties: { ok: { type: "integer", default: 1.5 } } }, "default"],
  ])("is refused when it is compiled if its form has %s", async (_what, change, told) => {
    const state = await run(ask({ question: "Yes?", form: { ...form, ...change } }));
    expect(state.error).toMatchObject({ code: "T3_PLAN_INVALID" });
    expect(state.error?.message).toContain(told);
  });

  it.each([
    ["an expiry that allows has no answer", {}, { expiry: { after_ms: 1, action: "allow" } }],
    ["an answer has no expiry that allows", { otherwise: { ok: true } }, {}],
    ["its own answer does not follow the form", { otherwise: { ok: 1 } }, { expiry: { after_ms: 1, action: "allow" } }],
  ])("is refused when it is compiled if %s", async (_what, params, gate) => {
    const state = await run(ask({ question: "Yes?", form, ...params }, { gate }));
    expect(state.error).toMatchObject({ code: "T3_PLAN_INVALID" });
    expect(state.error?.message).toContain("params.otherwise");
  });

  it("refuses a zod schema that says more than a form can", () => {
    const refused = (schema: z.ZodType) => expect(() => answerFormOf(schema, "q")).toThrow("form of step q");
    refused(z.object({ a: z.string().regex(/^x/) }));
    refused(z.object({ a: z.string().refine((text) => text !== "x") }));
    refused(z.object({ a: z.string().transform(Number) }));
    refused(z.object({ a: z.string().nullable() }));
    refused(z.record(z.string(), z.number()));
    refused(z.string());
    expect(answerFormOf(z.object({ kind: z.literal("a"), mail: z.email() }), "q").properties).toEqual({
      kind: { type: "string", enum: ["a"] },
      mail: { type: "string", format: "email" },
    });
  });
});

describe("the record of a question", () => {
  it("is replayed without asking anybody, and survives a restart with the gate open", async () => {
    const ledger = memoryLedger();
    const capabilities = [asking()];
    const first = await createTestKernel({ capabilities, ledger });
    const id = await first.submit("Shop.Terms");
    await first.rest(id);
    await first.kernel.stop();
    await using t = await createTestKernel({ capabilities, ledger, seed: 2 });
    await t.approve(id, "gate-terms", { answer: terms });
    expect((await t.rest(id)).state).toBe("completed");
    expect((await t.kernel.replay(id)).identical).toBe(true);
  });
});
