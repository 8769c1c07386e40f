/** `countersign serve` in this process, on a port and a ledger of its own. */
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { main } from "../../src/faces/cli/main.ts";
import { Interrupted, type Terminal } from "../../src/faces/cli/terminal.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";

/**
 * What it printed and complained of grows while it serves; `stop` interrupts it, at the latest when the test is over.
 */
export const serveHere = (token: string, ...args: readonly string[]) => serveAt("own", token, ...args);

/** As serveHere; `none` names no ledger, where a host has one. */
export async function serveAt(ledger: "own" | "none", token: string, ...args: readonly string[]) {
  const folder = makeTempFolder();
  const [out, err]: [string[], string[]] = [[], []];
  const interruption = new AbortController();
  const listening = Promise.withResolvers<string>();
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
    signal: interruption.signal,
    now: () => 0,
    print(line) {
      out.push(line);
      listening.resolve(line);
    },
    write: (text) => void out.push(text),
    complain: (line) => void err.push(line),
    printAll: () => Promise.resolve(),
  };
  const db = join(folder.path, "l.db");
  const given = ["--json", "--port", "0", "--token", token, ...(ledger === "own" ? ["--db", db] : [])];
  const ended = main(["serve", ...given, ...args], terminal);
  const stop = async (): Promise<void> => {
    interruption.abort(new Interrupted("the test", 0));
    await ended;
  };
  onTestFinished(async () => {
    await stop();
    folder[Symbol.dispose]();
  });
  const { url, login } = JSON.parse(await listening.promise) as { readonly url: string; readonly login: string };
  return { url, login, db, out, err, stop };
}
