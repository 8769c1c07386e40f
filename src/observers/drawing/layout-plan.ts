/**
 * The layout of a plan's picture: steps in rows, each below those that it waits for, with lines between them.
 *
 * Owns: coordinates, in pixels. Never: marks on the page.
 * 1.  No boxes overlap, and no line runs through a box: a line that passes rows has a place of its own in each.
 * 2.  The same plan gives the same picture.
 */
import type { PlanModel, PlanNode } from "./plan-model.ts";
import { depthsOf } from "./step-depths.ts";
import type { Area, Place } from "./svg.ts";
import { textWidth } from "./text-size.ts";

export const planMetrics = {
  row: 15,
  head: 22,
  pad: 12,
  across: 28,
  down: 40,
  lane: 16,
  char: 6.7,
  nameChar: 8.2,
} as const;

export interface PlanBox extends Area {
  readonly node: PlanNode;
}

export interface PlanLayout {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly PlanBox[];
  /** The lines from the foot of a step to the head of one that waits for it, through these points. */
  readonly lines: readonly (readonly Place[])[];
}

/** A step in its row, or the place that a line takes in a row which it passes. */
interface Slot {
  readonly node: PlanNode | null;
  readonly width: number;
  readonly height: number;
  /** The slots in the row above that it depends on. */
  readonly above: Slot[];
  x: number;
}

export function layoutPlan({ nodes }: PlanModel): PlanLayout {
  const depths = depthsOf(nodes);
  const rows: Slot[][] = [];
  const slots = new Map(nodes.map((node) => [node.id, slotOf(node)]));
  const chains: Slot[][] = [];
  for (const node of nodes) addTo(rows, depths.get(node.id) ?? 0, slots.get(node.id) as Slot);
  for (const node of nodes)
    for (const id of node.dependsOn) {
      const [from, to] = [slots.get(id), slots.get(node.id) as Slot];
      if (from !== undefined)
        chains.push(chain(rows, { from, to, at: depths.get(id) ?? 0, end: depths.get(node.id) ?? 0 }));
    }
  for (const row of rows.slice(1)) row.sort((a, b) => meanX(a, rows) - meanX(b, rows));
  return place(rows, chains);
}

function slotOf(node: PlanNode): Slot {
  const { pad, head, row, char, nameChar } = planMetrics;
  const widest = Math.max(textWidth(node.head, nameChar), textWidth(node.lines, char));
  const height = head * node.head.length + row * node.lines.length + pad;
  return { node, width: Math.ceil(widest) + 2 * pad, height, above: [], x: 0 };
}

function addTo(rows: Slot[][], depth: number, slot: Slot): void {
  const row = rows[depth] ?? [];
  row.push(slot);
  rows[depth] = row;
}

/** Returns the slots that a line goes through. A line that would lead up, in a cyclic plan, is straight. */
function chain(
  rows: Slot[][],
  { from, to, at, end }: { readonly from: Slot; readonly to: Slot; readonly at: number; readonly end: number },
): Slot[] {
  const through = [from];
  for (let depth = at + 1; depth < end; depth += 1) {
    const lane: Slot = { node: null, width: planMetrics.lane, height: 0, above: [through.at(-1) as Slot], x: 0 };
    addTo(rows, depth, lane);
    through.push(lane);
  }
  to.above.push(through.at(-1) as Slot);
  return [...through, to];
}

/** Returns the position straight below the slots of the row above. */
function meanX({ above }: Slot, rows: readonly Slot[][]): number {
  const places = above.map((slot) => rows.find((row) => row.includes(slot))?.indexOf(slot) ?? 0);
  return places.length === 0 ? 0 : places.reduce((sum, at) => sum + at, 0) / places.length;
}

function place(rows: readonly Slot[][], chains: readonly Slot[][]): PlanLayout {
  const { across, down } = planMetrics;
  const widths = rows.map((row) => row.reduce((sum, slot) => sum + slot.width + across, -across));
  const width = Math.max(0, ...widths);
  const tops = new Map<Slot, number>();
  const feet = new Map<Slot, number>();
  let y = 0;
  for (const [n, row] of rows.entries()) {
    let x = (width - (widths[n] ?? 0)) / 2;
    const height = Math.max(...row.map((slot) => slot.height));
    for (const slot of row) {
      slot.x = x;
      tops.set(slot, y);
      // A line runs past its whole row; a box ends where it ends.
      feet.set(slot, y + (slot.node === null ? height : slot.height));
      x += slot.width + across;
    }
    y += height + down;
  }
  const headOf = (slot: Slot): Place => ({ x: slot.x + slot.width / 2, y: tops.get(slot) ?? 0 });
  const footOf = (slot: Slot): Place => ({ x: slot.x + slot.width / 2, y: feet.get(slot) ?? 0 });
  const boxes = rows
    .flat()
    .flatMap((slot) =>
      slot.node === null
        ? []
        : [{ node: slot.node, x: slot.x, y: tops.get(slot) ?? 0, width: slot.width, height: slot.height }],
    );
  const lines = chains.map(([from, ...through]) => [
    footOf(from as Slot),
    ...through.flatMap((slot) => (slot.node === null ? [headOf(slot), footOf(slot)] : [headOf(slot)])),
  ]);
  return { width, height: Math.max(0, y - down), boxes, lines };
}
