/**
 * Pictures of plans and runs: whatever the plan, nothing lies on anything, nothing is left out, and text stays text.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ExecutionPlan } from "../../src/contract/plan.ts";
import { layoutPlan } from "../../src/observers/drawing/layout-plan.ts";
import { readPlan, readRun } from "../../src/observers/drawing/plan-model.ts";
import { renderPlanMermaid } from "../../src/observers/drawing/render-plan-mermaid.ts";
import { renderPlanSvg } from "../../src/observers/drawing/render-plan-svg.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { gated, intentType } from "../actors/fixture.ts";
import { runs } from "../properties/property-runs.ts";
import { marksIn, outsideOf, overlapsIn } from "./marks.ts";

const name = fc.oneof(
  fc.string({ minLength: 1, maxLength: 256, unit: "binary" }),
  fc.stringMatching(/^[a-z<>&"; ]{1,60}$/),
  fc.constantFrom("漢字の名前で長いもの".repeat(6), "‮evil", "a\u0000b\u001b[31m", "</text><script>alert(1)</script>"),
);

/** Plans in which a step waits for earlier ones. */
const plans = fc
  .array(fc.record({ name, after: fc.array(fc.nat(), { maxLength: 3 }), gate: fc.boolean(), outcome: fc.boolean() }), {
    minLength: 1,
    maxLength: 14,
  })
  .map(
    (drafts): ExecutionPlan => ({
      reasoning: "",
      steps: drafts.map(({ name: title, after, gate, outcome }, at) => ({
        step_id: `s${at}`,
        name: title,
        operator: "Test.Do",
        depends_on: at === 0 ? [] : [...new Set(after.map((n) => `s${n % at}`))],
        ...(gate && { gate: { reason: "look" } }),
        ...(outcome && { outcome: "Note" }),
      })),
    }),
  );

const modelOf = (plan: ExecutionPlan) => readPlan("Test.Plan 1.0", plan, () => "final_write");

describe("the picture of a plan", () => {
  it("has nothing over anything, nothing outside, and every step below those that it waits for", () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const model = modelOf(plan);
        const svg = renderPlanSvg(model);
        expect(overlapsIn(svg)).toEqual([]);
        expect(outsideOf(svg)).toEqual([]);
        const { boxes, lines } = layoutPlan(model);
        const byId = new Map(boxes.map((box) => [box.node.id, box]));
        expect(byId.size).toBe(plan.steps.length);
        for (const { node, y } of boxes)
          for (const id of node.dependsOn) {
            const before = byId.get(id) as NonNullable<ReturnType<typeof byId.get>>;
            expect(before.y + before.height).toBeLessThan(y);
          }
        expect(lines.length).toBe(model.nodes.reduce((sum, node) => sum + node.dependsOn.length, 0));
      }),
      { numRuns: runs(150) },
    );
  });

  it("has no line through a box that it does not lead to", () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const { boxes, lines } = layoutPlan(modelOf(plan));
        for (const places of lines)
          for (const { x, y } of places.slice(1, -1))
            expect(
              boxes.filter((box) => x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height),
            ).toEqual([]);
      }),
      { numRuns: runs(100) },
    );
  });

  it("holds text as text: one element for each that is drawn, and in Mermaid a line for each step", () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const model = modelOf(plan);
        const svg = renderPlanSvg(model);
        const written = model.nodes.reduce((sum, { head, lines }) => sum + head.length + lines.length, 2);
        expect(marksIn(svg).texts.length).toBe(written);
        expect(svg.match(/<(?!\/?(svg|title|desc|style|defs|marker|path|rect|text|g)\b)/g)).toBe(null);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be in a drawing
        expect(svg).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202a-\u202e\ud800-\udfff]/u);
        const mermaid = renderPlanMermaid(model).trimEnd().split("\n");
        expect(mermaid.filter((line) => /^ {2}n\d+\["[^"<>]*(<br\/>[^"<>]*)*"\]$/.test(line)).length).toBe(
          plan.steps.length,
        );
      }),
      { numRuns: runs(150) },
    );
  });

  it("of steps that wait for one another, or for one that there is not, is a picture all the same", () => {
    const step = (id: string, after: string) => ({ step_id: id, name: id, operator: "Test.Do", depends_on: [after] });
    const circle = modelOf({ reasoning: "", steps: [step("a", "b"), step("b", "a"), step("c", "nowhere")] });
    expect(layoutPlan(circle).boxes.length).toBe(3);
    expect(renderPlanMermaid(circle)).not.toContain("nowhere");
  });
});

describe("the picture of a run", () => {
  it("marks each step as it stands, and the one that a person is asked about", async () => {
    await using t = await createTestKernel({ capabilities: [gated()] });
    const waiting = await t.run(intentType);
    const marksOf = (state: typeof waiting) => readRun(state).nodes.map(({ mark }) => mark);
    expect(marksOf(waiting)).toEqual(["succeeded", "waits"]);
    expect(renderPlanSvg(readRun(waiting))).toContain(`${waiting.workflow_id} waiting for user`);
    await t.approve(waiting.workflow_id);
    expect(marksOf(await t.rest(waiting.workflow_id))).toEqual(["succeeded", "succeeded"]);
  });
});
