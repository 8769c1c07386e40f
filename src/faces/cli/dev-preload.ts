/**
 * Loaded by `dev` before the program that serves: modules of the folder find this Countersign and its packages.
 *
 * 1.  `countersign` and its entries are always those of the running program, so that nothing has to be installed or
 *     built first. Any other package is looked for from the module, then from this program.
 * 2.  The program ends in order when the process that began it is gone.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { findShipped } from "./find-shipped.ts";

const manifest = findShipped("package.json");
const { exports: entries } = JSON.parse(readFileSync(manifest, "utf8")) as {
  readonly exports: Readonly<Record<string, string | { readonly default?: string }>>;
};
const isSource = import.meta.url.endsWith(".ts");

/** Returns the built file of an entry, or the source that it is built from if the program runs from sources. */
function fileOf(built: string): string {
  const path = isSource ? built.replace("./dist/", "./").replace(/\.js$/, ".ts") : built;
  return new URL(path, pathToFileURL(manifest)).href;
}

/** The modules of the entries by specifier; an entry that has types alone has none. */
const files: ReadonlyMap<string, string> = new Map(
  Object.entries(entries).flatMap(([name, entry]) =>
    typeof entry === "string" || entry.default === undefined
      ? []
      : [[`countersign${name.slice(1)}`, fileOf(entry.default)] as const],
  ),
);

registerHooks({
  resolve(specifier, context, next) {
    const url = files.get(specifier);
    if (url !== undefined) return { url, shortCircuit: true };
    try {
      return next(specifier, context);
    } catch (thrown) {
      const isPackage = /^[@\w]/.test(specifier) && !specifier.includes(":");
      if (!isPackage) throw thrown;
      return next(specifier, { ...context, parentURL: import.meta.url });
    }
  },
});

process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
// The channel to the first process is no reason to stay.
process.channel?.unref();
