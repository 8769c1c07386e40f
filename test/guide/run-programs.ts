/**
 * `node test/guide/run-programs.ts FOLDER`: runs the programs of a folder, one after another in this process, and
 * prints for each, as a line of JSON, what it printed and, where it threw, what.
 */
import { cpSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { format } from "node:util";
import "./resolve-package.ts";

export interface ProgramRun {
  readonly name: string;
  readonly lines: readonly string[];
  readonly error: string | null;
}

/** Files that programs read and that no block can show, since they are compiled. */
const given = join(import.meta.dirname, "files");

const [, , folder = ""] = process.argv;
const print = console.log;

for (const name of readdirSync(folder).filter((file) => file.endsWith(".mts"))) {
  const lines: string[] = [];
  console.log = (...values: readonly unknown[]) => void lines.push(...format(...values).split("\n"));
  const place = join(folder, `in-${name}`);
  mkdirSync(place, { recursive: true });
  cpSync(given, place, { recursive: true });
  process.chdir(place);
  const error = await runOne(join(folder, name));
  print(JSON.stringify({ name, lines, error } satisfies ProgramRun));
}
process.exit();

function runOne(path: string): Promise<string | null> {
  return import(pathToFileURL(path).href).then(
    () => null,
    (thrown: unknown) => (thrown instanceof Error ? (thrown.stack ?? thrown.message) : format(thrown)),
  );
}
