/**
 * What `export` and other long outputs write of characters that steer a terminal: a real terminal is shown their names,
 * a pipe gets the ledger's own bytes.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { launcher, readHere, runProcess } from "./command-line.ts";

/**
 * C1 controls, marks that change the direction of text, what shows nothing; and a letter whose UTF-8 holds the byte of
 * a C1 control.
 */
const trap = "\u009b31m\u0085\u0090\u061c\u200e\u200f\u202a\u202e\u2066\u2069\ufeff\u200b\u06db";
const steering = /\p{C}/u;
const ownColour = new RegExp(`${"\u001b"}\\[\\d+m`, "g");

const pack = (define: string) => `
import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
import { defineCapability } from ${JSON.stringify(new URL("define-capability.ts", define).href)};
import { defineOperator } from ${JSON.stringify(new URL("define-operator.ts", define).href)};
const input = z.record(z.string(), z.string());
const read = defineOperator({ name: "Trap.Read", input, run: ({ input }) => input });
export const reads = defineCapability({ intentType: "Trap.Read.Once", version: "1.0", input, operators: [read],
  plan: {
    reasoning: "r",
    steps: [{ step_id: "s1", name: "s1", operator: "Trap.Read", params: { text: ${JSON.stringify(trap)} } }],
  } });
`;

let folder: TempFolder;
let [id, db] = ["", ""];
beforeAll(async () => {
  folder = makeTempFolder();
  const module = join(folder.path, "trap.ts");
  db = join(folder.path, "trap.db");
  writeFileSync(module, pack(new URL("../../src/define/", import.meta.url).href));
  const given = ["--input", "{}", "--wait", "--db", db, "--capabilities", module];
  ({ workflow_id: id } = await readHere<{ workflow_id: string }>("run", "Trap.Read.Once", ...given));
});
afterAll(() => folder[Symbol.dispose]());

/** All that a process writes to a pseudo-terminal of that locale. */
async function shownAt(locale: string, ...args: readonly string[]): Promise<string> {
  const env = { TERM: "xterm-256color", LC_ALL: locale };
  const pty = spawn(process.execPath, [launcher, ...args, "--db", db], { cols: 400, rows: 24, cwd: folder.path, env });
  let shown = "";
  pty.onData((data) => {
    shown += data;
  });
  await new Promise<void>((resolve) => pty.onExit(() => resolve()));
  return shown.replaceAll("\r\n", "\n");
}

describe.each(["export", "export --json", "events", "events --json"])("%s", (words) => {
  const [command = "", ...options] = words.split(" ");

  it("[GAT-05] writes nothing to a terminal that steers it", async () => {
    const shown = await shownAt("C.UTF-8", command, id, ...options);
    expect(shown).toContain("Trap.Read");
    expect(Array.from(shown.replaceAll(ownColour, "")).filter((char) => char !== "\n" && steering.test(char))).toEqual(
      [],
    );
  });

  it("[GAT-05] writes nothing but ASCII to a terminal that shows ASCII alone", async () => {
    const shown = await shownAt("C", command, id, ...options);
    expect(shown).toContain("Trap.Read");
    expect(Array.from(shown).filter((char) => char > "~")).toEqual([]);
  });
});

it("[GAT-05] an export into a pipe is the ledger's own bytes", async () => {
  const { out } = await runProcess(folder.path, "export", id, "--db", db);
  expect(out).toContain(JSON.stringify(JSON.stringify(trap)).slice(3, -3));
});
