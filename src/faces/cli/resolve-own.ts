/**
 * Resolves the packages that modules of users import, so that nothing has to be installed or built for a first try.
 *
 * 1.  `countersign` and its entries are always those of the running program: a kernel and its packages are one version.
 * 2.  Any other package is looked for from the module, and then from this program. If there is none, the error is that
 *     of the module.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { findShipped } from "./find-shipped.ts";

const isSource = import.meta.url.endsWith(".ts");

/** Returns the modules of the entries by specifier; an entry that has types alone has none. */
function listEntries(): ReadonlyMap<string, string> {
  const manifest = findShipped("package.json");
  const { exports: entries } = JSON.parse(readFileSync(manifest, "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly default?: string }>>;
  };
  return new Map(
    Object.entries(entries).flatMap(([name, entry]) =>
      typeof entry === "string" || entry.default === undefined
        ? []
        : [[`countersign${name.slice(1)}`, new URL(fileOf(entry.default), pathToFileURL(manifest)).href] as const],
    ),
  );
}

/** Returns the built file of an entry, or the source that it is built from if the program runs from sources. */
const fileOf = (built: string): string => (isSource ? built.replace("./dist/", "./").replace(/\.js$/, ".ts") : built);

const isPackage = (specifier: string): boolean => /^[@\w]/.test(specifier) && !specifier.includes(":");

let isRegistered = false;

/** Registers the resolution, once in a process. */
export function resolveOwnPackages(): void {
  if (isRegistered) return;
  isRegistered = true;
  const files = listEntries();
  registerHooks({
    resolve(specifier, context, next) {
      const url = files.get(specifier);
      if (url !== undefined) return { url, shortCircuit: true };
      try {
        return next(specifier, context);
      } catch (thrown) {
        if (!isPackage(specifier)) throw thrown;
        try {
          return next(specifier, { ...context, parentURL: import.meta.url });
        } catch {
          throw thrown;
        }
      }
    },
  });
}
