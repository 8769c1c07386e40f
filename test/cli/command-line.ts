// Runs the command line for tests: in a process of its own, or in this one with a terminal that keeps what it is told.
// Owns: a temporary repository with a short history. Never: waits by the clock.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { main } from "../../src/cli/main.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { commit, git } from "../operators/temp-folder.ts";

export const launcher = fileURLToPath(new URL("../../src/cli/bin.mjs", import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A process of its own, without a terminal and with nothing on stdin that would ever come. */
export function startProcess(cwd: string, ...args: readonly string[]): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [launcher, ...args], { cwd });
}

export async function runProcess(cwd: string, ...args: readonly string[]): Promise<Ran> {
  const child = startProcess(cwd, ...args);
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { code: code as number | null, out, err };
}

/** In this process. */
export async function runHere(...args: readonly string[]): Promise<Ran> {
  const [out, err]: [string[], string[]] = [[], []];
  const terminal: Terminal = {
    interactive: false,
    live: false,
    columns: 100,
    paint: (_style, line) => line,
    signal: new AbortController().signal,
    now: Date.now,
    print: (line) => void out.push(`${line}\n`),
    write: (piece) => void out.push(piece),
    complain: (line) => void err.push(`${line}\n`),
    printAll: async (lines) => {
      for await (const line of lines) out.push(`${line}\n`);
    },
  };
  const code = await main(args, terminal);
  return { code, out: out.join(""), err: err.join("") };
}

/** What a command with --json printed. */
export async function readHere<T = Readonly<Record<string, unknown>>>(...args: readonly string[]): Promise<T> {
  const ran = await runHere(...args, "--json");
  if (ran.code !== 0) throw new Error(`${args.join(" ")} ended with ${ran.code}: ${ran.err}`);
  return JSON.parse(ran.out) as T;
}

export const readLines = (out: string): readonly Readonly<Record<string, unknown>>[] =>
  out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);

/** A repository with three commits, the first of them released. */
export function makeRepository(folder: string): void {
  git(folder, "init", "--quiet");
  commit(folder, "feat: begin");
  git(folder, "tag", "v1.0.0");
  commit(folder, "feat: add a lantern");
  commit(folder, "fix: mend the hinge");
}
