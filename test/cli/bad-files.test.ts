/** Files that the command line names: whatever is wrong with one, it has a code, a next step, and starts nothing. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { runHere } from "./command-line.ts";

/** A command that reads a file of this name. */
type Reader = readonly [what: string, name: string, wordsOf: (file: string) => readonly string[]];

const upstream = ["--upstream", "http://127.0.0.1:1/mcp"];
const workflow = `wf_${"0".repeat(26)}`;
const readers: readonly Reader[] = [
  ["guard --servers", "servers.json", (file) => ["guard", "--servers", file]],
  ["guard --tokens", "users.yaml", (file) => ["guard", "--listen", "0", "--tokens", file, ...upstream]],
  ["--policies in YAML", "rules.yaml", (file) => ["run", "No.Such", "--policies", file]],
  ["--policies in JSON", "rules.json", (file) => ["run", "No.Such", "--policies", file]],
  ["--policies in Cedar", "rules.cedar", (file) => ["run", "No.Such", "--policies", file]],
  ["--policies in Rego", "rules.wasm", (file) => ["run", "No.Such", "--policies", file]],
  ["whatif --policies", "rules.yaml", (file) => ["whatif", "--policies", file]],
  ["--keys", "keys.json", (file) => ["run", "No.Such", "--keys", file]],
  ["run --input", "input.json", (file) => ["run", "No.Such", "--input", `@${file}`]],
  ["emit", "payload.json", (file) => ["emit", "a.b", "1", `@${file}`]],
  ["decide", "decisions.json", (file) => ["decide", `@${file}`]],
  ["approve --edit", "edit.json", (file) => ["approve", workflow, "--edit", `@${file}`]],
  ["approve --sign", "key.json", (file) => ["approve", workflow, "--sign", file]],
  ["replay --import", "export.jsonl", (file) => ["replay", workflow, "--import", file]],
  ["inspect --import", "export.jsonl", (file) => ["inspect", "--import", file]],
];

type Fault = readonly [what: string, content: string | Uint8Array | null | undefined];

/** What keeps any file from being read: `null` is a folder, and undefined nothing. */
const unread: readonly Fault[] = [
  ["that is not there", undefined],
  ["that is a folder", null],
];
/** The contents that no reader takes. */
const faults: readonly Fault[] = [
  ...unread,
  ["that is no text", new Uint8Array([0x7b, 0xff, 0xfe])],
  ["of another form", "{"],
];

interface Problem {
  readonly detail: string;
  readonly status: number;
  readonly extensions: { readonly code: string; readonly remediation?: string };
}

async function requireRefusal([, name, wordsOf]: Reader, [, content]: Fault): Promise<void> {
  using folder = makeTempFolder();
  const file = join(folder.path, name);
  if (content === null) mkdirSync(file);
  else if (content !== undefined) writeFileSync(file, content);
  const words = [...wordsOf(file), "--db", join(folder.path, "none.db")];
  const told = await runHere(...words);
  expect([told.code, told.out]).toEqual([2, ""]);
  expect(told.err).toContain("T0_CLI_FILE_INVALID");
  expect(told.err.replaceAll(/\s+/g, "")).toContain(name);
  expect(told.err).toMatch(/^ {2}next {5}Correct the file/m);
  const json = await runHere(...words, "--json");
  const problem = JSON.parse(json.err) as Problem;
  expect([json.code, json.out, problem.status]).toEqual([2, "", 400]);
  expect(problem.extensions.code).toBe("T0_CLI_FILE_INVALID");
}

describe.each(readers)("%s", (...reader) => {
  it.each(faults)("refuses a file %s", (...fault) => requireRefusal(reader, fault));
});

// What it finds in a file that it can read is its verdict.
describe("verify --import", () => {
  const reader: Reader = ["verify", "export.jsonl", (file) => ["verify", "--import", file]];
  it.each(unread)("refuses a file %s", (...fault) => requireRefusal(reader, fault));
});
