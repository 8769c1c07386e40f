/** The version of this package, as its manifest says. */
import { readFileSync } from "node:fs";
import { findShipped } from "./find-shipped.ts";

export const readVersion = (): string =>
  (JSON.parse(readFileSync(findShipped("package.json"), "utf8")) as { version: string }).version;
