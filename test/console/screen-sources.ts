/** The sources of the pictures of the console's views: what they are made of, as one digest. */
import { hash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** The folder of the pictures. */
export const screenFolder = join(root, "visualizations/screens");

/** The sizes of the pictures, in pixels. */
export const screenSizes = [
  [1400, 900],
  [900, 1200],
  [390, 844],
] as const;

/** The largest picture, in bytes. */
export const mostScreenBytes = 60_000;

const patterns = ["visualizations/console/**/*.{ts,tsx,css,html}", "test/console/{take-screens,screen-story}.ts"];

/** Returns the digest of all sources of the pictures, by name and content. */
export function digestOfScreens(): string {
  const files = patterns.flatMap((pattern) => globSync(pattern, { cwd: root })).sort();
  const lines = files.map((path) => `${path} ${hash("sha256", readFileSync(join(root, path)))}`);
  return hash("sha256", lines.join("\n"));
}
