/**
 * Finds a folder that ships with the package, seen from one of its modules.
 *
 * Owns: that a module in a bundle finds nothing instead of failing: it has another path there, or, as CommonJS, none.
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

/** Returns the first of the places that has the file, with a slash at its end; null if none has it, as in a bundle. */
export function findFolder({ from, places, file }: Sought): string | null {
  if (from === undefined) return null;
  const here = dirname(fileURLToPath(from));
  return places.map((place) => join(here, place)).find((place) => existsSync(place + file)) ?? null;
}
