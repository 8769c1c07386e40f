/**
 * The terminal as commands see it: where text goes, how wide it is, whether a person can answer, and when to stop.
 *
 * Owns: colours (only on a terminal, never against NO_COLOR), the closed pipe, and the interruption with its message.
 * 1.  A reader that has gone away ends the program without an error. Output that cannot be written, as on a full disk,
 *     is an OutputError, which `settle` throws at the latest.
 * 2.  `interactive` is false if a question could wait for nobody.
 * 3.  A terminal receives only visible characters, line feeds and our own colours: any other character is replaced by
 *     its name here.
 * 4.  A terminal that shows only ASCII receives only ASCII: our symbols have a replacement, other characters are named.
 *     TERM=dumb is never redrawn and has no colours.
 */
import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { styleText } from "node:util";
import { nameForbidden } from "../../protocol/visible-text.ts";
import { openScreen, type Screen } from "./screen.ts";

export type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

export interface Terminal {
  /** True if both ends are terminals and the output is for people. */
  readonly interactive: boolean;
  /** True if output may be redrawn in place. */
  readonly live: boolean;
  readonly columns: number;
  /** Opens a separate screen; null if lines can only be written one after another. */
  readonly openScreen: (() => Screen) | null;
  /** Asks for one line; null if the person leaves (Ctrl-C, end of input). It may be called only if `interactive`. */
  readonly ask: (question: string) => Promise<string | null>;
  /** The command of the person's editor; null where none is set. */
  readonly editor: string | null;
  readonly paint: Paint;
  /**
   * The signal that ends the program: aborted with an Interrupted by a signal or a closed pipe, with an OutputError if
   * output cannot be written.
   */
  readonly signal: AbortSignal;
  /** Returns the present time in epoch ms. */
  readonly now: () => number;
  /** The message for an interruption: what is safe at present, and how to continue. */
  readonly safety: { tell: string | null };
  readonly print: (line: string) => void;
  readonly write: (text: string) => void;
  readonly complain: (line: string) => void;
  /** Writes line by line, no faster than the reader reads. `exact` lines go to files and pipes unchanged. */
  readonly printAll: (lines: AsyncIterable<string>, as?: "exact") => Promise<void>;
  /** Resolves when all output is written, or when nobody reads it any more. @throws OutputError. */
  readonly settle: () => Promise<void>;
}

/** Erases the line that is being redrawn. It may stand only at the beginning of a write. */
export const eraseLine = "\r\u001b[2K";

const sequenceStart = "\u001b";

/** The escape sequences of `paint`: bold, dim, and colours of the text. */
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

/** Our own symbols and their replacements in ASCII; any other character is named by its number. */
const symbols: Readonly<Record<string, string>> = { "█": "#", "░": "-", "…": "...", "‹": "<", "›": ">", "→": "->" };
export const toAscii = guardParts((text) =>
  text.replace(
    /[^\0-\x7f]/gu,
    (char) => symbols[char] ?? `<U+${(char.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0")}>`,
  ),
);

/** Wraps a terminal so that invisible characters are named in all text that is written to it. */
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

/** The reason for which the program ends early, and its exit code: 128 + n after signal n, 0 after a closed pipe. */
export class Interrupted extends Error {
  readonly exitCode: number;

  constructor(cause: string, exitCode: number) {
    super(`interrupted by ${cause}`);
    this.name = "Interrupted";
    this.exitCode = exitCode;
  }
}

/** The error of output that could not be written, or only in part. */
export class OutputError extends Error {
  constructor(cause: NodeJS.ErrnoException) {
    super(`stdout cannot be written (${cause.message}); what is there is cut short: make room, or send it elsewhere`);
    this.name = "OutputError";
  }
}

const signalCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
/** Returns whether the program was told to end by SIGTERM; following it is not a failure. */
export const isAskedToEnd = (reason: unknown): boolean =>
  reason instanceof Interrupted && reason.exitCode === signalCodes.SIGTERM;

/**
 * The time in ms within which a repeated signal is an echo of the first, if the launcher runs the program in a second
 * process.
 */
const echoMs = 1000;

const afterEcho = (run: () => void): void => void setTimeout(run, echoMs).unref();

/**
 * Ends the program at the first signal; the next one kills it. A signal that reaches both processes is also passed on
 * by the launcher (bin.mjs). In that case, the next signal counts only after `later` has run its callback.
 */
export function handleSignals(
  source: NodeJS.EventEmitter,
  stop: (reason: Interrupted) => void,
  later: ((run: () => void) => void) | null,
): void {
  const ignore = (): void => undefined;
  for (const [name, code] of Object.entries(signalCodes)) {
    // This listener is registered before the first signal, because a signal without a listener kills the process.
    if (later !== null) source.on(name, ignore);
    source.once(name, () => {
      stop(new Interrupted(name, code));
      later?.(() => source.off(name, ignore));
    });
  }
}

const defaultColumns = 100;

/** The variables of the environment that describe the terminal. */
export interface Surroundings {
  readonly TERM?: string | undefined;
  readonly LC_ALL?: string | undefined;
  readonly LC_CTYPE?: string | undefined;
  readonly LANG?: string | undefined;
}

/** Returns whether a locale is named that is not UTF-8; without a locale, UTF-8 is assumed. */
export function showsAsciiOnly({ LC_ALL, LC_CTYPE, LANG }: Surroundings): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG || "";
  return locale !== "" && !/utf-?8/i.test(locale);
}

/** Opens the process's own terminal. It listens to each signal once: a second Ctrl-C ends the process at once. */
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

/** Asks for one line; Ctrl-C at the question is an interruption like any other. */
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

/**
 * Waits until all output is written. An empty write completes after all others; an error of an earlier write has
 * aborted the signal by then.
 */
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

/** Returns a handler that throws the reason of the signal if it was aborted, else the error. */
const rethrowFor =
  (signal: AbortSignal) =>
  (error: unknown): never => {
    signal.throwIfAborted();
    throw error;
  };
