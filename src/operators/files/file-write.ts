// File.Write: makes a text file stand in a folder, whole or not at all.
// Owns: the atomic replacement (temporary file beside it, fsync, rename, fsync of the folder) and the preview at the gate.
// Never: leaves the folder, follows a symbolic link, appends, or touches a file that already says the same.
// INV-1  A reader sees the old text or the new one, also after a crash.
// INV-2  Same content already there: nothing is written, `unchanged` says so. The same key again gets its first answer.

import { hash } from "node:crypto";
import { lstat, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { defineOperator, operatorError } from "../../define/define-operator.ts";
import { errnoOf, withFileErrors } from "./file-error.ts";
import { FolderPath, type Location, locate, RelativePath } from "./safe-path.ts";
import { unifiedDiff } from "./unified-diff.ts";

const maxContentChars = 4_000_000;
const maxPreviewChars = 200_000;
const maxRememberedKeys = 1024;
const newFileMode = 0o644;

export const FileWriteInput = z.object({
  folder: FolderPath,
  path: RelativePath,
  content: z.string().max(maxContentChars),
});
type FileWriteInput = Readonly<z.output<typeof FileWriteInput>>;

export const FileWriteOutput = z.object({
  path: z.string(),
  bytes: z.int().nonnegative(),
  sha256: z.string(),
  written: z.boolean(),
  unchanged: z.boolean(),
});
type FileWriteOutput = Readonly<z.output<typeof FileWriteOutput>>;

/** File.Write with a memory of its own for what each key did. */
export function createFileWrite() {
  const answers = new Map<string, FileWriteOutput>();
  return defineOperator({
    name: "File.Write",
    version: "1.0",
    description: "Writes a text file in a folder, atomically.",
    input: FileWriteInput,
    output: FileWriteOutput,
    effect: "final_write",
    idempotent: true,
    honoursAbort: true,
    timeoutSec: 30,
    riskLevel: "medium",
    kind: "tool",
    run: async ({ input, idempotencyKey, signal }) => {
      const answer = await withFileErrors(input.path, signal, () => makeStand({ input, idempotencyKey, signal }));
      return rememberFirst(answers, idempotencyKey, answer);
    },
    preview: ({ input, signal }) => withFileErrors(input.path, signal, () => previewWrite(input)),
  });
}

export const fileWrite = createFileWrite();

// A call repeated by its key finds its own work done; what it observes is still that the call wrote the file.
function rememberFirst(answers: Map<string, FileWriteOutput>, key: string, answer: FileWriteOutput): FileWriteOutput {
  const first = answers.get(key);
  if (answer.unchanged && first?.path === answer.path && first.sha256 === answer.sha256) return first;
  answers.delete(key);
  answers.set(key, answer);
  const oldest = answers.keys().next();
  if (answers.size > maxRememberedKeys && !oldest.done) answers.delete(oldest.value);
  return answer;
}

interface WriteCall {
  readonly input: FileWriteInput;
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

async function makeStand({ input, idempotencyKey, signal }: WriteCall): Promise<FileWriteOutput> {
  const bytes = Buffer.from(input.content);
  const place = await locate(input.folder, input.path);
  const standing = await inspect(place);
  const answer = { path: place.path, bytes: bytes.length, sha256: hash("sha256", bytes) };
  if (standing?.size === bytes.length && bytes.equals(await readFile(place.absolute, { signal }))) {
    return { ...answer, written: false, unchanged: true };
  }
  await mkdir(dirname(place.absolute), { recursive: true });
  const temporary = temporaryName(place, idempotencyKey);
  await replaceFile({ target: place.absolute, temporary, bytes, mode: standing?.mode ?? null, signal });
  return { ...answer, written: true, unchanged: false };
}

interface Standing {
  readonly size: number;
  readonly mode: number;
}

/** The file that stands, or null. @throws OperatorError FILE_NOT_A_FILE for a folder, a link, a device. */
async function inspect(place: Location): Promise<Standing | null> {
  const stats = await lstat(place.absolute).catch((failure: unknown) => {
    if (errnoOf(failure) === "ENOENT") return null;
    throw failure;
  });
  if (stats === null || stats.isFile()) return stats && { size: stats.size, mode: stats.mode & 0o777 };
  const message = `${place.path} is not a plain file`;
  throw operatorError({ code: "FILE_NOT_A_FILE", category: "validation", message, details: { path: place.path } });
}

// By key and path: what a crashed attempt left behind is replaced by the next one with its key.
function temporaryName(place: Location, key: string): string {
  return join(dirname(place.absolute), `.countersign-${hash("sha256", `${key}\0${place.path}`).slice(0, 16)}.tmp`);
}

interface Replacement {
  readonly target: string;
  readonly temporary: string;
  readonly bytes: Buffer;
  /** The permissions of the file that is replaced; null for a new one. */
  readonly mode: number | null;
  readonly signal: AbortSignal;
}

async function replaceFile({ target, temporary, bytes, mode, signal }: Replacement): Promise<void> {
  await rm(temporary, { force: true });
  try {
    await writeSynced(temporary, bytes, mode);
    signal.throwIfAborted();
    await rename(temporary, target);
  } catch (failure) {
    await rm(temporary, { force: true });
    throw failure;
  }
  await syncFolder(dirname(target));
}

async function writeSynced(temporary: string, bytes: Buffer, mode: number | null): Promise<void> {
  await using file = await open(temporary, "wx", mode ?? newFileMode);
  await file.writeFile(bytes);
  if (mode !== null) await file.chmod(mode);
  await file.sync();
}

// Without it the rename itself may be lost with the power. Windows cannot open a folder and needs no such call.
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  await using handle = await open(folder, "r");
  await handle.sync();
}

async function previewWrite({ folder, path, content }: FileWriteInput) {
  const place = await locate(folder, path);
  const standing = await inspect(place);
  const before = standing === null ? null : await readStanding(place, standing);
  const diff = before === undefined ? null : clip(unifiedDiff({ path: place.path, before, after: content }));
  return { preview: clip(content), diff };
}

/** undefined when the file that stands is too large to compare. */
async function readStanding(place: Location, standing: Standing): Promise<string | undefined> {
  return standing.size > maxContentChars ? undefined : readFile(place.absolute, "utf8");
}

function clip(text: string): string {
  if (text.length <= maxPreviewChars) return text;
  return `${text.slice(0, maxPreviewChars)}\n… ${text.length - maxPreviewChars} more characters\n`;
}
