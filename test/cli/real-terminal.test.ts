/**
 * The command line at a real pseudo-terminal, in a process of its own.
 *
 * Never: waits by the clock; each step waits for its output.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { type IPty, spawn } from "@lydell/node-pty";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TempFolder } from "../operators/temp-folder.ts";
import { launcher, runHere } from "./command-line.ts";
import { keepAs, makeWorkplace } from "./workplace.ts";

let folder: TempFolder;
let repo = "";
let db = "";
beforeEach(async () => {
  ({ folder, repo, db } = makeWorkplace());
  await runHere("demo", "--repo", repo, "--db", db);
});
afterEach(() => folder[Symbol.dispose]());

interface Sitting {
  readonly pty: IPty;
  /** All that was written so far. */
  readonly seen: () => string;
  /** Resolves when this can be read, after what was awaited before. */
  readonly until: (text: string) => Promise<void>;
  readonly ended: Promise<number>;
}

const terminal = { TERM: "xterm-256color", LC_ALL: "C.UTF-8" };

function sit(env: Readonly<Record<string, string>>, ...args: readonly string[]): Sitting {
  const { NODE_COMPILE_CACHE } = process.env;
  const settings = { cols: 60, rows: 24, cwd: repo, env: { ...terminal, NODE_COMPILE_CACHE, ...env } };
  const pty = spawn(process.execPath, [launcher, ...args, "--db", db], settings);
  let [raw, from]: [string, number] = ["", 0];
  const waiting = new Set<() => void>();
  pty.onData((data) => {
    raw += data;
    for (const look of waiting) look();
  });
  const until = (text: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        const at = stripVTControlCharacters(raw).indexOf(text, from);
        if (at < 0) return;
        from = at + text.length;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  const ended = new Promise<number>((resolve) => pty.onExit(({ exitCode }) => resolve(exitCode)));
  return { pty, seen: () => raw, until, ended };
}

describe("at a real terminal", () => {
  it("review is answered by keys, on a screen of its own that is given back", async () => {
    const { pty, seen, until, ended } = sit({}, "review");
    await until("[a]approve");
    pty.write("a");
    await until("[y]approve");
    pty.write("y");
    await until("No gate waits any more.");
    expect(await ended).toBe(0);
    expect(existsSync(join(repo, "RELEASE_NOTES.md"))).toBe(true);
    expect(seen().lastIndexOf("\u001b[?1049l")).toBeGreaterThan(seen().lastIndexOf("\u001b[?1049h"));
  });

  it("Ctrl-C says what is safe and how to go on", async () => {
    const { pty, until, ended } = sit({}, "review");
    await until("[a]approve");
    pty.write("\u0003");
    await until("Nothing was decided at this gate. 1 gate waits as\r\nbefore. Go on:\r\n");
    expect(await ended).toBe(130);
  });

  it("a process that is told to end gives the screen back and ends", async () => {
    const { pty, seen, until, ended } = sit({}, "review");
    await until("[a]approve");
    process.kill(pty.pid, "SIGTERM");
    expect(await ended).toBe(143);
    expect(seen()).toContain("\u001b[?1049l");
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ])("%s while a person edits ends it: the gate is not opened again", async (name, code) => {
    const editor = keepAs(folder, "edit.sh", "trap : INT\necho it is edited\nread line\n");
    const { pty, seen, until, ended } = sit({ EDITOR: `sh ${editor}` }, "review");
    await until("[a]approve");
    pty.write("e");
    await until("it is edited");
    process.kill(pty.pid, name);
    pty.write("\r");
    expect(await ended).toBe(code);
    expect(seen().split("\u001b[?1049h")).toHaveLength(2);
  });

  it("Ctrl-C where a file is asked for ends it too", async () => {
    const { pty, until, ended } = sit({}, "review");
    await until("[a]approve");
    pty.write("e");
    await until("No $EDITOR is set.");
    pty.write("\u0003");
    await until("Stopped. Nothing was decided at this gate.");
    expect(await ended).toBe(130);
  });

  it("TERM=dumb gets lines, no colours and no redrawing; another locale gets ASCII", async () => {
    const { pty, seen, until, ended } = sit({ TERM: "dumb", LC_ALL: "C" }, "review");
    await until("a approve, r reject, e edit, n next, p previous, q quit: ");
    expect(seen()).not.toContain("\u001b");
    expect(seen()).toMatch(/^[\0-\x7f]*$/);
    pty.write("q\r");
    await until("1 gate waits as before");
    expect(await ended).toBe(0);
  });
});
