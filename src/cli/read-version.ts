/** The version of this package, as its manifest says. */
import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";

export function readVersion(): string {
  const manifest = findPackageJSON("..", import.meta.url);
  return manifest === undefined ? "0.0.0" : (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}
