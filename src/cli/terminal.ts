/**
 * The terminal as commands see it: where text goes, how wide it is, whether anybody can answer, and when to stop.
 *
 * Owns: colours (only on a terminal, never against NO_COLOR), the closed pipe, and the interruption.
 * INV-1  A reader that went away ends the program quietly; it never throws.
 * INV-2  `interactive` is false wherever a question could wait for nobody.
 * INV-3  Nothing reaches a terminal but characters that can be seen, line feeds, and our own colours: whatever a command
 *        forgot to name is named here.
 */
import { once } from "node:events";
import { styleText } from "node:util";
import { nameForbidden } from "../protocol/visible-text.ts";

export type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

export interface Terminal {
  /** Both ends are terminals and the output is for people. */
  readonly interactive: boolean;
  /** Output may be redrawn in place. */
  readonly live: boolean;
  readonly columns: number;
  readonly paint: Paint;
  /** Aborted by a signal or by a closed pipe; the reason is an Interrupted. */
  readonly signal: AbortSignal;
  /** Epoch ms. */
  readonly now: () => number;
  readonly print: (line: string) => void;
  readonly write: (text: string) => void;
  readonly complain: (line: string) => void;
  /** Writes line by line, no faster than the reader reads. What is `exact` goes to files and pipes as it is. */
  readonly printAll: (lines: AsyncIterable<string>, as?: "exact") => Promise<void>;
}

/** Takes back the line that is being redrawn; only at the beginning of what is written. */
export const eraseLine = "\r\u001b[2K";

const sequenceStart = "\u001b";

/** The sequences of `paint`: bold, dim, and colours of the text. */
const ownColours = new RegExp(`(${sequenceStart}\\[(?:[12]|22|3[1-69])m)`);

const guardText = (text: string): string =>
  text
    .split(ownColours)
    .map((part, i) => (i % 2 === 1 ? part : nameForbidden(part)))
    .join("");

/** The same terminal, for text of which nobody knows whether all of it can be seen. */
export function guardTerminal(terminal: Terminal): Terminal {
  const { print, write, complain, printAll } = terminal;
  return {
    ...terminal,
    print: (line) => print(guardText(line)),
    write: (text) =>
      write(text.startsWith(eraseLine) ? eraseLine + guardText(text.slice(eraseLine.length)) : guardText(text)),
    complain: (line) => complain(guardText(line)),
    printAll: (lines, as) => (as === "exact" ? printAll(lines, as) : printAll(guardLines(lines))),
  };
}

async function* guardLines(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield guardText(line);
}

/** Why the program ends early, and its exit code: 130 and the like after a signal, 0 after a closed pipe. */
export class Interrupted extends Error {
  readonly exitCode: number;

  constructor(cause: string, exitCode: number) {
    super(`interrupted by ${cause}`);
    this.name = "Interrupted";
    this.exitCode = exitCode;
  }
}

const signalCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const defaultColumns = 100;

/** The process's own terminal. Listens to signals once: a second Ctrl-C ends the process at once. */
export function openTerminal(json: boolean): Terminal {
  const { stdin, stdout, stderr } = process;
  const stop = new AbortController();
  for (const [name, code] of Object.entries(signalCodes))
    process.once(name, () => stop.abort(new Interrupted(name, code)));
  stdout.on("error", (error: NodeJS.ErrnoException) => stop.abort(onBrokenOutput(error)));
  stderr.on("error", () => undefined);
  const live = stdout.isTTY === true && !json;
  return {
    interactive: live && stdin.isTTY === true,
    live,
    columns: stdout.columns ?? defaultColumns,
    paint: (style, text) => styleText(style, text, { stream: stdout }),
    signal: stop.signal,
    now: Date.now,
    print: (line) => void stdout.write(`${line}\n`),
    write: (text) => void stdout.write(text),
    complain: (line) => void stderr.write(`${line}\n`),
    printAll: (lines, as) => printAll(as === "exact" && stdout.isTTY === true ? guardLines(lines) : lines, stop.signal),
  };
}

function onBrokenOutput(error: NodeJS.ErrnoException): unknown {
  return error.code === "EPIPE" ? new Interrupted("a closed pipe", 0) : error;
}

async function printAll(lines: AsyncIterable<string>, signal: AbortSignal): Promise<void> {
  for await (const line of lines) {
    if (!process.stdout.write(`${line}\n`)) await once(process.stdout, "drain", { signal });
    signal.throwIfAborted();
  }
}
