// A screen of one's own, on streams that are no terminal.

import { PassThrough } from "node:stream";
import type { ReadStream, WriteStream } from "node:tty";
import { describe, expect, it } from "vitest";
import { openScreen } from "../../src/faces/cli/screen.ts";

function makeStreams() {
  const input = Object.assign(new PassThrough(), { setRawMode: () => input });
  return { input: input as unknown as ReadStream, output: new PassThrough() as unknown as WriteStream };
}

describe("a screen", () => {
  it.each(["before", "after"])("takes a signal for Ctrl-C that comes %s it is opened", async (when) => {
    const { input, output } = makeStreams();
    const stop = new AbortController();
    if (when === "before") stop.abort();
    const screen = openScreen(input, output, stop.signal);
    const key = screen.nextKey();
    stop.abort();
    expect(await key).toBe("ctrl-c");
    screen.close();
  });
});
