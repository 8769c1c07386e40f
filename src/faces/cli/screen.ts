/**
 * A screen of one's own on the terminal: shown whole, left as it was found, and the keys that are pressed meanwhile.
 *
 * Owns: the alternate buffer, the cursor and the raw mode, each given back by `close`, also where the program dies.
 * 1.  Only lines that were guarded get here (terminal.ts).
 * 2.  Ctrl-C is a key here, and no signal; a signal, as where the terminal goes away, is that key.
 */
import { emitKeypressEvents } from "node:readline";
import type { ReadStream, WriteStream } from "node:tty";

/** The key's character or name: `a`, `pagedown`, `ctrl-c`; `resize` where the screen has another size now. */
export type Key = string;

export interface Screen {
  readonly size: () => { readonly columns: number; readonly rows: number };
  readonly show: (lines: readonly string[]) => void;
  /** The next key; those pressed before it was asked for come first. */
  readonly nextKey: () => Promise<Key>;
  readonly close: () => void;
}

const enter = "\u001b[?1049h\u001b[?25l";
const leave = "\u001b[?25h\u001b[?1049l";
const home = "\u001b[H";
const eraseRight = "\u001b[K";
const eraseBelow = "\u001b[J";

export function openScreen(input: ReadStream, output: WriteStream, signal: AbortSignal): Screen {
  const waiting: ((key: Key) => void)[] = [];
  const pressed: Key[] = [];
  const take = (key: Key): void => {
    const next = waiting.shift();
    if (next === undefined) pressed.push(key);
    else next(key);
  };
  const onKey = (text: string | undefined, key: Pressed): void => take(nameKey(text, key));
  const onResize = (): void => take("resize");
  const onAbort = (): void => take("ctrl-c");
  const close = (): void => {
    input.off("keypress", onKey).setRawMode(false).pause();
    output.off("resize", onResize).write(leave);
    process.off("exit", close);
    signal.removeEventListener("abort", onAbort);
  };
  emitKeypressEvents(input);
  input.on("keypress", onKey).setRawMode(true).resume();
  output.on("resize", onResize).write(enter);
  process.on("exit", close);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort);
  return {
    size: () => ({ columns: output.columns, rows: output.rows }),
    show: (lines) => void output.write(home + lines.map((line) => line + eraseRight).join("\n") + eraseBelow),
    nextKey: () =>
      new Promise((resolve) => {
        const key = pressed.shift();
        if (key === undefined) waiting.push(resolve);
        else resolve(key);
      }),
    close,
  };
}

interface Pressed {
  readonly name?: string;
  readonly ctrl?: boolean;
}

const nameKey = (text: string | undefined, { name, ctrl }: Pressed): Key =>
  ctrl === true ? `ctrl-${name ?? ""}` : (name ?? text ?? "");
