/**
 * The one word of a reference is `output`: nothing else between the braces refers to anything (template syntax is
 * frozen).
 */
import { describe, expect, it } from "vitest";
import { resolveTemplates } from "../../src/index.ts";
import { renameReferences, resolveParams } from "../../src/tiers/t4-execution/decide/payload/resolve-templates.ts";

const outputs = { s1: { a: 1, result: { a: 1 }, output: { a: 1 } } };
const written = ["{{s1.result}}", "{{s1.result.a}}", "{{s1.a}}", "{{s1.outputs}}", "{{s1.Output.a}}", "{{s1.out}}"];

describe("a template with another word", () => {
  it.each(written)("[NOT-06] %s stays as it was written, alone and in text, and is told as unresolved", (template) => {
    expect(resolveTemplates(template, outputs)).toBe(template);
    expect(resolveTemplates(`a ${template} b {{s1.output.a}}`, outputs)).toBe(`a ${template} b 1`);
    expect(resolveParams({ params: { text: `a ${template} b` } }, outputs).unresolved).toEqual([template]);
    const params = { text: `a ${template}` };
    expect(renameReferences({ params }, new Map([["s1", "s9"]]))).toEqual(params);
  });
});
