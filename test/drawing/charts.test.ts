/** The drawings of the machines: every state says what it means, nothing lies on anything, light and dark alike. */
import { describe, expect, it } from "vitest";
import { allMachines, definitionOf } from "../../machines/index.ts";
import { type ChartState, readDefinition } from "../../src/observers/drawing/chart-model.ts";
import { renderChartSvg } from "../../src/observers/drawing/render-chart-svg.ts";
import { marksIn, outsideOf, overlapsIn } from "./marks.ts";

const flat = (states: readonly ChartState[]): readonly ChartState[] => states.flatMap((s) => [s, ...flat(s.children)]);
const charts = allMachines.map(
  (machine) => [machine.id, readDefinition(definitionOf(machine), { notes: true })] as const,
);

describe.each(charts)("the drawing of the machine %s", (_id, chart) => {
  const svg = renderChartSvg(chart);

  it("has no label over another one or over an edge, and nothing outside", () => {
    expect(marksIn(svg).texts.length).toBeGreaterThan(5);
    expect(overlapsIn(svg)).toEqual([]);
    expect(outsideOf(svg)).toEqual([]);
  });

  it("says of every state what it means, also to who does not see it", () => {
    const about = /<desc[^>]*>([^<]*)/.exec(svg)?.[1] ?? "";
    for (const { name, notes } of flat(chart.states)) {
      expect([name, notes.length > 0]).toEqual([name, true]);
      expect(about).toContain(`${name}: ${notes.join(" ")}`);
      for (const note of notes) expect(svg).toContain(`>${note}</text>`);
    }
  });

  it("has every colour in light and in dark, and none beside them", () => {
    const [, light = "", dark = ""] =
      /<style>svg\{([^}]*)\}@media \(prefers-color-scheme:dark\)\{svg\{([^}]*)\}\}/.exec(svg) ?? [];
    const namesIn = (rule: string): readonly string[] => [...rule.matchAll(/--(\w+):/g)].map(([, name = ""]) => name);
    const used = new Set([...svg.matchAll(/var\(--(\w+)\)/g)].map(([, name = ""]) => name));
    expect(namesIn(dark)).toEqual(namesIn(light));
    expect([...used].filter((name) => !namesIn(light).includes(name))).toEqual([]);
    expect(svg.replace(light, "").replace(dark, "")).not.toMatch(/#[0-9a-f]{3,6}\b/);
  });
});
