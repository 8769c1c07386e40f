/**
 * The two verifiers that the guide publishes, as tests run them: one file as a user does it, or many files in one
 * process.
 *
 * Never: runs Python where the machine lacks it; the library does not need it.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { readSource } from "../tidy/source-files.ts";
import { filesOf, readBlocks } from "./read-blocks.ts";

/** The files of the page, by name. */
export const pageFiles = filesOf(readBlocks(readSource("src/guide/ledger-format.md").text));

/** What a verifier prints of a stream, or of a line that belongs to none. */
export interface Verdict {
  readonly line?: number;
  readonly stream?: string;
  readonly sequence?: number;
  readonly hash?: string;
  readonly broken?: string;
}

export interface Verifier {
  readonly language: string;
  readonly program: string;
  readonly script: string;
  /** A program that runs the script on each file that its standard input names, and prints one line for each. */
  readonly batch: string;
  /** Whether the machine has the program. */
  readonly isHere: boolean;
}

const batchInJavaScript = `import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const printed = [];
const print = console.log;
console.log = (line) => printed.push(line);
for (const [i, file] of readFileSync(0, "utf8").split("\\n").entries()) {
  process.argv[2] = file;
  process.exitCode = 0;
  await import(pathToFileURL(process.argv[3]).href + "?" + i);
  print(JSON.stringify({ code: process.exitCode, lines: printed.splice(0) }));
}
process.exitCode = 0;
`;

const batchInPython = `import contextlib, io, json, runpy, sys
script = sys.argv[2]
for file in sys.stdin.read().split("\\n"):
    printed, code = io.StringIO(), 0
    sys.argv = [script, file]
    with contextlib.redirect_stdout(printed):
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            code = int(end.code or 0)
    print(json.dumps({"code": code, "lines": printed.getvalue().splitlines()}))
`;

const hasPython = spawnSync("python3", ["--version"]).status === 0;

export const verifiers: readonly Verifier[] = [
  {
    ...{ language: "JavaScript", program: process.execPath, isHere: true },
    ...{ script: "verify-ledger.mjs", batch: "verify-files.mjs" },
  },
  { language: "Python", program: "python3", isHere: hasPython, script: "verify_ledger.py", batch: "verify_files.py" },
];

/** The verifiers that this machine can run. */
export const runnable = verifiers.filter(({ isHere }) => isHere);

/** Writes the scripts into a folder. */
export function writeVerifiers(folder: string): void {
  for (const { script } of verifiers) writeFileSync(join(folder, script), pageFiles.get(script) ?? "");
  writeFileSync(join(folder, "verify-files.mjs"), batchInJavaScript);
  writeFileSync(join(folder, "verify_files.py"), batchInPython);
}

/** Runs a verifier of `folder` on a file. */
export function verifyFile({ program, script }: Verifier, folder: string, file: string): readonly Verdict[] {
  const { status, stdout, stderr } = spawnSync(program, [join(folder, script), file], { encoding: "utf8" });
  if (stdout === "") throw new Error(stderr);
  return readVerdicts(stdout.trimEnd().split("\n"), status);
}

/** Runs a verifier of `folder` on each of the files, in one process. */
export function verifyFiles(
  { program, script, batch }: Verifier,
  folder: string,
  files: readonly string[],
): readonly (readonly Verdict[])[] {
  const args = [join(folder, batch), "-", join(folder, script)];
  const options = { encoding: "utf8", input: files.join("\n"), maxBuffer: 2 ** 30 } as const;
  const { stdout, stderr } = spawnSync(program, args, options);
  const found = stdout.split("\n").filter((line) => line !== "");
  if (found.length !== files.length) throw new Error(stderr);
  return found.map((line) => {
    const { code, lines } = JSON.parse(line) as { readonly code: number; readonly lines: readonly string[] };
    return readVerdicts(lines, code);
  });
}

function readVerdicts(lines: readonly string[], status: number | null): readonly Verdict[] {
  const verdicts = lines.map((line) => JSON.parse(line) as Verdict);
  expect(status).toBe(verdicts.some(({ broken }) => broken !== undefined) ? 1 : 0);
  return verdicts;
}
