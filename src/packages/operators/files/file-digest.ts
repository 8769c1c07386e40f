/**
 * File.Digest: sha256, size, line and word count of files, one after the other, without holding them in memory.
 *
 * Owns: the measuring of one file's bytes (File.Read uses it too) and the choice of a part of a list. Never: fails a
 * whole list for one file: a file that is too large, gone or unreadable is named in its entry.
 * 1.  The parts 0..n-1 of n of one list are disjoint and together the whole list.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { defineOperator, OperatorError } from "../../../define/define-operator.ts";
import { withFileErrors } from "./file-error.ts";
import { openFile } from "./open-inside.ts";
import { FolderPath, locate, RelativePath } from "./safe-path.ts";

const maxListed = 10_000;
const mebibyte = 1024 * 1024;

/** The share of the files at `index` of every `of`: steps that run side by side divide one list by it. */
const Part = z
  .object({ index: z.int().nonnegative(), of: z.int().min(1).max(100) })
  .refine(({ index, of }) => index < of, "index must be below of");

export const FileDigestInput = z.object({
  folder: FolderPath,
  /** The files in the form of File.List. */
  files: z.array(z.object({ path: RelativePath })).max(maxListed),
  part: Part.prefault({ index: 0, of: 1 }),
  max_bytes: z
    .int()
    .min(1)
    .max(1024 * mebibyte)
    .default(64 * mebibyte),
});
type FileDigestInput = Readonly<z.output<typeof FileDigestInput>>;

/** `lines` and `words` are null for a file that is not text; everything is null where `problem` says why. */
export const DigestedFile = z.object({
  path: z.string(),
  bytes: z.int().nonnegative().nullable(),
  sha256: z.string().nullable(),
  lines: z.int().nonnegative().nullable(),
  words: z.int().nonnegative().nullable(),
  problem: z.string().nullable(),
});
export type DigestedFile = Readonly<z.infer<typeof DigestedFile>>;

export const FileDigestOutput = z.object({ files: z.array(DigestedFile) });

export const fileDigest = defineOperator({
  name: "File.Digest",
  version: "1.0",
  description: "Digests and measures files of a folder.",
  input: FileDigestInput,
  output: FileDigestOutput,
  effect: "read",
  idempotent: true,
  honoursAbort: true,
  timeoutSec: 300,
  kind: "tool",
  run: ({ input, signal, report }) => digestAll(input, signal, report),
});

async function digestAll(input: FileDigestInput, signal: AbortSignal, report: (percent: number) => void) {
  const chosen = input.files.filter((_, i) => i % input.part.of === input.part.index);
  const files: DigestedFile[] = [];
  for (const { path } of chosen) {
    files.push(await digestOne(input, path, signal));
    report(Math.floor((100 * files.length) / chosen.length));
  }
  return { files };
}

async function digestOne(input: FileDigestInput, path: string, signal: AbortSignal): Promise<DigestedFile> {
  try {
    return await withFileErrors(path, signal, () => digestFile(input, path, signal));
  } catch (failure) {
    signal.throwIfAborted();
    if (!(failure instanceof OperatorError)) throw failure;
    return { path, bytes: null, sha256: null, lines: null, words: null, problem: failure.executorError.code };
  }
}

async function digestFile(input: FileDigestInput, path: string, signal: AbortSignal): Promise<DigestedFile> {
  await using file = await openFile(await locate(input.folder, path));
  const stats = await file.stat();
  const empty = { path, bytes: stats.size, sha256: null, lines: null, words: null };
  if (!stats.isFile()) return { ...empty, problem: "FILE_NOT_A_FILE" };
  if (stats.size > input.max_bytes) return { ...empty, problem: "FILE_TOO_LARGE" };
  // The size was read a moment ago; the stream stays inside the bound whatever has become of the file.
  const chunks = file.createReadStream({ signal, autoClose: false, end: input.max_bytes - 1 });
  return { path, ...(await measure(chunks)), problem: null };
}

export interface Measures {
  readonly bytes: number;
  readonly sha256: string;
  readonly lines: number | null;
  readonly words: number | null;
}

/**
 * Lines are ended by a newline or the end of the file, words parted by ASCII white space; a NUL byte makes a file
 * binary.
 */
export async function measure(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Measures> {
  const sha256 = createHash("sha256");
  const count = { bytes: 0, lines: 0, words: 0, last: newline, binary: false };
  for await (const chunk of chunks) {
    sha256.update(chunk);
    countText(count, chunk);
  }
  const lines = count.lines + (count.last === newline ? 0 : 1);
  const text = count.binary ? { lines: null, words: null } : { lines, words: count.words };
  return { bytes: count.bytes, sha256: sha256.digest("hex"), ...text };
}

const newline = 10;

interface TextCount {
  bytes: number;
  lines: number;
  words: number;
  /** The byte before the next chunk; a newline before the first. */
  last: number;
  binary: boolean;
}

function countText(count: TextCount, chunk: Uint8Array): void {
  count.bytes += chunk.length;
  for (const byte of chunk) {
    if (byte === newline) count.lines += 1;
    if (byte === 0) count.binary = true;
    if (!isSpace(byte) && isSpace(count.last)) count.words += 1;
    count.last = byte;
  }
}

const isSpace = (byte: number): boolean => byte === 32 || (byte >= 9 && byte <= 13);
