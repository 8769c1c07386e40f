// The last guard before the terminal: whatever a command forgot to name is named, and nothing else is changed.

import { describe, expect, it } from "vitest";
import { eraseLine, guardTerminal, showsAsciiOnly, type Terminal, toAscii } from "../../src/faces/cli/terminal.ts";

/** What reaches the terminal behind the guard, piece by piece. */
function guarded(): { readonly terminal: Terminal; readonly reached: string[] } {
  const reached: string[] = [];
  const keep = (text: string): void => void reached.push(text);
  const printAll = async (lines: AsyncIterable<string>): Promise<void> => {
    for await (const line of lines) keep(line);
  };
  const asking = {
    openScreen: null,
    editor: null,
    ask: async () => null,
    safety: { tell: null },
    settle: async () => undefined,
  };
  const inner = {
    ...asking,
    interactive: false,
    live: true,
    columns: 80,
    paint: (_style: unknown, text: string) => text,
  };
  const signal = new AbortController().signal;
  const terminal = { ...inner, signal, now: () => 0, print: keep, write: keep, complain: keep, printAll };
  return { terminal: guardTerminal(terminal), reached };
}

async function* linesOf(...lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

const forgotten = "a\u202eb\u001b[8mc\rd\u001b[2K";
const named = "a‹U+202E RIGHT-TO-LEFT OVERRIDE›b‹U+001B ESCAPE›[8mc‹CR›d‹U+001B ESCAPE›[2K";

describe("the guard of the terminal", () => {
  it("[GAT-05] names what a command forgot to name, wherever it goes", async () => {
    const { terminal, reached } = guarded();
    terminal.print(forgotten);
    terminal.write(forgotten);
    terminal.complain(forgotten);
    await terminal.printAll(linesOf(forgotten));
    expect(reached).toEqual([named, named, named, named]);
  });

  it("lets our colours and line feeds pass, and the line that is redrawn", () => {
    const { terminal, reached } = guarded();
    const coloured = "\u001b[1mGate\u001b[22m\n\u001b[32m+ok\u001b[39m";
    terminal.print(coloured);
    terminal.write(`${eraseLine}  50 %`);
    expect(reached).toEqual([coloured, `${eraseLine}  50 %`]);
  });

  it("leaves alone what is for a file", async () => {
    const { terminal, reached } = guarded();
    await terminal.printAll(linesOf(forgotten), "exact");
    expect(reached).toEqual([forgotten]);
  });
});

describe("what the environment says of the terminal", () => {
  it.each([
    [{}, false],
    [{ LANG: "de_DE.UTF-8" }, false],
    [{ LANG: "C.utf8" }, false],
    [{ LANG: "C" }, true],
    [{ LANG: "en_US.UTF-8", LC_ALL: "POSIX" }, true],
    [{ LC_CTYPE: "en_US.ISO-8859-1" }, true],
  ])("%j: shows ASCII only is %s", (env, only) => expect(showsAsciiOnly(env)).toBe(only));

  it("in ASCII our symbols have a form, and what others wrote is named", () => {
    expect(toAscii("\u001b[32m██\u001b[39m░ 50 %  Größe… ‹LF› 🎉")).toBe(
      "\u001b[32m##\u001b[39m- 50 %  Gr<U+00F6><U+00DF>e... <LF> <U+1F389>",
    );
  });
});
