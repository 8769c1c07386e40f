/**
 * The layout of a chart's picture. The states of one level form a column, in the order they are written; arrows that go
 * down run on its right, arrows that go up on its left. All arrows into one state share a lane.
 *
 * Owns: coordinates, in pixels. Never: marks on the page (render-chart-svg.ts).
 * 1.  Every arrow leaves its box in rows of its own, so that labels never overlap.
 * 2.  The states inside a state are a level of their own, drawn inside its box.
 * 3.  An event that leads from several states into one stands once, where their arrows arrive.
 */
import type { Arrow, ChartState } from "./chart-model.ts";
import { textWidth } from "./text-size.ts";

export const metrics = { header: 26, row: 14, gap: 30, pad: 12, lane: 14, labelChar: 6.7, nameChar: 8.2 } as const;

export interface Level {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly Box[];
  readonly lanes: readonly Lane[];
  readonly initial: string;
}

export interface Box {
  readonly state: ChartState;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly inner: Level | null;
  /** The distance from the box's top to its inner states. */
  readonly innerTop: number;
}

/** The arrows into one state on one side: out of each source along its row, along the lane, into the state. */
export interface Lane {
  readonly x: number;
  readonly target: Point;
  readonly sources: readonly Source[];
  /** The events that several of the sources have, written once at the target. */
  readonly shared: readonly string[];
  readonly side: Side;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

interface Source extends Point {
  readonly labels: readonly string[];
}

export type Side = "right" | "left";

/** An arrow between two states of the same level, by their places in the column. */
interface Link {
  readonly from: number;
  readonly to: number;
  readonly side: Side;
  readonly labels: readonly string[];
  /** The labels that stand at the target instead, since several arrows have them. */
  readonly shared: readonly string[];
}

export function layoutLevel(states: readonly ChartState[], arrows: readonly Arrow[], initial: string): Level {
  const links = shareLabels(arrows.flatMap((arrow) => linkOf(arrow, states)));
  const margins = { left: marginOf(links, "left"), right: marginOf(links, "right") };
  const boxes = placeBoxes(
    states.map((state, index) => sizeBox(state, index, { links, arrows })),
    margins.left,
  );
  const column = Math.max(...boxes.map((box) => box.width));
  const last = boxes.at(-1) as Box;
  const edges = { left: margins.left, right: margins.left + column };
  const lanes = (["right", "left"] as const).flatMap((side) => placeLanes(side, { boxes, links, edge: edges[side] }));
  return { width: margins.left + column + margins.right, height: last.y + last.height, boxes, lanes, initial };
}

/** Returns whether the arrow is this level's; the name of an inner state that it starts from goes into its label. */
function linkOf(arrow: Arrow, states: readonly ChartState[]): Link[] {
  const indexOf = (path: string) =>
    states.findIndex((state) => path === state.path || path.startsWith(`${state.path}.`));
  const [from, to] = [indexOf(arrow.from), indexOf(arrow.to)];
  if (from < 0 || to < 0) return [];
  const { path } = states[from] as ChartState;
  if (from === to && arrow.from === path) throw new Error(`${path}: an arrow from a state into itself cannot be drawn`);
  const inner = arrow.from.slice(path.length + 1);
  const labels = arrow.labels.map((label) => (inner === "" ? label : `${inner}: ${label}`));
  return from === to ? [] : [{ from, to, side: to > from ? "right" : "left", labels, shared: [] }];
}

/** So many arrows of a lane with one label carry it together. */
const fewestShared = 3;

/** Moves the labels that several arrows of one lane have from these arrows to their target. */
function shareLabels(links: readonly Link[]): readonly Link[] {
  return links.map((link) => {
    const lane = links.filter(({ to, side }) => to === link.to && side === link.side);
    const isShared = (label: string): boolean =>
      lane.filter(({ labels }) => labels.includes(label)).length >= fewestShared;
    const [shared, labels] = [link.labels.filter(isShared), link.labels.filter((label) => !isShared(label))];
    return { ...link, labels, shared };
  });
}

/** Returns the rows that an arrow takes at its box: one for each label, and half of one where it has none. */
const rowsOf = ({ labels }: Link): number => Math.max(labels.length, 0.5);

const sumRows = (links: readonly Link[]): number => links.reduce((sum, link) => sum + rowsOf(link), 0);

const laneTargets = (links: readonly Link[], side: Side): readonly number[] => {
  const own = links.filter((link) => link.side === side);
  const reach = (to: number) =>
    Math.max(...own.filter((link) => link.to === to).map((link) => Math.abs(link.to - link.from)));
  return [...new Set(own.map((link) => link.to))].sort((a, b) => reach(a) - reach(b));
};

/** Returns the width for the labels of a side and for its lanes. */
function marginOf(links: readonly Link[], side: Side): number {
  const labels = links.filter((link) => link.side === side).flatMap((link) => [...link.labels, ...link.shared]);
  if (labels.length === 0) return 0;
  return Math.ceil(textWidth(labels, metrics.labelChar)) + metrics.lane * (laneTargets(links, side).length + 2);
}

interface Surroundings {
  readonly links: readonly Link[];
  readonly arrows: readonly Arrow[];
}

function sizeBox(state: ChartState, index: number, { links, arrows }: Surroundings): Box {
  const inner = state.initial === null ? null : layoutLevel(state.children, arrows, state.initial);
  const rowsOn = (side: Side) => sumRows(links.filter((link) => link.from === index && link.side === side));
  const own = [...state.notes, ...state.stays];
  const rows = Math.max(own.length, rowsOn("left"), rowsOn("right")) * metrics.row;
  const texts = Math.max(textWidth([state.name], metrics.nameChar), textWidth(own, metrics.labelChar));
  const width = Math.ceil(Math.max(texts, inner?.width ?? 0)) + 2 * metrics.pad;
  const innerTop = metrics.header + own.length * metrics.row + metrics.gap;
  const body = Math.max(rows, inner === null ? 0 : innerTop - metrics.header + inner.height);
  return { state, x: 0, y: 0, width, height: metrics.header + body + (body > 0 ? metrics.pad : 0), inner, innerTop };
}

/** Places the boxes one below the other, centred, with room above each for the mark of the initial state. */
function placeBoxes(boxes: readonly Box[], left: number): readonly Box[] {
  const column = Math.max(...boxes.map((box) => box.width));
  let y = 0;
  return boxes.map((box) => {
    const placed = { ...box, x: left + (column - box.width) / 2, y };
    y += box.height + metrics.gap;
    return placed;
  });
}

interface Column {
  readonly boxes: readonly Box[];
  readonly links: readonly Link[];
  /** The column's edge on the lanes' side. */
  readonly edge: number;
}

function placeLanes(side: Side, { boxes, links, edge }: Column): readonly Lane[] {
  const own = links.filter((link) => link.side === side);
  const outward = side === "right" ? 1 : -1;
  const labels = Math.ceil(
    textWidth(
      own.flatMap((link) => [...link.labels, ...link.shared]),
      metrics.labelChar,
    ),
  );
  const edgeOf = (box: Box) => (side === "right" ? box.x + box.width : box.x);
  return laneTargets(links, side).map((to, lane) => {
    const box = boxes[to] as Box;
    const into = own.filter((link) => link.to === to);
    const shared = [...new Set(into.flatMap((link) => link.shared))];
    const sources = into.map((link) => {
      const from = boxes[link.from] as Box;
      return { x: edgeOf(from), y: from.y + metrics.header + rowEnd(link, own) * metrics.row, labels: link.labels };
    });
    const x = edge + outward * (labels + metrics.lane * (lane + 1.5));
    return { x, side, sources, shared, target: { x: edgeOf(box), y: box.y + metrics.header / 2 } };
  });
}

/** Returns the row at whose foot the arrow leaves its box: after the labels of those that leave above it. */
function rowEnd(link: Link, onSide: readonly Link[]): number {
  return sumRows(onSide.slice(0, onSide.indexOf(link) + 1).filter((other) => other.from === link.from));
}
