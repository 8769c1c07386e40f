/** A machine as a picture: boxes in a column, labelled arrows beside it. Where things stand is layout-chart.ts's. */
import type { ChartModel } from "./chart-model.ts";
import { type Box, type Lane, type Level, layoutLevel, metrics } from "./layout-chart.ts";

const margin = 24;
const titleHeight = 44;

const style = [
  "text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:11px;fill:#334155}",
  ".title{font-size:16px;font-weight:bold;fill:#0f172a}.name{font-size:13px;font-weight:bold;fill:#0f172a}",
  ".stay{fill:#64748b;font-style:italic}.box{fill:#f8fafc;stroke:#475569}.inner{fill:#ffffff}.end{fill:none;stroke:#475569}",
  ".right{stroke:#1d4ed8;fill:none}.left{stroke:#b45309;fill:none}.dot-right{fill:#1d4ed8}.dot-left{fill:#b45309}.start{fill:#0f172a}",
].join("");

const head = (side: "right" | "left", colour: string): string =>
  `<marker id="${side}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0,0L8,4L0,8Z" fill="${colour}"/></marker>`;

export function renderSvg(chart: ChartModel): string {
  const level = layoutLevel(chart.states, chart.arrows, chart.initial);
  const width = Math.ceil(Math.max(level.width, 160)) + 2 * margin;
  const height = Math.ceil(level.height) + titleHeight + metrics.gap + margin;
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${chart.id}">`,
    `<style>${style}</style>`,
    `<defs>${head("right", "#1d4ed8")}${head("left", "#b45309")}</defs>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text({ x: margin, y: 30 }, chart.id, "title"),
    ...group(margin, titleHeight + metrics.gap / 2, drawLevel(level)),
    "</svg>",
  ];
  return `${lines.join("\n")}\n`;
}

const group = (x: number, y: number, lines: readonly string[]): string[] => [
  `<g transform="translate(${x},${y})">`,
  ...lines,
  "</g>",
];

const drawLevel = (level: Level): string[] => [
  ...level.boxes.flatMap((box) => drawBox(box, box.state.path === level.initial)),
  ...level.lanes.flatMap(drawLane),
];

function drawBox({ state, x, y, width, height, inner }: Box, isInitial: boolean): string[] {
  const stays = state.stays.map((label, row) =>
    text({ x: x + metrics.pad, y: y + metrics.header + row * metrics.row + 8 }, label, "stay"),
  );
  return [
    rect({ x, y, width, height }, inner === null ? "box" : "box inner"),
    ...(state.isFinal ? [rect({ x: x + 3, y: y + 3, width: width - 6, height: height - 6 }, "end")] : []),
    ...(isInitial ? drawStart(x + width / 2, y) : []),
    text({ x: x + metrics.pad, y: y + 18 }, state.name, "name"),
    ...stays,
    ...(inner === null ? [] : group(x + metrics.pad, y + metrics.header + metrics.gap, drawLevel(inner))),
  ];
}

const drawStart = (x: number, y: number): string[] => [
  `<circle class="start" cx="${x}" cy="${y - 18}" r="4"/>`,
  `<path class="right" d="M${x},${y - 14}V${y}" marker-end="url(#right)"/>`,
];

function drawLane({ x, side, target, sources }: Lane): string[] {
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
  return [`<path class="${side}" d="M${x},${far}V${target.y}H${target.x}" marker-end="url(#${side})"/>`, ...branches];
}

interface Place {
  readonly x: number;
  readonly y: number;
}

const rect = (
  { x, y, width, height }: Place & { readonly width: number; readonly height: number },
  kind: string,
): string => `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}" rx="6"/>`;

function text({ x, y }: Place, words: string, kind: string): string {
  const escaped = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  if (kind === "to-left") return `<text x="${x}" y="${y}" text-anchor="end">${escaped}</text>`;
  return `<text${kind === "" ? "" : ` class="${kind}"`} x="${x}" y="${y}">${escaped}</text>`;
}
