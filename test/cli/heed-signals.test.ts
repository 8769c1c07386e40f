// Signals as wishes to end, of a process that hears them as emitted.

import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { handleSignals } from "../../src/faces/cli/terminal.ts";

describe.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
])("%s", (name, code) => {
  it("is heard once: the next one finds no listener, and kills", () => {
    const [source, heard] = [new EventEmitter(), [] as number[]];
    handleSignals(source, ({ exitCode }) => heard.push(exitCode), null);
    expect([source.emit(name), source.emit(name), heard]).toEqual([true, false, [code]]);
  });

  it("that comes again soon is no second wish where a launcher passes signals on", () => {
    const [source, heard, left] = [new EventEmitter(), [] as number[], [] as (() => void)[]];
    handleSignals(
      source,
      ({ exitCode }) => heard.push(exitCode),
      (run) => left.push(run),
    );
    expect([source.emit(name), source.emit(name), heard]).toEqual([true, true, [code]]);
    for (const run of left) run();
    expect([source.emit(name), heard]).toEqual([false, [code]]);
  });
});
