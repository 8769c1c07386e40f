/** The bundles of `rego/`, which were compiled once by the command that its README states. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const regoFolder = join(import.meta.dirname, "rego");

/** Returns the bytes of a bundle. */
export const regoBundle = (name: "policies" | "faulty" | "ambient"): Uint8Array =>
  readFileSync(join(regoFolder, `${name}.tar.gz`));
