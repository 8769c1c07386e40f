/** A machine as a Mermaid state diagram, which code hosts draw in place. */
import type { Arrow, ChartModel, ChartState } from "./chart-model.ts";

export function renderChartMermaid(chart: ChartModel): string {
  const lines = ["stateDiagram-v2", ...indent([`[*] --> ${idOf(chart.initial)}`, ...chart.states.flatMap(stateLines)])];
  return `${[...lines, ...indent(chart.arrows.map(arrowLine))].join("\n")}\n`;
}

const indent = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);
const idOf = (path: string): string => path.replaceAll(".", "_");

function stateLines(state: ChartState): string[] {
  const id = idOf(state.path);
  const declared = id === state.name ? id : `state "${state.name}" as ${id}`;
  const stays = state.stays.length === 0 ? [] : [`${id} --> ${id}: ${state.stays.join(", ")}`];
  const end = state.isFinal ? [`${id} --> [*]`] : [];
  const note =
    state.notes.length === 0 ? [] : [`note right of ${id}: ${state.notes.join(" ").replaceAll(";", "#59;")}`];
  if (state.initial === null) return [declared, ...stays, ...end, ...note];
  const inner = [`[*] --> ${idOf(state.initial)}`, ...state.children.flatMap(stateLines)];
  return [`state ${id} {`, ...indent(inner), "}", ...stays, ...note];
}

const arrowLine = ({ from, to, labels }: Arrow): string => `${idOf(from)} --> ${idOf(to)}: ${labels.join(", ")}`;
