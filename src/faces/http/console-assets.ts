/**
 * The built console, read once into memory: its files, their bytes, and their compressed form.
 *
 * Owns: the place of the build, seen from the sources and from the package. Never: builds it.
 * 1.  Only files that the build left are found: a name is looked up, and no path is made of it.
 */
import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { findFolder } from "./find-folder.ts";

export interface ConsoleFile {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly brotli: Uint8Array<ArrayBuffer> | null;
  readonly etag: string;
}

export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

/** Beside the built sources, and of a checkout in its `dist`. */
const places = ["../../../console/", "../../../dist/console/"];

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};

let files: ConsoleFiles | null = null;

/** Reads the files; null if the console was not built, which is checked again the next time. */
export function readConsole(): ConsoleFiles | null {
  files ??= readFolder(findFolder({ from: import.meta.url, places, file: "index.html" }));
  return files;
}

/** Returns the address of its style; null if it was not built. */
export function findStyle(): string | null {
  const name = [...(readConsole()?.keys() ?? [])].find((one) => one.endsWith(".css"));
  return name === undefined ? null : `/console/${name}`;
}

function readFolder(folder: string | null): ConsoleFiles | null {
  if (folder === null) return null;
  const names = readdirSync(folder).filter((name) => extname(name) in types);
  return new Map(names.map((name) => [name, readFile(folder, name)]));
}

function readFile(folder: string, name: string): ConsoleFile {
  const bytes = readFileSync(folder + name);
  const small = `${folder}${name}.br`;
  return {
    type: types[extname(name)] as string,
    bytes,
    brotli: existsSync(small) ? readFileSync(small) : null,
    etag: `"${hash("sha256", bytes, "base64url").slice(0, 22)}"`,
  };
}
