/**
 * Draws every machine: `node visualizations/draw.ts` writes the files of this folder.
 *
 * Owns: which machines are drawn, and the names of the files. Never: how (render-*.ts).
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AnyStateMachine } from "xstate";
import { allMachines } from "../machines/index.ts";
import { readChart } from "./chart-model.ts";
import { renderJson } from "./render-json.ts";
import { renderMermaid } from "./render-mermaid.ts";
import { renderReadme } from "./render-readme.ts";
import { renderSvg } from "./render-svg.ts";

export const drawnMachines: readonly AnyStateMachine[] = allMachines;

/** The text of each file by its name. */
export function renderAll(machines: readonly AnyStateMachine[] = drawnMachines): Map<string, string> {
  const drawings = new Map([["README.md", renderReadme(machines)]]);
  for (const machine of machines) {
    const chart = readChart(machine);
    drawings.set(`${machine.id}.json`, renderJson(machine));
    drawings.set(`${machine.id}.mmd`, renderMermaid(chart));
    drawings.set(`${machine.id}.svg`, renderSvg(chart));
  }
  return drawings;
}

if (import.meta.main) {
  for (const [name, text] of renderAll()) writeFileSync(join(import.meta.dirname, name), text);
}
