/**
 * Inventory: the merged digests of a folder, and its two renderings. Pure: same digests, same bytes.
 *
 * Owns: totals, the count by extension, files with the same content, and what could not be read. Never: opens a file;
 * leaves out a listed file silently (INV-1).
 * 1.  Each listed file is in exactly one part; `findGaps` names those that are not.
 */
import { z } from "zod";
import { DigestedFile } from "../../operators/files/file-digest.ts";
import type { ListedFile } from "../../operators/files/file-list.ts";
import { escapeMarkdown } from "../markdown.ts";

const Totals = z.object({ files: z.int(), bytes: z.int(), lines: z.int(), words: z.int() });
type Totals = Readonly<z.infer<typeof Totals>>;

export const Inventory = z.object({
  title: z.string(),
  complete: z.boolean(),
  totals: Totals,
  by_extension: z.array(Totals.extend({ extension: z.string() })),
  same_content: z.array(z.array(z.string())),
  files: z.array(DigestedFile),
});
export type Inventory = Readonly<z.infer<typeof Inventory>>;

export interface InventoryQuestion {
  readonly title: string;
  readonly files: readonly DigestedFile[];
  /** Nothing was left out of the listing. */
  readonly complete: boolean;
}

export function buildInventory({ title, files, complete }: InventoryQuestion): Inventory {
  const sorted = files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const groups = [...Map.groupBy(sorted, extensionOf)].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    title,
    complete,
    totals: sumUp(sorted),
    by_extension: groups.map(([extension, members]) => ({ extension, ...sumUp(members) })),
    same_content: findSameContent(sorted),
    files: sorted,
  };
}

/** Paths that were listed and not digested, or digested more than once. */
export function findGaps(listed: readonly ListedFile[], files: readonly DigestedFile[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { path } of files) counts.set(path, (counts.get(path) ?? 0) + 1);
  return listed.map(({ path }) => path).filter((path) => counts.get(path) !== 1);
}

export const renderJson = (inventory: Inventory): string => `${JSON.stringify(inventory, null, 2)}\n`;

export function renderMarkdown(inventory: Inventory): string {
  const { title, totals, complete } = inventory;
  const head =
    `# ${escapeMarkdown(title)}\n\n${totals.files} files, ${totals.bytes} bytes, ${totals.lines} lines, ` +
    `${totals.words} words.\n`;
  const warning = complete ? "" : "\nThe listing is not complete: a bound was met or something could not be listed.\n";
  return head + warning + renderExtensions(inventory) + renderSameContent(inventory) + renderFiles(inventory);
}

function sumUp(files: readonly DigestedFile[]): Totals {
  const sum = (field: "bytes" | "lines" | "words"): number =>
    files.reduce((total, file) => total + (file[field] ?? 0), 0);
  return { files: files.length, bytes: sum("bytes"), lines: sum("lines"), words: sum("words") };
}

function extensionOf({ path }: DigestedFile): string {
  return /[^/](\.[^./]+)$/.exec(path)?.[1] ?? "(none)";
}

function findSameContent(files: readonly DigestedFile[]): string[][] {
  const filled = files.filter((file) => file.sha256 !== null && file.bytes !== 0);
  const groups = Map.groupBy(filled, (file) => file.sha256);
  return [...groups.values()].filter((group) => group.length > 1).map((group) => group.map((file) => file.path));
}

function renderExtensions({ by_extension }: Inventory): string {
  const rows = by_extension.map((row) => [escapeMarkdown(row.extension), row.files, row.bytes, row.lines, row.words]);
  return renderTable("By extension", ["Extension", "Files", "Bytes", "Lines", "Words"], rows);
}

function renderSameContent({ same_content }: Inventory): string {
  const lines = same_content.map((paths) => `- ${paths.map((path) => escapeMarkdown(path)).join(", ")}\n`);
  return lines.length === 0 ? "" : `\n## Same content\n\n${lines.join("")}`;
}

function renderFiles({ files }: Inventory): string {
  const rows = files.map((file) => [
    escapeMarkdown(file.path),
    file.bytes ?? "",
    file.lines ?? "",
    file.sha256?.slice(0, 12) ?? file.problem ?? "",
  ]);
  return renderTable("Files", ["Path", "Bytes", "Lines", "SHA-256 or problem"], rows);
}

function renderTable(title: string, head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  if (rows.length === 0) return "";
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`);
  return `\n## ${title}\n\n${lines.join("")}`;
}
