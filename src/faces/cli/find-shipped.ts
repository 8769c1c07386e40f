/** What ships beside the program, in sources and build alike: files that are not compiled. Never: reads one. */
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";

/** A path of the package's own folder. */
export const findShipped = (path: string): string => join(dirname(findPackageJSON("..", import.meta.url) ?? ""), path);
