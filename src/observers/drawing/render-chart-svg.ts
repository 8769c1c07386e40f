/** A machine as a picture: boxes in a column, labelled arrows beside it. The layout is that of layout-chart.ts. */
import type { ChartModel, ChartState } from "./chart-model.ts";
import { type Box, type Lane, type Level, layoutLevel, metrics } from "./layout-chart.ts";
import { group, picture, rect, text } from "./svg.ts";

const margin = 24;
const titleHeight = 44;

export function renderChartSvg(chart: ChartModel): string {
  const level = layoutLevel(chart.states, chart.arrows, chart.initial);
  const size = {
    width: Math.ceil(Math.max(level.width, 160)) + 2 * margin,
    height: Math.ceil(level.height) + titleHeight + metrics.gap + margin,
  };
  const marks = [
    text({ x: margin, y: 30 }, chart.id, "title"),
    ...group(margin, titleHeight + metrics.gap / 2, drawLevel(level)),
  ];
  return picture(size, { title: chart.id, about: describeStates(chart.states), heads: ["right", "left"] }, marks);
}

/** Returns the description for a reader who does not see the picture. */
const describeStates = (states: readonly ChartState[]): string =>
  states
    .map(({ name, notes, children }) => {
      const inside = children.length === 0 ? "" : ` Inside: ${describeStates(children)}`;
      return `${name}${notes.length === 0 ? "." : `: ${notes.join(" ")}`}${inside}`;
    })
    .join(" ");

const drawLevel = (level: Level): string[] => [
  ...level.boxes.flatMap((box) => drawBox(box, box.state.path === level.initial)),
  ...level.lanes.flatMap(drawLane),
];

function drawBox({ state, x, y, width, height, inner, innerTop }: Box, isInitial: boolean): string[] {
  const { notes, stays } = state;
  const own = [...notes, ...stays].map((label, row) =>
    text(
      { x: x + metrics.pad, y: y + metrics.header + row * metrics.row + 8 },
      label,
      row < notes.length ? "note" : "stay",
    ),
  );
  return [
    rect({ x, y, width, height }, inner === null ? "box" : "box inner"),
    ...(state.isFinal ? [rect({ x: x + 3, y: y + 3, width: width - 6, height: height - 6 }, "end")] : []),
    ...(isInitial ? drawStart(x + width / 2, y) : []),
    text({ x: x + metrics.pad, y: y + 18 }, state.name, "name"),
    ...own,
    ...(inner === null ? [] : group(x + metrics.pad, y + innerTop, drawLevel(inner))),
  ];
}

const drawStart = (x: number, y: number): string[] => [
  `<circle class="start" cx="${x}" cy="${y - 18}" r="4"/>`,
  `<path class="right" d="M${x},${y - 14}V${y}" marker-end="url(#right)"/>`,
];

function drawLane({ x, side, target, sources, shared }: Lane): string[] {
  const ys = sources.map((source) => source.y);
  const far = side === "right" ? Math.min(...ys) : Math.max(...ys);
  const branches = sources.flatMap((source) => [
    `<path class="${side}" d="M${source.x},${source.y}H${x}"/>`,
    ...(source.y === far ? [] : [`<circle class="dot-${side}" cx="${x}" cy="${source.y}" r="2.5"/>`]),
    ...source.labels.map((label, i) => {
      const y = source.y - (source.labels.length - 1 - i) * metrics.row - 4;
      return text({ x: source.x + (side === "right" ? 8 : -8), y }, label, side === "right" ? "" : "to-left");
    }),
  ]);
  const arriving = shared.map((label, i) => {
    const at = { x: target.x + (side === "right" ? 12 : -12), y: target.y - i * metrics.row - 4 };
    return text(at, label, side === "right" ? "" : "to-left");
  });
  return [
    ...arriving,
    `<path class="${side}" d="M${x},${far}V${target.y}H${target.x}" marker-end="url(#${side})"/>`,
    ...branches,
  ];
}
