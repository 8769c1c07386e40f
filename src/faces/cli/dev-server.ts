/**
 * The server that `dev` runs: `serve` in a process of its own, so that changed modules are loaded anew.
 *
 * 1.  The process ends with this one, however this one ends: it has a channel to it (dev-preload.ts).
 * 2.  It is in a group of its own: Ctrl-C reaches this process alone, which then ends the server in order.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { extname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { findShipped } from "./find-shipped.ts";

/** The reason for which packages cannot be loaded, or for which a server ended before it listened. */
export interface DevProblem {
  readonly code: string;
  readonly detail: string;
  readonly next: string | null;
}

/** The addresses that `serve --json` prints once it listens. */
export interface DevAddress {
  readonly url: string;
  readonly login: string;
  readonly inspector: string;
}

export interface DevServer {
  readonly address: DevAddress;
  /** Resolves when the server's process has ended. */
  readonly ended: Promise<void>;
  /** Ends the process in order, or by force if it does not end. */
  readonly stop: () => Promise<void>;
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** The module that the process loads first. It has the ending of this one: a source, or built. */
const preload = join(import.meta.dirname, `dev-preload${extname(import.meta.filename)}`);

/** The time in ms that a server has to end before it is killed; its own limits are shorter. */
const patienceMs = 10_000;

function begin(args: readonly string[]): Child {
  const launcher = findShipped("src/faces/cli/bin.mjs");
  const given = ["--import", preload, launcher, ...args];
  return spawn(process.execPath, given, { stdio: ["ignore", "pipe", "pipe", "ipc"], detached: true }) as Child;
}

async function stop(child: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  const force = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  child.kill("SIGTERM");
  await ended;
  clearTimeout(force);
}

/**
 * Starts a server. Returns it once it listens, or the problem for which it does not. `log` receives its log.
 * @throws the abort reason of the signal.
 */
export async function startServer(
  args: readonly string[],
  { signal, log }: { readonly signal: AbortSignal; readonly log: (line: string) => void },
): Promise<DevServer | DevProblem> {
  const child = begin(["serve", "--json", ...args]);
  const ended = once(child, "close").then(() => undefined);
  const early: string[] = [];
  let keep = (line: string): void => void early.push(line);
  createInterface({ input: child.stderr }).on("line", (line) => keep(line));
  const listening = once(createInterface({ input: child.stdout }), "line") as Promise<[string]>;
  try {
    const first = await untilAborted(Promise.race([listening, ended]), signal);
    if (first === undefined) return readProblem(early);
    for (const line of early) log(line);
    keep = log;
    const address = JSON.parse(first[0]) as DevAddress;
    return { address, ended, stop: () => stop(child) };
  } catch (thrown) {
    await stop(child);
    throw thrown;
  }
}

/** Runs a command that ends by itself, with the same packages. Returns the problem, or null if all is well. */
export async function runCommand(args: readonly string[], signal: AbortSignal): Promise<DevProblem | null> {
  const child = begin([...args, "--json"]);
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(line));
  child.stdout.resume();
  try {
    const [code] = (await untilAborted(once(child, "close"), signal)) as [number | null];
    return code === 0 ? null : readProblem(lines);
  } finally {
    await stop(child);
  }
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Reads the problem details that a command with --json prints; without them the last line is the detail. */
function readProblem(lines: readonly string[]): DevProblem {
  for (const line of lines.toReversed()) {
    const { title, detail, extensions } = readJsonLine(line);
    if (typeof detail === "string")
      return { code: extensions?.code ?? String(title), detail, next: extensions?.next ?? null };
  }
  return { code: "T0_MODULE_INVALID", detail: lines.at(-1) ?? "the process ended without a word", next: null };
}

interface Problem {
  readonly title?: unknown;
  readonly detail?: unknown;
  readonly extensions?: { readonly code?: string; readonly next?: string };
}

function readJsonLine(line: string): Problem {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
