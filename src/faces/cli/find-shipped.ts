/** Finds files that are not compiled and lie beside the program, in sources and in the build. Never: reads one. */
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";

/** Returns the absolute path of a file or folder inside the package. */
export const findShipped = (path: string): string => join(dirname(findPackageJSON("..", import.meta.url) ?? ""), path);
