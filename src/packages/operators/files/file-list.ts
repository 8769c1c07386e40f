/**
 * File.List: the plain files below a folder, by path, with their sizes.
 *
 * Owns: the walk, its order and its bounds (files, depth, entries looked at). Never: follows a symbolic link, enters a
 * folder of git or node_modules, opens a file.
 * 1.  Same tree, same answer: entries are visited and listed in code unit order of their names, not the disk's.
 */
import { lstat, readdir } from "node:fs/promises";
import { extname, join, posix } from "node:path";
import { z } from "zod";
import { defineOperator } from "../../../define/define-operator.ts";
import { withFileErrors } from "./file-error.ts";
import { openFolder } from "./open-inside.ts";
import { FolderPath, isGitFolder, isGitName, locate, RelativePath } from "./safe-path.ts";

const maxFiles = 10_000;
const maxEntries = 200_000;

export const FileListInput = z.object({
  folder: FolderPath,
  /** With the dot, as in ".ts"; all files without it. */
  extensions: z
    .array(z.string().regex(/^\.[\p{L}\p{N}_+-]{1,32}$/u))
    .max(100)
    .optional(),
  /** Paths that are left out. */
  exclude: z
    .array(RelativePath.transform((path) => posix.normalize(path)))
    .max(100)
    .default([]),
  max_files: z.int().min(1).max(maxFiles).default(1000),
  max_depth: z.int().min(1).max(64).default(32),
});
type FileListInput = Readonly<z.output<typeof FileListInput>>;

export const ListedFile = z.object({ path: z.string(), bytes: z.int().nonnegative() });
export type ListedFile = Readonly<z.infer<typeof ListedFile>>;

/** `skipped` counts what could not be listed: unreadable folders, links and devices, names that are not text. */
export const FileListOutput = z.object({
  files: z.array(ListedFile),
  truncated: z.boolean(),
  skipped: z.int().nonnegative(),
});

export const fileList = defineOperator({
  name: "File.List",
  version: "1.0",
  description: "Lists the files below a folder in a fixed order.",
  input: FileListInput,
  output: FileListOutput,
  effect: "read",
  idempotent: true,
  honoursAbort: true,
  timeoutSec: 60,
  kind: "tool",
  run: ({ input, signal }) => withFileErrors(input.folder, signal, () => walk(input, signal)),
});

interface OpenFolder {
  readonly path: string;
  readonly depth: number;
}

/** The progress of the walk, which alone changes it. */
interface Walk {
  readonly root: string;
  readonly open: OpenFolder[];
  readonly files: ListedFile[];
  entries: number;
  skipped: number;
  /** A bound was met: the walk ends. */
  full: boolean;
  /** Something below `max_depth` was left out: the walk goes on beside it. */
  tooDeep: boolean;
}

async function walk(input: FileListInput, signal: AbortSignal): Promise<z.input<typeof FileListOutput>> {
  const { root } = await locate(input.folder, ".");
  const state: Walk = { root, open: [], files: [], entries: 0, skipped: 0, full: false, tooDeep: false };
  await visit(state, { path: "", depth: 1 }, input);
  for (let folder = state.open.pop(); folder !== undefined && !state.full; folder = state.open.pop()) {
    signal.throwIfAborted();
    await visit(state, folder, input).catch(() => {
      state.skipped += 1;
    });
  }
  const files = state.files.toSorted((a, b) => compareText(a.path, b.path));
  return { files, truncated: state.full || state.tooDeep, skipped: state.skipped };
}

async function visit(state: Walk, folder: OpenFolder, input: FileListInput): Promise<void> {
  await using opened = await openFolder(state.root, folder.path === "" ? [] : folder.path.split("/"));
  const entries = await readdir(opened.path, { withFileTypes: true });
  if (isGitFolder(entries.map(({ name }) => name))) {
    state.skipped += 1;
    return;
  }
  const inside: OpenFolder[] = [];
  for (const entry of entries.sort((a, b) => compareText(a.name, b.name))) {
    state.entries += 1;
    state.full ||= state.entries > maxEntries;
    if (state.full) break;
    const path = folder.path === "" ? entry.name : `${folder.path}/${entry.name}`;
    if (entry.isDirectory()) inside.push({ path, depth: folder.depth + 1 });
    else if (!entry.isFile() || !isReadableName(entry.name)) state.skipped += 1;
    else if (isWanted(path, input)) await addFile(state, { path, absolute: join(opened.path, entry.name) }, input);
  }
  state.open.push(...inside.filter((next) => isOpened(state, next, input)).reverse());
}

interface FoundFile {
  readonly path: string;
  readonly absolute: string;
}

async function addFile(state: Walk, { path, absolute }: FoundFile, input: FileListInput): Promise<void> {
  if (state.files.length === input.max_files) {
    state.full = true;
    return;
  }
  const stats = await lstat(absolute).catch(() => null);
  if (stats === null) state.skipped += 1;
  else state.files.push({ path, bytes: stats.size });
}

function isOpened(state: Walk, { path, depth }: OpenFolder, input: FileListInput): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (isGitName(name) || name === "node_modules" || input.exclude.includes(path)) return false;
  state.tooDeep ||= depth > input.max_depth;
  return depth <= input.max_depth;
}

function isWanted(path: string, { extensions, exclude }: FileListInput): boolean {
  return (extensions === undefined || extensions.includes(extname(path))) && !exclude.includes(path);
}

// A name that is not UTF-8 was decoded with replacement characters and can no longer be opened.
const isReadableName = (name: string): boolean => !name.includes("\uFFFD");

/** Compares in code unit order: the same on every machine, whatever its language. */
function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
