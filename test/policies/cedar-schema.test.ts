/** The schema that is made from operators: policies are validated against the payloads that calls have. */

import { toStandardJsonSchema } from "@valibot/to-json-schema";
import fc from "fast-check";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { PolicyDecision } from "../../src/contract/policy.ts";
import { defineCapability, defineOperator, evaluatePolicies, type KernelErrorException } from "../../src/index.ts";
import { assemblePolicies } from "../../src/kernel/policies.ts";
import { cedar, cedarSchema } from "../../src/packages/policies/cedar/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { intent, story } from "../gates/story.ts";
import { runs } from "../properties/property-runs.ts";
import { questionOf } from "./forty-cases.ts";

const Order = z.object({
  item: z.string(),
  total: z.int(),
  rate: z.number().optional(),
  urgent: z.boolean().default(false),
  note: z.string().nullable(),
  kind: z.enum(["b2b", "b2c"]),
  lines: z.array(z.object({ sku: z.string(), "net-price": z.number() })),
  in: z.literal(3).optional(),
});
const operatorOf = (name: string, input: z.ZodType, more: object = {}) =>
  defineOperator({ name, input, run: () => null, ...more });
const buy = operatorOf("Order.Buy", Order, { effect: "write_draft" });
const base = '@id("base") permit(principal, action, resource);';

/** Returns the problems that the options are refused with. */
function problemsOf(make: () => unknown): readonly string[] {
  try {
    make();
  } catch (thrown) {
    const { code, detail, message } = (thrown as KernelErrorException).error;
    if (code !== "T5_POLICY_INVALID") return [code];
    const problems = detail["problems"] as { readonly field: string; readonly problem: string }[] | undefined;
    return problems?.map(({ field, problem }) => `${field}: ${problem}`) ?? [message];
  }
  return [];
}

describe("a schema", () => {
  it("has an action and a payload for each operator, in the order of names", () => {
    const pay = operatorOf("pay-out.send", z.object({}), { effect: "credential_use" });
    const members = [
      ...["item: String", "total: Long", "rate?: decimal", "urgent: Bool", "note?: String", "kind: String"],
      ...['lines: Set<{ sku: String, "net-price": decimal }>', '"in"?: Long'],
    ];
    const lines = [
      `entity OrderBuy in [Capability, Tenant] = { payload: { ${members.join(", ")} } };`,
      'action "Order.Buy" in [call, write_draft]',
      "  appliesTo { principal: Principal, resource: OrderBuy, context: Question };",
      "entity PayOutSend in [Capability, Tenant] = { payload: {} };",
      'action "pay-out.send" in [call, credential_use]',
      "  appliesTo { principal: Principal, resource: PayOutSend, context: Question };",
    ];
    expect(cedarSchema({ operators: [pay, buy] })).toBe(`${lines.join("\n")}\n`);
  });

  it("lets a policy read what payloads have, and refuses one that reads anything else", () => {
    const schema = cedarSchema({ operators: [buy] });
    const wants = (when: string) =>
      `${base}\n@id("b") forbid(principal, action == Action::"Order.Buy", resource) when { ${when} };`;
    expect(problemsOf(() => cedar({ policies: wants("resource.payload.total > 3"), schema }))).toEqual([]);
    for (const [when, problem] of [
      ["resource.payload.totl > 3", "did you mean `total`?"],
      ["resource.payload.item > 3", "expected"],
      ['resource.payload.note like "*x*"', "optional"],
    ] as const)
      expect(problemsOf(() => cedar({ policies: wants(when), schema })).join()).toContain(problem);
  });

  it("holds for decisions of people and for drafts if policies are asked about them", () => {
    const capability = defineCapability({
      intentType: "Shop.Order",
      version: "1.0",
      input: Order,
      operators: [buy],
      outcomes: { Note: z.object({ text: z.string() }) },
      plan: () => ({ reasoning: "x", steps: [] }),
    });
    const stages = ["plan", "action", "outcome", "gate"] as const;
    const policies = `${base}
@id("draft") forbid(principal, action == Action::"draft:Note", resource) when { resource.payload.text == "secret" };
@id("own") forbid(principal, action == Action::"approve", resource) when { resource.payload.total > 3 };`;
    expect(
      problemsOf(() => cedar({ policies, schema: cedarSchema({ capabilities: [capability], stages }), stages })),
    ).toEqual([]);
    const fewer = cedarSchema({ capabilities: [capability] });
    expect(fewer).not.toContain("draft:Note");
    expect(problemsOf(() => cedar({ policies, schema: fewer, stages }))).not.toEqual([]);
  });

  it("keeps names apart that would be one, or are Cedar's own", () => {
    const names = ["plan.er", "Plan-er", "Plan", "Set", "Order.Buy"].map((name) => operatorOf(name, z.object({})));
    const schema = cedarSchema({ operators: names });
    expect(schema.match(/entity \w+/g)).toEqual(
      ["OrderBuy", "Plan2", "PlanEr", "Set2", "PlanEr2"].map((name) => `entity ${name}`),
    );
    expect(problemsOf(() => cedar({ policies: base, schema }))).toEqual([]);
  });

  it("is made of schemas of other libraries too", () => {
    const note = operatorOf(
      "Note.Add",
      toStandardJsonSchema(v.object({ text: v.string(), tags: v.array(v.string()) })) as never,
    );
    expect(cedarSchema({ operators: [note] })).toContain("{ text: String, tags: Set<String> }");
  });
});

describe("refused is", () => {
  const list: z.ZodType = z.object({
    get next() {
      return list.optional();
    },
  });
  it.each([
    ["any value", z.object({ meta: z.unknown() }), "meta: Cedar has no type for any value"],
    [
      "a map",
      z.object({ by: z.record(z.string(), z.int()) }),
      "by: Cedar has no type for an object with members of any name",
    ],
    ["an open object", z.looseObject({}), "Cedar has no type for an object with members of any name"],
    ["a choice", z.object({ a: z.union([z.string(), z.int()]) }), "a: Cedar has no type for a choice between types"],
    [
      "null in a list",
      z.object({ a: z.array(z.int().nullable()) }),
      "a: Cedar has no type for a list that may hold null",
    ],
    ["a tuple", z.object({ a: z.tuple([z.int()]) }), "a: Cedar has no type for a list whose places"],
    ["a list in itself", list, "next: Cedar has no type for a type that contains itself"],
    ["a member with a name of Cedar's", z.object({ __entity: z.string() }), "__entity: Cedar has no type for the name"],
    ["null alone", z.object({ a: z.null() }), "a: Cedar has no type for null alone"],
  ])("%s, with its operator and its place; left out, its calls are denied", (_name, input, problem) => {
    const odd = operatorOf("Odd.Call", input);
    const [found, ...others] = problemsOf(() => cedarSchema({ operators: [odd, buy] }));
    expect([found, others]).toEqual([expect.stringContaining(problem), []]);
    expect(found).toMatch(/^Odd\.Call: /);
    const schema = cedarSchema({ operators: [odd, buy], without: ["Odd.Call"] });
    const engine = assemblePolicies([cedar({ policies: base, schema })], { withDefault: false });
    const asked = questionOf({ subject: { operator: "Odd.Call", effect: "none", payload: {} } });
    expect(evaluatePolicies(engine, asked)).toMatchObject({ decision: "DENY" });
  });

  it("one name with two payloads or two effects, and an unknown option", () => {
    const other = operatorOf("Order.Buy", Order, { effect: "final_write", version: "2.0" });
    expect(problemsOf(() => cedarSchema({ operators: [buy, other] }))).toEqual([
      "Order.Buy: two of this name differ in payload or effect",
    ]);
    expect(cedarSchema({ operators: [buy, buy] })).toBe(cedarSchema({ operators: [buy] }));
    for (const options of [{ capabilites: [] }, { operators: [{}] }, { capabilities: [3] }, null])
      expect(problemsOf(() => cedarSchema(options as never))).toEqual(["T0_VALIDATION_SCHEMA_MISMATCH"]);
  });
});

it("whatever payload an operator's schema parses, Cedar takes it under the schema that was made", () => {
  const engine = assemblePolicies([cedar({ policies: base, schema: cedarSchema({ operators: [buy] }) })], {
    withDefault: false,
  });
  const price = fc.integer({ min: -9_999, max: 9_999 }).map((cents) => cents / 100);
  const anyOrder = fc.record(
    {
      item: fc.string(),
      total: fc.integer(),
      rate: price,
      urgent: fc.boolean(),
      note: fc.option(fc.string()),
      kind: fc.constantFrom("b2b", "b2c"),
      lines: fc.array(fc.record({ sku: fc.string(), "net-price": price }), { maxLength: 3 }),
      in: fc.constant(3),
    },
    { requiredKeys: ["item", "total", "note", "kind", "lines"] },
  );
  fc.assert(
    fc.property(anyOrder, (given) => {
      const payload = Order.parse(given) as never;
      const asked = questionOf({ subject: { operator: "Order.Buy", effect: "write_draft", payload } });
      expect(evaluatePolicies(engine, asked) as PolicyDecision).toMatchObject({ decision: "ALLOW" });
    }),
    { numRuns: runs(200) },
  );
});

it("a running kernel is judged by policies under the schema of its own operators", async () => {
  const params = { item: "tin", total: 9, note: null, kind: "b2b", lines: [] };
  const capability = story(
    [{ operator: buy } as never],
    [{ step_id: "buy", name: "Buy", operator: "Order.Buy", params }],
  );
  const schema = cedarSchema({ operators: [buy] });
  const dear = `${base}
@id("dear") @reason("too dear") forbid(principal, action == Action::"Order.Buy", resource)
when { resource.payload.total > LIMIT };`;
  for (const [limit, state] of [
    [9, "completed"],
    [8, "failed"],
  ] as const) {
    const policies = [cedar({ policies: dear.replace("LIMIT", String(limit)), schema })];
    await using t = await createTestKernel({ capabilities: [capability], policies });
    expect((await t.run(intent)).state).toBe(state);
  }
});
