/** A plan or a run as a picture: a box a step, below those that it waits for. The layout is that of layout-plan.ts. */
import { layoutPlan, type PlanBox, planMetrics } from "./layout-plan.ts";
import type { PlanModel } from "./plan-model.ts";
import { type Area, group, type Place, picture, rect, text } from "./svg.ts";
import { textWidth } from "./text-size.ts";

const margin = 24;
const titleHeight = 62;
const titleChar = 9.8;

export function renderPlanSvg(plan: PlanModel): string {
  const { width, height, boxes, lines } = layoutPlan(plan);
  const title = Math.max(textWidth([plan.title], titleChar), textWidth([plan.subtitle], planMetrics.char));
  const size = {
    width: Math.ceil(Math.max(width, title)) + 2 * margin,
    height: Math.ceil(height) + titleHeight + margin,
  };
  const marks = [
    text({ x: margin, y: 28 }, plan.title, "title"),
    text({ x: margin, y: 46 }, plan.subtitle, "note"),
    ...group(margin, titleHeight, [...lines.map(drawLine), ...boxes.flatMap(drawBox)]),
  ];
  const about = `${plan.subtitle}: ${plan.nodes.map(describeNode).join("; ")}`;
  return picture(size, { title: plan.title, about, heads: ["edge"] }, marks);
}

const describeNode = ({ head, lines, dependsOn }: PlanModel["nodes"][number]): string =>
  [head.join(" "), ...lines, ...(dependsOn.length === 0 ? [] : [`after ${dependsOn.join(", ")}`])].join(", ");

function drawBox({ node, x, y, width, height }: PlanBox): string[] {
  const { pad, head, row } = planMetrics;
  const top = y + head * node.head.length;
  return [
    rect(
      { x, y, width, height },
      ["box", ...(node.shape === "box" ? [] : [node.shape]), ...(node.mark === null ? [] : [node.mark])].join(" "),
    ),
    ...(node.runs ? [sides({ x, y, width, height })] : []),
    ...node.head.map((line, at) => text({ x: x + pad, y: y + head * at + 18 }, line, "name")),
    ...node.lines.map((line, at) => text({ x: x + pad, y: top + row * at + 10 }, line, at === 0 ? "" : "note")),
  ];
}

/** Draws the second sides of a step that runs a child workflow. */
const sides = ({ x, y, width, height }: Area): string =>
  `<path class="end" d="M${x + 5},${y}V${y + height}M${x + width - 5},${y}V${y + height}"/>`;

/** Draws a line straight down past its row, and over to the next one in the space between the two. */
function drawLine(places: readonly Place[]): string {
  const [first, ...rest] = places as readonly [Place, ...Place[]];
  let from = first;
  const parts = rest.map((to) => {
    const middle = to.y - planMetrics.down / 2;
    const over = `V${to.y - planMetrics.down}C${from.x},${middle} ${to.x},${middle} ${to.x},${to.y}`;
    const part = from.x === to.x ? `V${to.y}` : over;
    from = to;
    return part;
  });
  return `<path class="edge" d="M${first.x},${first.y}${parts.join("")}" marker-end="url(#edge)"/>`;
}
