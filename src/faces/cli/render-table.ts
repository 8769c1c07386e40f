/**
 * A table whose columns line up and which fits the terminal: columns that may shrink become narrower, the widest first.
 * If they cannot become narrow enough, spare columns are left out and named below the table. If that does not suffice
 * either, each row is printed with all its cells, as a few lines broken between words.
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
  /** The rank in which the column is left out where the table is too wide, 1 first; absent if it always stays. */
  readonly spare?: number;
  /** True if the title stands before the value when rows are printed as lines. */
  readonly labelled?: boolean;
  readonly style?: (row: R) => Style;
}

const gap = "  ";
const narrowest = 8;
const longest = 500;

type Look = Pick<Terminal, "columns" | "paint">;

export function renderTable<R>(rows: readonly R[], columns: readonly Column<R>[], look: Look): string {
  for (let kept = columns; ; kept = leaveOut(kept)) {
    const table = lineUp(rows, kept, look);
    if (table !== null) return [table, ...describeLeftOut(columns, kept, look)].join("\n");
    if (kept.every(({ spare }) => spare === undefined)) break;
  }
  const cellsIn = (row: R): readonly string[] => columns.map((column) => cutLine(column.value(row), longest));
  const { columns: width, paint } = look;
  return rows.map((row) => stackCells(cellsOf(row, columns, cellsIn(row)), { width, paint })).join("\n");
}

/** Leaves out the spare column of the lowest rank. */
function leaveOut<R>(columns: readonly Column<R>[]): readonly Column<R>[] {
  const first = Math.min(...columns.map(({ spare = Number.POSITIVE_INFINITY }) => spare));
  return columns.filter(({ spare }) => spare !== first);
}

function describeLeftOut<R>(all: readonly Column<R>[], kept: readonly Column<R>[], { paint }: Look): readonly string[] {
  const titles = all.filter((one) => !kept.includes(one)).map(({ title }) => title);
  return titles.length === 0 ? [] : [paint("dim", `(a wider terminal, or --json, shows ${titles.join(" and ")})`)];
}

/** Returns the rows with their columns lined up, or null if they do not fit. */
function lineUp<R>(rows: readonly R[], columns: readonly Column<R>[], { columns: width, paint }: Look): string | null {
  const cells = rows.map((row) => columns.map((column) => cutLine(column.value(row), longest)));
  const widths = columns.map((column, i) =>
    Math.max(column.title.length, ...cells.map((line) => [...line[i]!].length)),
  );
  if (!fitWidths(widths, columns, width)) return null;
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
