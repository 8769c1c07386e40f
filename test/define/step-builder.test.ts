/**
 * Built steps are the plain steps they stand for; a package's own view of a kernel asks nothing that the kernel does
 * not.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { toJson } from "../../src/contract/json.ts";
import { defineCapability, defineOperator, type ExecutionPlan, text } from "../../src/index.ts";
import { createTestKernel, memoryLedger } from "../../src/testing/index.ts";
import { refusalOf } from "../fixtures.ts";

const Order = z.object({ order: z.string() });
const Note = z.object({ path: z.string(), lines: z.array(z.object({ sku: z.string() })) });
const look = defineOperator({
  name: "Shop.Look",
  input: Order,
  output: Note,
  run: ({ input }) => ({ path: input.order, lines: [{ sku: "A" }, { sku: "B" }] }),
});
const tell = defineOperator({
  name: "Shop.Tell",
  input: z.object({ said: z.string(), skus: z.array(z.string()).default([]) }),
  output: z.object({ said: z.string() }),
  effect: "final_write",
  run: ({ input }) => ({ said: input.said }),
});
const parts = {
  version: "1.0",
  intentType: "Shop.Told",
  input: Order,
  operators: [look, tell],
  outcomes: { Note: z.object({ said: z.string() }) },
} as const;

const built = defineCapability({
  ...parts,
  plan: ({ input, step }) => {
    const found = step({ step_id: "look", name: "Look", operator: "Shop.Look", params: input });
    const { lines, path } = found.output;
    const first = step({
      step_id: "first",
      name: "First",
      operator: "Shop.Tell",
      params: { said: path, skus: [lines[0]!.sku, text`${lines[1]!.sku} of ${input.order}`] },
      outcome: "Note",
    });
    const last = step({ step_id: "last", name: "Last", operator: "Shop.Tell", params: { said: "" }, applies: first });
    return { reasoning: "", steps: [found, first, last] };
  },
});
const plain = defineCapability({
  ...parts,
  plan: ({ input }) => ({
    reasoning: "",
    steps: [
      { step_id: "look", name: "Look", operator: "Shop.Look", params: input, depends_on: [] },
      {
        step_id: "first",
        name: "First",
        operator: "Shop.Tell",
        params: {
          said: "{{look.output.path}}",
          skus: ["{{look.output.lines.0.sku}}", text`{{look.output.lines.1.sku}} of ${input.order}`],
        },
        depends_on: ["look"],
        outcome: "Note",
      },
      { step_id: "last", name: "Last", operator: "Shop.Tell", params: { said: "" }, depends_on: [], applies: "first" },
    ],
  }),
});

const planOf = ({ plan }: typeof built, order: string): ExecutionPlan =>
  (plan as (question: object) => ExecutionPlan)({ input: { order } });
const ann = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } };

describe("a built step", () => {
  it.each(["A-7", "{{look.output.path}}"])("is the plain step that its author would have written, of %s", (order) => {
    const [made, written] = [built, plain].map((capability) => toJson(planOf(capability, order)));
    expect(made).toEqual(written);
  });

  it("leaves the same rows, to the byte, whatever the input holds", async () => {
    for (const order of ["A-7", "{{look.output.path}}"]) {
      const rows = await Promise.all(
        [built, plain].map(async (capability) => {
          await using t = await createTestKernel({ capabilities: [capability], ledger: memoryLedger(), seed: 3 });
          const { workflow_id } = await t.kernel.submit({
            ...ann,
            intent_hint: { intent_type: "Shop.Told", inputs: { order } },
          });
          await t.rest(workflow_id);
          return Array.fromAsync(t.kernel.export(workflow_id));
        }),
      );
      expect(rows[0]).toEqual(rows[1]);
    }
  });

  it("waits for what its params refer to, beside what it names", () => {
    const { steps } = planOf(built, "A-7");
    expect(steps.map(({ depends_on }) => depends_on)).toEqual([[], ["look"], []]);
  });

  it("refuses a member that no reference can name, when it is referred to", () => {
    const wild = defineOperator({
      name: "A.B",
      input: z.object({}),
      output: z.object({ "a b": z.string() }),
      run: never,
    });
    const capability = defineCapability({
      ...parts,
      operators: [wild, tell],
      plan: ({ step }) => {
        const made = step({ step_id: "a", name: "A", operator: "A.B", params: {} });
        const said = made.output["a b"];
        return {
          reasoning: "",
          steps: [made, step({ step_id: "b", name: "B", operator: "Shop.Tell", params: { said } })],
        };
      },
    });
    expect(() => (capability.plan as unknown as (q: object) => unknown)({})).toThrow("no path such as");
  });
});

const never = (): never => {
  throw new Error("not called");
};

describe("a kernel as one package's callers see it", () => {
  it("asks and answers as the kernel does", async () => {
    await using t = await createTestKernel({ capabilities: [built] });
    const told = t.kernel.of(built);
    const { workflow_id } = await told.submit({ ...ann, inputs: { order: "A-7" } });
    await t.rest(workflow_id);
    const gates = await told.gates(workflow_id, ann);
    expect(gates).toEqual(await t.kernel.gates({ workflow_id }, ann));
    for (const { gate_id, payload_digest } of gates)
      await told.decideGate(workflow_id, { ...ann, gate_id, decision: "approve", payload: { payload_digest } });
    await t.rest(workflow_id);
    expect(await told.outcomes(workflow_id)).toEqual((await t.kernel.outcomes(workflow_id)).outcomes);
    expect(await told.workflow(workflow_id)).toEqual(await t.kernel.workflow(workflow_id));
  });

  it("refuses workflows of another intent and of another major version, whose types would be wrong", async () => {
    const next = { ...built, version: "1.3" };
    const other = { ...built, version: "2.0" };
    await using t = await createTestKernel({ capabilities: [built] });
    const { workflow_id } = await t.kernel.of(built).submit({ ...ann, inputs: { order: "A-7" } });
    await t.rest(workflow_id);
    expect((await t.kernel.of(next).workflow(workflow_id)).workflow_id).toBe(workflow_id);
    const foreign = t.kernel.of({ ...built, intentType: "Shop.Other" });
    for (const wrong of [t.kernel.of(other), foreign]) {
      const asks = [
        wrong.workflow(workflow_id),
        wrong.settled(workflow_id),
        wrong.execute(workflow_id),
        wrong.outcomes(workflow_id),
        wrong.gates(workflow_id),
        wrong.decideGate(workflow_id, { ...ann, decision: "approve" }),
      ];
      for (const asked of asks)
        expect((await refusalOf(asked)).message).toContain(`${workflow_id} is of Shop.Told@1.0, not of`);
    }
    for (const unknown of [t.kernel.of(other), foreign])
      expect((await refusalOf(unknown.submit({ ...ann, inputs: { order: "A-7" } }))).code).toBe(
        "T1_NORMALIZE_UNKNOWN_INTENT",
      );
  });
});
