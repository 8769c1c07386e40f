/**
 * Waits for changes of the sources in a folder and in the folders below it.
 *
 * 1.  Folders of packages, builds and hidden files are not watched, nor are files that are no source: what a server
 *     writes beside the sources, such as its ledger, changes nothing.
 * 2.  Changes while nobody waits are kept: the next wait ends at once. Several within a moment are one.
 */
import { existsSync, type FSWatcher, readdirSync, watch } from "node:fs";
import { join } from "node:path";

export interface FolderWatch {
  /** Resolves when a source has changed since the last wait. @throws the abort reason of the signal. */
  readonly changed: (signal: AbortSignal) => Promise<void>;
  readonly close: () => void;
}

const isSource = (name: string): boolean => /\.(?:[cm]?[jt]s|json|ya?ml)$/.test(name);
const isWatched = (name: string): boolean => !name.startsWith(".") && !["node_modules", "dist"].includes(name);

/** The time in ms for which a first change waits for further ones: an editor writes a file in several steps. */
const settleMs = 100;

/** Lists a folder and those below it; nothing if it is gone. */
function listFolders(folder: string): readonly string[] {
  const entries = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : null;
  const below = entries?.filter((entry) => entry.isDirectory() && isWatched(entry.name)) ?? [];
  return entries === null ? [] : [folder, ...below.flatMap(({ name }) => listFolders(join(folder, name)))];
}

export function watchFolder(root: string): FolderWatch {
  const watchers = new Map<string, FSWatcher>();
  let pending = false;
  let wake = (): void => undefined;
  let timer: NodeJS.Timeout | undefined;
  const report = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      pending = true;
      wake();
    }, settleMs);
  };
  /** Watches folders that are new, and forgets those that are gone. */
  const follow = (): void => {
    const folders = new Set(listFolders(root));
    for (const [folder, watcher] of watchers) if (!folders.has(folder)) watchers.delete(folder) && watcher.close();
    for (const folder of folders) if (!watchers.has(folder)) watchers.set(folder, begin(folder));
  };
  const begin = (folder: string): FSWatcher =>
    watch(folder, (_event, name) => {
      if (name !== null && !isSource(name) && /\./.test(name)) return;
      follow();
      report();
    }).on("error", () => undefined);
  follow();
  return {
    async changed(signal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const abort = (): void => reject(signal.reason);
      wake = resolve;
      signal.addEventListener("abort", abort, { once: true });
      try {
        signal.throwIfAborted();
        if (!pending) await promise;
        pending = false;
      } finally {
        signal.removeEventListener("abort", abort);
        wake = () => undefined;
      }
    },
    close() {
      clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}
