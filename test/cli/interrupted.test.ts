// Ctrl-C while a command reads or copies: it is heard between two pieces of the work, ends with 130, and what is there
// goes on.

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commandLine } from "../../src/faces/cli/show-result.ts";
import { Interrupted } from "../../src/faces/cli/terminal.ts";
import { makeTempFolder } from "../fixtures.ts";
import { writeLedger } from "../ledgers/ledger-files.ts";
import { readHere, runAt } from "./command-line.ts";

const folder = makeTempFolder();
const at = (name: string): string => join(folder.path, name);
afterAll(() => folder[Symbol.dispose]());

const rows = 600;
const defaults = { capabilities: [], policies: [], json: false, tenant: 1, principal: "local", role: "user" };

/** A signal that comes just before it is looked at for the nth time. */
function signalAt(look: number): AbortSignal {
  const interruption = new AbortController();
  const { signal } = interruption;
  let looks = 0;
  const throwIfAborted = (): void => {
    looks += 1;
    if (looks === look) interruption.abort(new Interrupted("SIGINT", 130));
    AbortSignal.prototype.throwIfAborted.call(signal);
  };
  return Object.assign(signal, { throwIfAborted });
}

const runUntil = (look: number, ...words: readonly string[]) => runAt({ signal: signalAt(look) }, ...words);

describe("Ctrl-C while a ledger is copied", () => {
  beforeAll(() => writeLedger(at("written.db"), rows));

  // Two pages and the end are copied, then the copy is verified.
  it.each([
    ["copied", 2, 500],
    ["verified", 4, rows],
  ])("backup that is %s: the file has not its name, and the same command goes on", async (what, look, found) => {
    const [db, to] = [at("written.db"), at(`${what}.db`)];
    const stopped = await runUntil(look, "backup", "--db", db, "--to", to);
    expect([stopped.code, stopped.out, existsSync(to)]).toEqual([130, "", false]);
    expect(stopped.err).toContain(`The copy in ${to}.part is not whole.`);
    expect(stopped.err).toContain(`\n  ${commandLine({ ...defaults, db }, "backup", "--to", to)}\n`);
    expect(await readHere("backup", "--db", db, "--to", to)).toMatchObject({ rows, found });
    expect([existsSync(to), existsSync(`${to}.part`)]).toEqual([true, false]);
    expect(await readHere("backup", "--db", db, "--to", to)).toMatchObject({ rows, found: rows });
  });

  // Two pages and each stream of four rows are verified, then it is moved.
  it.each([
    ["before it is moved", 1, 0],
    ["while it is moved", 4 + rows / 4, 500],
  ])("migrate %s: the same command goes on", async (what, look, found) => {
    const [db, to] = [at(`${what}.db`), at(`${what}-moved.db`)];
    await readHere("backup", "--db", at("written.db"), "--to", db);
    const stopped = await runUntil(look, "migrate", "--db", db, "--to", to);
    expect([stopped.code, stopped.out]).toEqual([130, ""]);
    expect(stopped.err).toContain(commandLine({ ...defaults, db }, "migrate", "--to", to));
    expect(await readHere("migrate", "--db", db, "--to", to)).toMatchObject({ rows, found });
  });
});

describe("Ctrl-C while a command reads", () => {
  it.each([
    ["verify", "--import"],
    ["replay", "wf_1", "--import"],
    ["inspect", "--import"],
  ])("%s of a file ends between two pieces of it", async (...words) => {
    writeFileSync(at("long.jsonl"), "\n".repeat(200_000));
    const stopped = await runUntil(2, ...words, at("long.jsonl"));
    expect(stopped).toEqual({ code: 130, out: "", err: "\nStopped. Nothing was changed.\n" });
  });

  it("roles tells of no role, before the database is asked and after", async () => {
    for (const look of [1, 2]) {
      const stopped = await runUntil(look, "roles", "--db", "postgres://127.0.0.1:1/none");
      expect([stopped.code, stopped.out]).toEqual([130, ""]);
    }
  });
});
