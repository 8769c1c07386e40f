/** A plan that is read without the schema is read as the schema reads it; any other is left to the schema. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExecutionPlan, readPlainPlan } from "../../src/contract/plan.ts";

const odd = fc.oneof(fc.constantFrom(null, 0, true, "", "x".repeat(257), "a b", {}, [], [1], ["s1", ""]), fc.string());
const orOdd = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 9, arbitrary: arbitrary as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: odd });
const id = fc.constantFrom("s1", "s2", "a-b_c");
const step = fc.record(
  {
    step_id: orOdd(id),
    name: orOdd(fc.constantFrom("One", "x".repeat(256))),
    operator: orOdd(fc.constantFrom("Area.Verb", "Verb", `V${"x".repeat(255)}`)),
    params: orOdd(fc.dictionary(fc.string(), fc.jsonValue())),
    depends_on: orOdd(fc.array(id)),
    priority: fc.constantFrom(3, -1),
    unknown: fc.constant(1),
  },
  { requiredKeys: ["step_id", "name", "operator"] },
);
const plan = fc.record(
  {
    steps: orOdd(fc.array(orOdd(step), { maxLength: 3 })),
    reasoning: orOdd(fc.string()),
    continues: fc.constant(true),
  },
  { requiredKeys: ["steps", "reasoning"] },
);
const plain = { reasoning: "", steps: [{ step_id: "s1", name: "One", operator: "Area.Verb" }] };

describe("readPlainPlan", () => {
  it("reads what it reads as the schema does", () => {
    fc.assert(
      fc.property(plan, (given) => {
        const read = readPlainPlan(given);
        if (read !== null) expect(ExecutionPlan.parse(given)).toEqual(read);
      }),
      { numRuns: 2000 },
    );
  });

  it("reads a plan whose steps say the least", () => {
    expect(readPlainPlan(plain)).toEqual(ExecutionPlan.parse(plain));
  });

  it("leaves to the schema what says more, or nothing sound", () => {
    for (const more of [{ continues: true }, { direct_response: "Hello" }, { goal: "x" }])
      expect(readPlainPlan({ ...plain, ...more })).toBeNull();
    for (const more of [{ priority: 1 }, { depends_on: [1] }, { name: "" }, { operator: "a b" }, { params: [] }])
      expect(readPlainPlan({ ...plain, steps: plain.steps.map((one) => ({ ...one, ...more })) })).toBeNull();
    for (const none of [null, [], { steps: {} }, { steps: [null], reasoning: "" }])
      expect(readPlainPlan(none)).toBeNull();
  });
});
