/**
 * File.Read: the text of one file of a folder, with its digest and measures.
 *
 * Owns: the bound on its size and the demand that it is UTF-8. Never: leaves the folder, guesses an encoding, yields
 * half a file.
 */
import { z } from "zod";
import { defineOperator, operatorError } from "../../../define/define-operator.ts";
import { measure } from "./file-digest.ts";
import { withFileErrors } from "./file-error.ts";
import { openFile } from "./open-inside.ts";
import { FolderPath, type Location, locate, RelativePath } from "./safe-path.ts";

const mebibyte = 1024 * 1024;

export const FileReadInput = z.object({
  folder: FolderPath,
  path: RelativePath,
  max_bytes: z
    .int()
    .min(1)
    .max(16 * mebibyte)
    .default(mebibyte),
});
type FileReadInput = Readonly<z.output<typeof FileReadInput>>;

export const FileReadOutput = z.object({
  path: z.string(),
  content: z.string(),
  bytes: z.int().nonnegative(),
  sha256: z.string(),
  lines: z.int().nonnegative(),
  words: z.int().nonnegative(),
});

export const fileRead = defineOperator({
  name: "File.Read",
  version: "1.0",
  description: "Reads one text file of a folder.",
  input: FileReadInput,
  output: FileReadOutput,
  effect: "read",
  idempotent: true,
  honoursAbort: true,
  timeoutSec: 30,
  kind: "tool",
  run: ({ input, signal }) => withFileErrors(input.path, signal, () => readText(input, signal)),
});

async function readText(input: FileReadInput, signal: AbortSignal): Promise<z.input<typeof FileReadOutput>> {
  const place = await locate(input.folder, input.path);
  const bytes = await readBounded(place, input, signal);
  const { lines, words, ...measures } = await measure([bytes]);
  if (lines === null || words === null) throw refused("FILE_NOT_TEXT", input.path, "is not text");
  return { path: place.path, content: decode(bytes, input.path), ...measures, lines, words };
}

async function readBounded(place: Location, { path, max_bytes }: FileReadInput, signal: AbortSignal): Promise<Buffer> {
  await using file = await openFile(place);
  const stats = await file.stat();
  if (!stats.isFile()) throw refused("FILE_NOT_A_FILE", path, "is not a plain file");
  if (stats.size > max_bytes) throw refused("FILE_TOO_LARGE", path, `has ${stats.size} bytes, more than ${max_bytes}`);
  return file.readFile({ signal });
}

function decode(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw refused("FILE_NOT_TEXT", path, "is not UTF-8 text");
  }
}

function refused(code: string, path: string, what: string): Error {
  return operatorError({ code, category: "validation", message: `${path} ${what}`, details: { path } });
}
