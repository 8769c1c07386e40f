/**
 * A table whose columns line up and that fits the terminal: columns that may shrink give way, widest first.
 * Never: shrinks a column that is not marked so; ids stay whole, so that they can be copied.
 */
import { cutLine, cutShown } from "./render-text.ts";
import type { Style, Terminal } from "./terminal.ts";

export interface Column<R> {
  readonly title: string;
  readonly value: (row: R) => string;
  readonly shrinks?: boolean;
  readonly style?: (row: R) => Style;
}

const gap = "  ";
const narrowest = 8;
const longest = 500;

export function renderTable<R>(
  rows: readonly R[],
  columns: readonly Column<R>[],
  { columns: width, paint }: Pick<Terminal, "columns" | "paint">,
): string {
  const cells = rows.map((row) => columns.map((column) => cutLine(column.value(row), longest)));
  const widths = columns.map((column, i) =>
    Math.max(column.title.length, ...cells.map((line) => [...line[i]!].length)),
  );
  fitWidths(widths, columns, width);
  const pad = (text: string, i: number) => {
    const cut = cutShown(text, widths[i]!);
    return i === columns.length - 1 ? cut : cut + " ".repeat(widths[i]! - [...cut].length);
  };
  const head = columns.map((column, i) => paint("dim", pad(column.title, i))).join(gap);
  const lines = rows.map((row, r) =>
    columns.map(({ style }, i) => (style ? paint(style(row), pad(cells[r]![i]!, i)) : pad(cells[r]![i]!, i))).join(gap),
  );
  return [head, ...lines].map((line) => line.trimEnd()).join("\n");
}

function fitWidths<R>(widths: number[], columns: readonly Column<R>[], available: number): void {
  const total = () => widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1));
  while (total() > available) {
    const shrinking = widths.map((width, i) => (columns[i]!.shrinks ? width : 0));
    const widest = shrinking.indexOf(Math.max(...shrinking));
    if (shrinking[widest]! <= narrowest) return;
    widths[widest]! -= 1;
  }
}
