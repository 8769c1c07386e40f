/**
 * Marks of an SVG, as text; and the colours of all drawings, in light and in dark.
 *
 * 1.  Text is escaped: it never becomes a tag.
 * 2.  A drawing is self-contained: no script, no font, no address.
 */
export interface Place {
  readonly x: number;
  readonly y: number;
}

export interface Area extends Place {
  readonly width: number;
  readonly height: number;
}

const light = {
  ...{
    page: "#ffffff",
    box: "#f8fafc",
    inner: "#ffffff",
    ink: "#0f172a",
    text: "#334155",
    faint: "#64748b",
    line: "#475569",
  },
  ...{ on: "#1d4ed8", back: "#b45309", running: "#dbeafe", waits: "#fef3c7", succeeded: "#dcfce7", failed: "#fee2e2" },
} as const;
const dark: Readonly<Record<keyof typeof light, string>> = {
  ...{
    page: "#0f172a",
    box: "#1e293b",
    inner: "#0f172a",
    ink: "#f1f5f9",
    text: "#cbd5e1",
    faint: "#94a3b8",
    line: "#94a3b8",
  },
  ...{ on: "#93c5fd", back: "#fbbf24", running: "#1e3a8a", waits: "#713f12", succeeded: "#14532d", failed: "#7f1d1d" },
};

const declare = (colours: Readonly<Record<string, string>>): string =>
  `svg{${Object.entries(colours)
    .map(([name, value]) => `--${name}:${value}`)
    .join(";")}}`;

const style = [
  declare(light),
  `@media (prefers-color-scheme:dark){${declare(dark)}}`,
  "text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans " +
    "Mono',monospace;font-size:11px;fill:var(--text)}",
  ".page{fill:var(--page)}.title{font-size:16px;font-weight:bold;fill:var(--ink)}" +
    ".name{font-size:13px;font-weight:bold;fill:var(--ink)}",
  ".stay{fill:var(--faint);font-style:italic}.note{fill:var(--faint)}" +
    ".box{fill:var(--box);stroke:var(--line)}.inner{fill:var(--inner)}.asks{rx:22px}",
  ".end{fill:none;stroke:var(--line)}.right{stroke:var(--on);fill:none}.left{stroke:var(--back);fill:none}",
  ".dot-right,.head-right{fill:var(--on)}.dot-left,.head-left{fill:var(--back)}.start{fill:var(--ink)}",
  ".edge{stroke:var(--line);fill:none}.head-edge{fill:var(--line)}.queued,.skipped{stroke-dasharray:4 3}",
  ".running{fill:var(--running)}.waits{fill:var(--waits)}.succeeded{fill:var(--succeeded)}.failed{fill:var(--failed)}",
].join("");

export type Head = "right" | "left" | "edge";

const headOf = (name: Head): string =>
  `<marker id="${name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path ` +
  `class="head-${name}" d="M0,0L8,4L0,8Z"/></marker>`;

/** Renders a whole picture: its size, its title, its description for readers who do not see it, its marks. */
export function picture(
  { width, height }: Pick<Area, "width" | "height">,
  { title, about, heads }: { readonly title: string; readonly about: string; readonly heads: readonly Head[] },
  marks: readonly string[],
): string {
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
      `role="img" aria-labelledby="title about">`,
    `<title id="title">${escapeText(title)}</title>`,
    `<desc id="about">${escapeText(about)}</desc>`,
    `<style>${style}</style>`,
    `<defs>${heads.map(headOf).join("")}</defs>`,
    `<rect class="page" width="${width}" height="${height}"/>`,
    ...marks,
    "</svg>",
  ];
  return `${lines.join("\n")}\n`;
}

export const group = (x: number, y: number, lines: readonly string[]): string[] => [
  `<g transform="translate(${x},${y})">`,
  ...lines,
  "</g>",
];

export const rect = ({ x, y, width, height }: Area, kind: string): string =>
  `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}" rx="6"/>`;

export function text({ x, y }: Place, words: string, kind: string): string {
  const escaped = escapeText(words);
  if (kind === "to-left") return `<text x="${x}" y="${y}" text-anchor="end">${escaped}</text>`;
  return `<text${kind === "" ? "" : ` class="${kind}"`} x="${x}" y="${y}">${escaped}</text>`;
}

const escapeText = (words: string): string =>
  words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
