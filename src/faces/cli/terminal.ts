/**
 * The terminal as commands see it: where text goes, how wide it is, whether anybody can answer, and when to stop.
 *
 * Owns: colours (only on a terminal, never against NO_COLOR), the closed pipe, the interruption, and what is told of it.
 * 1.  A reader that went away ends the program quietly; it never throws. Output that cannot be written, as on a full
 *        disk, is an OutputError, which `settle` tells at the latest.
 * 2.  `interactive` is false wherever a question could wait for nobody.
 * 3.  Nothing reaches a terminal but characters that can be seen, line feeds, and our own colours: whatever a command
 *        forgot to name is named here.
 * 4.  A terminal that shows ASCII alone gets nothing else: our symbols have a form in it, other characters are named.
 *        TERM=dumb is never redrawn and has no colours.
 */
import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { styleText } from "node:util";
import { nameForbidden } from "../../protocol/visible-text.ts";
import { openScreen, type Screen } from "./screen.ts";

export type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

export interface Terminal {
  /** Both ends are terminals and the output is for people. */
  readonly interactive: boolean;
  /** Output may be redrawn in place. */
  readonly live: boolean;
  readonly columns: number;
  /** A screen of one's own; null where lines can only be written one after another. */
  readonly openScreen: (() => Screen) | null;
  /** One line that a person types; null where they leave it (Ctrl-C, end of input). Only where `interactive`. */
  readonly ask: (question: string) => Promise<string | null>;
  /** The command of the person's editor; null where none is set. */
  readonly editor: string | null;
  readonly paint: Paint;
  /** Aborted by a signal or by a closed pipe, with an Interrupted; by output that cannot be written, with an OutputError. */
  readonly signal: AbortSignal;
  /** Epoch ms. */
  readonly now: () => number;
  /** What holds if the program is interrupted now, and how to go on; told when it is. */
  readonly safety: { tell: string | null };
  readonly print: (line: string) => void;
  readonly write: (text: string) => void;
  readonly complain: (line: string) => void;
  /** Writes line by line, no faster than the reader reads. What is `exact` goes to files and pipes as it is. */
  readonly printAll: (lines: AsyncIterable<string>, as?: "exact") => Promise<void>;
  /** Resolves when all that was written is out, or nobody reads it any more. @throws OutputError. */
  readonly settle: () => Promise<void>;
}

/** Takes back the line that is being redrawn; only at the beginning of what is written. */
export const eraseLine = "\r\u001b[2K";

const sequenceStart = "\u001b";

/** The sequences of `paint`: bold, dim, and colours of the text. */
const ownColours = new RegExp(`(${sequenceStart}\\[(?:[12]|22|3[1-69])m)`);

type Guard = (text: string) => string;

const guardParts =
  (guard: Guard): Guard =>
  (text) =>
    text
      .split(ownColours)
      .map((part, i) => (i % 2 === 1 ? part : guard(part)))
      .join("");

const guardText = guardParts(nameForbidden);
const asIs: Guard = (text) => text;

/** Our own symbols in ASCII; all else that is not ASCII is named by its number. */
const symbols: Readonly<Record<string, string>> = { "█": "#", "░": "-", "…": "...", "‹": "<", "›": ">", "→": "->" };
export const toAscii = guardParts((text) =>
  text.replace(
    /[^\0-\x7f]/gu,
    (char) => symbols[char] ?? `<U+${(char.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0")}>`,
  ),
);

/** The same terminal, for text of which nobody knows whether all of it can be seen. */
export function guardTerminal(terminal: Terminal): Terminal {
  const { print, write, complain, printAll, openScreen: open, ask } = terminal;
  return {
    ...terminal,
    openScreen: open === null ? null : () => guardScreen(open()),
    ask: (question) => ask(guardText(question)),
    print: (line) => print(guardText(line)),
    write: (text) =>
      write(text.startsWith(eraseLine) ? eraseLine + guardText(text.slice(eraseLine.length)) : guardText(text)),
    complain: (line) => complain(guardText(line)),
    printAll: (lines, as) => (as === "exact" ? printAll(lines, as) : printAll(guardLines(lines))),
  };
}

const guardScreen = (screen: Screen): Screen => ({
  ...screen,
  show: (lines) => screen.show(lines.map((line) => guardText(line).replaceAll("\n", " "))),
});

async function* guardLines(lines: AsyncIterable<string>, adapt: Guard = asIs): AsyncGenerator<string> {
  for await (const line of lines) yield adapt(guardText(line));
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

/** What was written got out in part, or not at all. */
export class OutputError extends Error {
  constructor(cause: NodeJS.ErrnoException) {
    super(`stdout cannot be written (${cause.message}); what is there is cut short: make room, or send it elsewhere`);
    this.name = "OutputError";
  }
}

const signalCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
/** A program that is told to end by whoever runs it, and does, has not failed. */
export const isToldToEnd = (reason: unknown): boolean =>
  reason instanceof Interrupted && reason.exitCode === signalCodes.SIGTERM;

/** How long after a signal the same one is its echo, in ms, where the launcher runs the program in a second process. */
const echoMs = 1000;

const afterEcho = (run: () => void): void => void setTimeout(run, echoMs).unref();

/**
 * Each signal ends the program once; the next one kills it. What is sent to both processes the launcher passes on too
 * (bin.mjs): there the next one counts only once `later` has run what it is given.
 */
export function handleSignals(
  source: NodeJS.EventEmitter,
  stop: (reason: Interrupted) => void,
  later: ((run: () => void) => void) | null,
): void {
  const ignore = (): void => undefined;
  for (const [name, code] of Object.entries(signalCodes)) {
    // There before the first signal: between two listeners a signal would kill.
    if (later !== null) source.on(name, ignore);
    source.once(name, () => {
      stop(new Interrupted(name, code));
      later?.(() => source.off(name, ignore));
    });
  }
}

const defaultColumns = 100;

/** What the environment says of the terminal. */
export interface Surroundings {
  readonly TERM?: string | undefined;
  readonly LC_ALL?: string | undefined;
  readonly LC_CTYPE?: string | undefined;
  readonly LANG?: string | undefined;
}

/** A locale that is named and is not UTF-8; where none is named, UTF-8 is what terminals speak. */
export function showsAsciiOnly({ LC_ALL, LC_CTYPE, LANG }: Surroundings): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG || "";
  return locale !== "" && !/utf-?8/i.test(locale);
}

/** The process's own terminal. Listens to signals once: a second Ctrl-C ends the process at once. */
export function openTerminal(json: boolean): Terminal {
  const { stdin, stdout, stderr, env } = process;
  const stop = new AbortController();
  handleSignals(
    process,
    (reason) => stop.abort(reason),
    env["COUNTERSIGN_SECOND_RUN"] === undefined ? null : afterEcho,
  );
  stdout.on("error", (error: NodeJS.ErrnoException) => stop.abort(onBrokenOutput(error)));
  stderr.on("error", () => undefined);
  const shown = stdout.isTTY === true && !json;
  const live = shown && env["TERM"] !== "dumb";
  const interactive = shown && stdin.isTTY === true;
  const adapt: Guard = stdout.isTTY === true && showsAsciiOnly(env) ? toAscii : asIs;
  return {
    interactive,
    live,
    columns: stdout.columns || defaultColumns,
    openScreen: live && interactive ? () => adaptScreen(openScreen(stdin, stdout, stop.signal), adapt) : null,
    ask: (question) => askLine(adapt(question), stop),
    editor: env["VISUAL"] || env["EDITOR"] || null,
    paint: (style, text) => (live || !shown ? styleText(style, text, { stream: stdout }) : text),
    signal: stop.signal,
    now: Date.now,
    safety: { tell: null },
    print: (line) => void stdout.write(`${adapt(line)}\n`),
    write: (text) => void stdout.write(adapt(text)),
    complain: (line) => void stderr.write(`${adapt(line)}\n`),
    printAll: (lines) => printAll(stdout.isTTY === true ? guardLines(lines, adapt) : lines, stop.signal),
    settle: () => settle(stop.signal),
  };
}

const adaptScreen = (screen: Screen, adapt: Guard): Screen => ({
  ...screen,
  show: (lines) => screen.show(lines.map(adapt)),
});

/** Ctrl-C at a question is an interruption like any other. */
async function askLine(question: string, stop: AbortController): Promise<string | null> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  lines.once("SIGINT", () => stop.abort(new Interrupted("SIGINT", signalCodes.SIGINT)));
  try {
    const ended = once(lines, "close").then(() => null);
    return await Promise.race([lines.question(question, { signal: stop.signal }), ended]);
  } catch {
    return null;
  } finally {
    lines.close();
  }
}

const onBrokenOutput = (error: NodeJS.ErrnoException): Error =>
  error.code === "EPIPE" ? new Interrupted("a closed pipe", 0) : new OutputError(error);

/** An empty write comes after all others; what was wrong with one of them has aborted the signal by then. */
async function settle(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => process.stdout.write("", () => resolve()));
  if (signal.reason instanceof OutputError) throw signal.reason;
}

async function printAll(lines: AsyncIterable<string>, signal: AbortSignal): Promise<void> {
  for await (const line of lines) {
    if (!process.stdout.write(`${line}\n`)) await once(process.stdout, "drain", { signal }).catch(rethrowFor(signal));
    signal.throwIfAborted();
  }
}

/** Returns the reason of the signal where it was aborted. */
const rethrowFor =
  (signal: AbortSignal) =>
  (error: unknown): never => {
    signal.throwIfAborted();
    throw error;
  };
