/**
 * The manifest that is published has no scripts: they are this repository's own, and npm warns whoever installs a
 * package whose manifest has `prepare`. `npm pack` and `npm publish` run this file before they pack (`without-scripts`)
 * and after it (`as-it-was`).
 *
 * Owns: the copy of the manifest that is kept meanwhile. Never: loses the manifest: a copy that an interrupted packing
 * has left is put back first.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The text of a manifest as it is published. */
export function withoutScripts(manifest: string): string {
  const { scripts: _, ...published } = JSON.parse(manifest);
  return `${JSON.stringify(published, null, 2)}\n`;
}

/** Where the manifest is kept while the folder is packed; no pattern of `files` names it. */
const keptIn = (folder: string): string => join(folder, ".package.json.kept");

/** Puts the manifest of the folder back as it was; does nothing where none is kept. */
export function restoreManifest(folder: string): void {
  if (existsSync(keptIn(folder))) renameSync(keptIn(folder), join(folder, "package.json"));
}

/** Keeps the manifest of the folder, and puts the one that is published in its place. */
export function stripManifest(folder: string): void {
  restoreManifest(folder);
  const path = join(folder, "package.json");
  const manifest = readFileSync(path, "utf8");
  writeFileSync(keptIn(folder), manifest);
  writeFileSync(path, withoutScripts(manifest));
}

const [, program, wanted] = process.argv;
if (program === import.meta.filename) {
  const root = join(import.meta.dirname, "../..");
  if (wanted === "without-scripts") stripManifest(root);
  else restoreManifest(root);
}
