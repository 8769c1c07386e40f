/**
 * File.Write: makes a text file stand in a folder, whole or not at all.
 *
 * Owns: the atomic replacement (temporary file beside it, fsync, rename, fsync of the folder), the check of the place
 * before anybody is asked, and the preview at the gate with its basis: the file that stands there. Never: leaves the
 * folder, replaces a symbolic link, appends, or touches a file that already says the same.
 * 1.  A reader sees the old text or the new one, also after a crash.
 * 2.  Same content already there: nothing is written, `unchanged` says so. The same key again gets its first answer.
 * 3.  An approved text is written over the file that its diff was made against, and over no other: a new file is
 *     linked into place, which never replaces one; an existing one is compared as the last thing before the rename.
 * 4.  The preview and its basis name the real path; a write whose path leads elsewhere by then is refused. It goes to
 *     the folder that was opened for it, whatever stands at that folder's path by then (open-inside.ts).
 */
import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import { link, lstat, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Basis } from "../../../contract/basis.ts";
import { defineOperator, operatorError } from "../../../define/define-operator.ts";
import { measure } from "./file-digest.ts";
import { errnoOf, withFileErrors } from "./file-error.ts";
import { entryOf, type OpenedFolder, openFile, openParent } from "./open-inside.ts";
import { FolderPath, type Location, locateEntry, RelativePath } from "./safe-path.ts";
import { unifiedDiff } from "./unified-diff.ts";

const maxContentChars = 4_000_000;
const maxPreviewChars = 200_000;
const maxRememberedKeys = 1024;
const newFileMode = 0o644;

export const FileWriteInput = z.object({
  folder: FolderPath.meta({ title: "Folder" }),
  path: RelativePath.meta({ title: "Path" }),
  content: z.string().max(maxContentChars).meta({ title: "Content" }),
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

/** Creates File.Write with a memory of its own for the result of each key. */
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
    run: async ({ input, idempotencyKey, signal, context: { basis = [] } }) => {
      const call = { input, idempotencyKey, signal, basis };
      const answer = await withFileErrors(input.path, signal, () => makeStand(call));
      return rememberFirst(answers, idempotencyKey, answer);
    },
    check: ({ input, signal }) => withFileErrors(input.path, signal, () => checkPlace(input)),
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
  /** The basis of the diff that a person approved. */
  readonly basis: Basis;
}

async function makeStand({ input, idempotencyKey, signal, basis }: WriteCall): Promise<FileWriteOutput> {
  const bytes = Buffer.from(input.content);
  const place = await locateEntry(input.folder, input.path);
  await inspect(place);
  const answer = { path: place.path, bytes: bytes.length, sha256: hash("sha256", bytes) };
  await using parent = await openParent(place, { make: true });
  const temporary = join(parent.path, temporaryName(place, idempotencyKey));
  const standing = await inspectIn(parent, place);
  if (standing?.size === bytes.length && (await digestStanding(place)) === answer.sha256) {
    await rm(temporary, { force: true });
    return { ...answer, written: false, unchanged: true };
  }
  const approved = findApproved(place, basis);
  await replaceFile({ input, place, parent, temporary, bytes, mode: standing?.mode ?? null, approved, signal });
  return { ...answer, written: true, unchanged: false };
}

/**
 * Returns the approved digest, null if there was none. @throws OperatorError FILE_CHANGED if another place was
 * approved.
 */
function findApproved(place: Location, basis: Basis): string | null {
  if (basis.length === 0) return null;
  const approved = basis.find(({ name }) => name === place.real);
  if (approved === undefined) throw changed(place);
  return approved.digest;
}

interface Standing {
  readonly size: number;
  readonly mode: number;
}

/** Returns the present file, or null. @throws OperatorError FILE_NOT_A_FILE for a folder, a link, a device. */
async function inspect(place: Location): Promise<Standing | null> {
  try {
    await using parent = await openParent(place);
    return await inspectIn(parent, place);
  } catch (failure) {
    if (errnoOf(failure) === "ENOENT") return null;
    throw failure;
  }
}

async function inspectIn(parent: OpenedFolder, place: Location): Promise<Standing | null> {
  const stats = await lstat(entryOf(parent, place)).catch((failure: unknown) => {
    if (errnoOf(failure) === "ENOENT") return null;
    throw failure;
  });
  if (stats === null || stats.isFile()) return stats && { size: stats.size, mode: stats.mode & 0o777 };
  const message = `${place.path} is not a plain file`;
  throw operatorError({ code: "FILE_NOT_A_FILE", category: "validation", message, details: { path: place.path } });
}

// Returns a name by key and path: a later attempt with its key replaces what a crashed one left behind.
function temporaryName(place: Location, key: string): string {
  return `.countersign-${hash("sha256", `${key}\0${place.path}`).slice(0, 16)}.tmp`;
}

interface Replacement {
  readonly input: FileWriteInput;
  readonly place: Location;
  readonly parent: OpenedFolder;
  readonly temporary: string;
  readonly bytes: Buffer;
  /** The permissions of the file that is replaced; null for a new one. */
  readonly mode: number | null;
  /** The digest of what may be replaced; null for whatever stands there. */
  readonly approved: string | null;
  readonly signal: AbortSignal;
}

async function replaceFile(replacement: Replacement): Promise<void> {
  const { parent, temporary, bytes, mode, approved, signal } = replacement;
  await rm(temporary, { force: true });
  try {
    await writeSynced(temporary, bytes, mode);
    signal.throwIfAborted();
    await requireSamePlace(replacement);
    if (approved === absent) await linkNew(replacement);
    else await renameOver(replacement);
  } finally {
    await rm(temporary, { force: true });
  }
  await syncFolder(parent.path);
}

/**
 * Checks the place. @throws OperatorError FILE_OUTSIDE_FOLDER, FILE_CHANGED if the path leads elsewhere than when it
 * was judged.
 */
async function requireSamePlace({ input, place }: Replacement): Promise<void> {
  const { root, real } = await locateEntry(input.folder, input.path);
  if (root !== place.root || real !== place.real) throw changed(place);
}

/** Puts a file where none stands. A file system without links leaves the moment between the look and the rename. */
async function linkNew(replacement: Replacement): Promise<void> {
  const { temporary, parent, place } = replacement;
  try {
    await link(temporary, entryOf(parent, place));
  } catch (failure) {
    if (errnoOf(failure) === "EEXIST") throw changed(place);
    if (!withoutLinks.has(errnoOf(failure))) throw failure;
    await renameOver(replacement);
  }
}

const withoutLinks: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

async function renameOver({ temporary, parent, place, approved }: Replacement): Promise<void> {
  if (approved !== null && (await digestStanding(place)) !== approved) throw changed(place);
  await rename(temporary, entryOf(parent, place));
}

function changed({ path }: Location): Error {
  const message = `${path} is not the file that the approved changes were made against`;
  return operatorError({ code: "FILE_CHANGED", category: "dependency", retryable: false, message, details: { path } });
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

async function checkPlace({ folder, path }: FileWriteInput): Promise<void> {
  await inspect(await locateEntry(folder, path));
}

async function previewWrite({ folder, path, content }: FileWriteInput) {
  const place = await locateEntry(folder, path);
  const { text, digest } = await readStanding(place);
  const diff = text === undefined ? null : clip(unifiedDiff({ path: place.real, before: text, after: content }));
  return { preview: clip(content), diff, basis: [{ name: place.real, digest }] };
}

/** In place of a digest where no file stands. */
const absent = "absent";

/**
 * Reads the present text and its digest at once; text is null if there is no file, undefined if it is too large to
 * compare or no text.
 */
async function readStanding(place: Location): Promise<{ readonly text?: string | null; readonly digest: string }> {
  const standing = await inspect(place);
  if (standing === null) return { text: null, digest: absent };
  if (standing.size > maxContentChars) return { digest: await digestStanding(place) };
  await using file = await openFile(place);
  const bytes = await file.readFile();
  const digest = hash("sha256", bytes);
  return isUtf8(bytes) ? { text: bytes.toString("utf8"), digest } : { digest };
}

async function digestStanding(place: Location): Promise<string> {
  if ((await inspect(place)) === null) return absent;
  await using file = await openFile(place);
  return (await measure(file.createReadStream({ autoClose: false }))).sha256;
}

function clip(text: string): string {
  if (text.length <= maxPreviewChars) return text;
  return `${text.slice(0, maxPreviewChars)}\n… ${text.length - maxPreviewChars} more characters\n`;
}
