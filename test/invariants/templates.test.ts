/** Templates are looked up, never run. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Json } from "../../src/contract/json.ts";
import { defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator } from "../../src/define/define-operator.ts";
import { resolveTemplates } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { runs } from "../properties/property-runs.ts";

const hostile = [
  "{{constructor.constructor}}",
  "{{constructor.constructor('return process')()}}",
  "{{step_1.output.__proto__}}",
  "{{step_1.output.constructor}}",
  "{{step_1.output.toString}}",
  "{{step_1.output.list.length}}",
  "{{step_1.output.__proto__.polluted}}",
  "{{step_1.constructor}}",
  "{{__proto__.output}}",
  "{{1+1}}",
  "{{step_1.output.n + 1}}",
  "{{step_1.output['n']}}",
  "{{step_1.output.f()}}",
  "{{process.env.PATH}}",
  "#{1+1}",
] as const;

const outputs = (): Map<string, Json> => new Map([["step_1", { n: 41, list: [1, 2], text: "plain" }]]);

describe("a template", () => {
  it.each(hostile)("[INV-10] %s stays as it was written", (template) => {
    const resolved = resolveTemplates({ whole: template, inside: `a ${template} b` }, outputs());
    expect(resolved).toEqual({ whole: template, inside: `a ${template} b` });
  });

  it("[INV-10] that is any text between braces, but for a path into what a step gave, stays as it was written", () => {
    const words = fc.constantFrom(
      "constructor",
      "__proto__",
      "prototype",
      "toString",
      "valueOf",
      "1",
      "()",
      "n",
      "list",
      "+",
    );
    const paths = fc.array(words, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("."));
    const property = fc.property(paths, fc.constantFrom("step_1.output.", "step_1.", ""), (path, root) => {
      const template = `{{${root}${path}}}`;
      const isData = root === "step_1.output." && (path === "n" || path === "list" || path === "list.1");
      const resolved = (resolveTemplates({ template }, outputs()) as { template: unknown }).template;
      expect(typeof resolved).not.toBe("function");
      if (!isData) expect(resolved).toBe(template);
    });
    fc.assert(property, { numRuns: runs(500) });
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("[INV-10] never calls a getter", () => {
    let asked = 0;
    const trap = Object.defineProperty({}, "secret", {
      enumerable: true,
      get: () => {
        asked += 1;
        return "leaked";
      },
    });
    const resolved = resolveTemplates({ a: "{{step_1.output.secret}}" }, new Map([["step_1", trap as Json]]));
    expect(asked).toBe(0);
    expect(JSON.stringify(resolved)).not.toContain("leaked");
  });

  it("[INV-10] reaches an operator as it was written, in a running workflow", async () => {
    const got: unknown[] = [];
    const input = z.record(z.string(), z.unknown());
    const give = defineOperator({ name: "Template.Give", input, run: () => ({ n: 41, list: [1, 2] }) });
    const take = defineOperator({
      name: "Template.Take",
      input,
      run: (call) => {
        got.push(call.input);
        return null;
      },
    });
    // One that has the form of a reference keeps its call from being made (test/execution/missing-outputs.test.ts).
    const literal = hostile.filter((template) => !/^\{\{\w+\.output(\.\w+)*\}\}$/.test(template));
    const params = Object.fromEntries(literal.map((template, i) => [`p${i}`, template]));
    const capability = defineCapability({
      intentType: "Template.Hostile.Run",
      version: "1.0",
      input,
      operators: [give, take],
      plan: {
        reasoning: "templates",
        steps: [
          { step_id: "step_1", name: "give", operator: "Template.Give" },
          { step_id: "step_2", name: "take", operator: "Template.Take", depends_on: ["step_1"], params },
        ],
      },
    });
    await using t = await createTestKernel({ capabilities: [capability] });
    expect((await t.run("Template.Hostile.Run")).state).toBe("completed");
    expect(got).toEqual([params]);
    expect(hostile.length - literal.length).toBe(6);
  });
});
