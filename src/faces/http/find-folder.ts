/**
 * Where a folder that ships with the package lies, seen from a module of it.
 *
 * Owns: that a module in a bundle finds nothing, and does not fail: it has another place there, or, as CommonJS, none.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

interface Sought {
  /** The module's own `import.meta.url`; a bundle in CommonJS has none. */
  readonly from: string | undefined;
  /** Paths from there, which no bundler takes for modules. */
  readonly places: readonly string[];
  /** A file that the folder has. */
  readonly file: string;
}

/** The first of the places that has the file, with a slash at its end; null where none has it, as in a bundle. */
export function findFolder({ from, places, file }: Sought): string | null {
  if (from === undefined) return null;
  const here = dirname(fileURLToPath(from));
  return places.map((place) => join(here, place)).find((place) => existsSync(place + file)) ?? null;
}
