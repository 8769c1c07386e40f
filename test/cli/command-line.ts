/**
 * Runs the command line for tests: in a process of its own, or in this one with a terminal that keeps its output.
 *
 * Owns: a temporary repository with a short history. Never: waits by the clock.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { main } from "../../src/faces/cli/main.ts";
import type { Screen } from "../../src/faces/cli/screen.ts";
import type { Terminal } from "../../src/faces/cli/terminal.ts";
import { commit, git } from "../operators/temp-folder.ts";

export const launcher = fileURLToPath(new URL("../../src/faces/cli/bin.mjs", import.meta.url));

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

/** How a process ended, and what it complained of meanwhile. */
export async function endOf(child: ChildProcessWithoutNullStreams): Promise<Omit<Ran, "out">> {
  const [err, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  return { code: code as number | null, err };
}

/** In this process. */
export const runHere = (...args: readonly string[]): Promise<Ran> => runAt({}, ...args);

/** In this process, at a terminal that differs in some things from one that nobody sits at. */
export async function runAt(own: Partial<Terminal>, ...args: readonly string[]): Promise<Ran> {
  const [out, err]: [string[], string[]] = [[], []];
  const terminal: Terminal = {
    interactive: false,
    live: false,
    columns: 100,
    openScreen: null,
    editor: null,
    ask: async () => null,
    safety: { tell: null },
    settle: async () => undefined,
    paint: (_style, line) => line,
    signal: new AbortController().signal,
    now: Date.now,
    print: (line) => void out.push(`${line}\n`),
    write: (piece) => void out.push(piece),
    complain: (line) => void err.push(`${line}\n`),
    printAll: async (lines) => {
      for await (const line of lines) out.push(`${line}\n`);
    },
    ...own,
  };
  const code = await main(args, terminal);
  return { code, out: out.join(""), err: err.join("") };
}

/** Somebody who presses these keys, one for each screen that they see, and types these lines where they are asked. */
export function makePerson(keys: readonly string[], answer: (question: string) => string | null = () => "") {
  const [screens, questions, left]: [string[], string[], string[]] = [[], [], [...keys]];
  const meanwhile = new Map<string, () => unknown>();
  const screen: Screen = {
    size: () => ({ columns: 60, rows: 30 }),
    show: (lines) => void screens.push(lines.join("\n")),
    nextKey: async () => {
      const key = left.shift() ?? "ctrl-c";
      await meanwhile.get(key)?.();
      return key;
    },
    close: () => undefined,
  };
  const ask = async (question: string): Promise<string | null> => {
    questions.push(question);
    return answer(question);
  };
  /** What others do before this key is pressed. */
  const before = (key: string, happens: () => unknown): void => void meanwhile.set(key, happens);
  return { screens, questions, before, terminal: { interactive: true, openScreen: () => screen, ask } };
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
