/**
 * Reads the guide beside the sources: its pages in the order in which its index names them, and its pictures.
 *
 * Owns: the place of the files, seen from the sources and from the package.
 * 1.  They are read once, at the first request.
 * 2.  A name is looked up; no path is made of it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { findFolder } from "../find-folder.ts";

export interface GuideFile {
  /** Without its ending: `gates`; of the index `README`. */
  readonly name: string;
  readonly text: string;
}

export interface Guide {
  /** The index first, then the pages that it links to, in its order. */
  readonly pages: readonly GuideFile[];
  /** SVG by file name. */
  readonly pictures: ReadonlyMap<string, string>;
}

const places = ["../../../guide/", "../../../../../src/guide/"];

/** The page that lists the others. */
export const indexName = "README";

/** Reads the guide; null if it is not beside this program, as in a bundle. */
export function readGuide(): Guide | null {
  const folder = findFolder({ from: import.meta.url, places, file: `${indexName}.md` });
  if (folder === null) return null;
  const read = (file: string): string => readFileSync(folder + file, "utf8");
  const names = readdirSync(folder);
  const index = read(`${indexName}.md`);
  const listed = [...index.matchAll(/\]\(([\w-]+)\.md\)/g)].map(([, name = ""]) => name);
  const pages = [...new Set(listed)].map((name) => ({ name, text: read(`${name}.md`) }));
  const pictures = names.filter((name) => name.endsWith(".svg")).map((name) => [name, read(name)] as const);
  return { pages: [{ name: indexName, text: index }, ...pages], pictures: new Map(pictures) };
}
