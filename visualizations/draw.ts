/**
 * Draws every machine: `node visualizations/draw.ts` writes the files of this folder.
 *
 * Owns: which machines are drawn, and the names of the files. Never: how (src/observers/drawing).
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AnyStateMachine } from "xstate";
import { allMachines, definitionOf } from "../machines/index.ts";
import { readDefinition } from "../src/observers/drawing/chart-model.ts";
import { renderChartMermaid } from "../src/observers/drawing/render-chart-mermaid.ts";
import { renderChartSvg } from "../src/observers/drawing/render-chart-svg.ts";
import { renderJson } from "./render-json.ts";
import { renderReadme } from "./render-readme.ts";

export const drawnMachines: readonly AnyStateMachine[] = allMachines;

/** The text of each file by its name. */
export function renderAll(machines: readonly AnyStateMachine[] = drawnMachines): Map<string, string> {
  const drawings = new Map([["README.md", renderReadme(machines)]]);
  for (const machine of machines) {
    const chart = readDefinition(definitionOf(machine), { notes: true });
    drawings.set(`${machine.id}.json`, renderJson(machine));
    drawings.set(`${machine.id}.mmd`, renderChartMermaid(chart));
    drawings.set(`${machine.id}.svg`, renderChartSvg(chart));
  }
  return drawings;
}

if (import.meta.main) {
  for (const [name, text] of renderAll()) writeFileSync(join(import.meta.dirname, name), text);
}
