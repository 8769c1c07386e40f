/**
 * Opens a judged place: exactly the file or folder that was judged, even if the path has changed meanwhile.
 *
 * Owns: the walk from the base folder to a place, one folder after the other, and the handles it holds. Never: follows
 * a symbolic link, judges a path (safe-path.ts), reads or writes content.
 * 1.  A folder or a name on the way that has become a link since it was judged is refused.
 * 2.  On Linux the walk goes from handle to handle (`/proc/self/fd`), so that a folder that is exchanged later is not
 *     used. Other systems have no such path in Node: there each step is opened by its path without following a link.
 */
import { constants, existsSync } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "./file-error.ts";
import type { Location } from "./safe-path.ts";

/** A folder that is held open; `path` leads to it while it is. */
export interface OpenedFolder extends AsyncDisposable {
  readonly path: string;
}

export interface Opening {
  /** Makes the folders that are missing. */
  readonly make?: boolean;
}

const handlePaths = process.platform === "linux" && existsSync("/proc/self/fd") ? "/proc/self/fd" : null;
// Windows opens no folder as a file; it has none of these flags either.
const canOpenFolders = process.platform !== "win32";
const noFollow = constants.O_NOFOLLOW ?? 0;

/**
 * Opens the folder that holds a judged place. @throws the file system's own error: ENOENT, ENOTDIR for a link as well.
 */
export const openParent = ({ root, real }: Location, opening: Opening = {}): Promise<OpenedFolder> =>
  openFolder(root, real.split("/").slice(0, -1), opening);

/** Opens a folder by its names below a real base folder. @throws the file system's own error. */
export async function openFolder(root: string, names: readonly string[], { make = false }: Opening = {}) {
  let folder = await openStep(root);
  for (const name of names) {
    await using parent = folder;
    folder = await enter(parent, name, make);
  }
  return folder;
}

/** Opens the file at a judged place for reading. @throws the file system's own error: ELOOP for a link. */
export async function openFile(place: Location): Promise<FileHandle> {
  await using parent = await openParent(place);
  // Without O_NONBLOCK the opening of a pipe that nobody writes to would never end.
  return await open(entryOf(parent, place), constants.O_RDONLY | noFollow | (constants.O_NONBLOCK ?? 0));
}

/** Returns the path of a judged place in its opened folder. */
export const entryOf = (parent: OpenedFolder, { real }: Location): string =>
  join(parent.path, real.slice(real.lastIndexOf("/") + 1) || ".");

async function enter(parent: OpenedFolder, name: string, make: boolean): Promise<OpenedFolder> {
  const path = join(parent.path, name);
  try {
    return await openStep(path);
  } catch (failure) {
    if (!make || errnoOf(failure) !== "ENOENT") throw failure;
  }
  await mkdir(path).catch((failure: unknown) => {
    if (errnoOf(failure) !== "EEXIST") throw failure;
  });
  return openStep(path);
}

async function openStep(path: string): Promise<OpenedFolder> {
  if (!canOpenFolders) return { path, [Symbol.asyncDispose]: async () => undefined };
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | noFollow);
  const held = handlePaths === null ? path : join(handlePaths, String(handle.fd));
  return { path: held, [Symbol.asyncDispose]: () => handle.close() };
}
