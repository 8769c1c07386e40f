/**
 * A table whose columns line up and which fits the terminal: columns that may shrink become narrower, the widest first.
 * If they cannot become narrow enough, each row is printed as a few lines, broken between words.
 * Never: shrinks a column that is not marked so; ids are never cut, so that they can be copied.
 */
import { cutLine, cutShown, wrapLine } from "./render-text.ts";
import type { Style, Terminal } from "./terminal.ts";

export interface Column<R> {
  readonly title: string;
  readonly value: (row: R) => string;
  readonly shrinks?: boolean;
  /** The narrowest width of a column that shrinks; its longest cell may be narrower. Default: 8. */
  readonly least?: number;
  /** True if the title stands before the value when rows are printed as lines. */
  readonly labelled?: boolean;
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
  const stackRow = (r: number): string => stackCells(cellsOf(rows[r]!, columns, cells[r]!), { width, paint });
  const widths = columns.map((column, i) =>
    Math.max(column.title.length, ...cells.map((line) => [...line[i]!].length)),
  );
  if (!fitWidths(widths, columns, width)) return rows.map((_, r) => stackRow(r)).join("\n");
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

/** Shrinks columns until the table fits; returns false if it does not fit at their narrowest. */
function fitWidths<R>(widths: number[], columns: readonly Column<R>[], available: number): boolean {
  const total = () => widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1));
  const least = columns.map((column, i) => Math.min(widths[i]!, column.least ?? narrowest));
  while (total() > available) {
    const shrinking = widths.map((width, i) => (columns[i]!.shrinks && width > least[i]! ? width : 0));
    const widest = shrinking.indexOf(Math.max(...shrinking));
    if (shrinking[widest] === 0) return false;
    widths[widest]! -= 1;
  }
  return true;
}

interface Cell {
  readonly text: string;
  readonly style: Style | null;
}

const cellsOf = <R>(row: R, columns: readonly Column<R>[], values: readonly string[]): readonly Cell[] =>
  columns.map(({ title, labelled = false, style }, i) => ({
    text: labelled ? `${title.toLowerCase()} ${values[i]}` : values[i]!,
    style: style === undefined ? null : style(row),
  }));

/**
 * Lays out the cells of a row as lines, with as many whole cells on a line as fit; a longer cell is broken between
 * words.
 */
function stackCells(
  cells: readonly Cell[],
  { width, paint }: { readonly width: number; readonly paint: Terminal["paint"] },
): string {
  const lines: Cell[][] = [];
  const widthOf = (line: readonly Cell[]): number =>
    line.reduce((sum, { text }) => sum + [...text].length + gap.length, 0);
  for (const cell of cells.filter(({ text }) => text !== "")) {
    const last = lines.at(-1);
    const margin = lines.length > 1 ? gap.length : 0;
    if (last !== undefined && margin + widthOf(last) + [...cell.text].length <= width) last.push(cell);
    else lines.push([cell]);
  }
  const show = ({ text, style }: Cell): string => (style === null ? text : paint(style, text));
  const showLine = (line: readonly Cell[], margin: string): string => {
    const [only] = line as readonly [Cell];
    if (line.length > 1) return margin + line.map(show).join(gap);
    return wrapLine(only.text, width - margin.length, gap)
      .map((text) => margin + show({ ...only, text }))
      .join("\n");
  };
  return lines.map((line, i) => showLine(line, i === 0 ? "" : gap)).join("\n");
}
