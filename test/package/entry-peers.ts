/** The packages that an entry of this package names in its error, read from the source of the entry. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly import?: string } | string>>;
}

/** `countersign/http` → the path of `entry.ts`, for the entries that import optional packages when they are loaded. */
export const guardedEntries: ReadonlyMap<string, string> = new Map(
  Object.entries((JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest).exports).flatMap(
    ([name, entry]) => {
      if (typeof entry === "string" || entry.import === undefined) return [];
      return [[`countersign${name.slice(1)}`, entry.import.replace("./dist/", "").replace(/\.js$/, ".ts")] as const];
    },
  ),
);

/** `{ hono: "4" }`: packages of a file of ours by name, with the version that npm is asked for. */
export const namedPeers = (path: string): ReadonlyMap<string, string> =>
  new Map(
    [...readFileSync(join(root, path), "utf8").matchAll(/"((?:@[\w-]+\/)?[\w.-]+)@([\d.]+)"/g)].map(
      ([, name = "", version = ""]) => [name, version] as const,
    ),
  );
