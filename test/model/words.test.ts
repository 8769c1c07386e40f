/** The events of a chart are read off the chart: what is added to it is walked, or a test fails. */
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createMachine } from "xstate";
import { actionMachine, allMachines, gateMachine, tokenMachine } from "../../machines/index.ts";
import { createModel } from "./paths.ts";
import { nameOf, wordsOf } from "./words.ts";

describe("the words of a chart", () => {
  it("[CARD-10] are its events, and each way through the guards that read one", () => {
    const named = (machine: Parameters<typeof wordsOf>[0], type: string): readonly string[] =>
      wordsOf(machine)
        .all.filter((event) => event.type === type)
        .map(nameOf);
    expect(named(gateMachine, "GATE_EXPIRED")).toEqual(["GATE_EXPIRED(deny)", "GATE_EXPIRED(allow)"]);
    expect(named(gateMachine, "USER_APPROVED")).toEqual(["USER_APPROVED"]);
    expect(named(actionMachine, "ACTION_FAILED")).toEqual([
      "ACTION_FAILED",
      "ACTION_FAILED(final)",
      "ACTION_FAILED(pending)",
    ]);
    expect(named(tokenMachine, "completed")).toEqual(["completed", "completed(failed)"]);
  });

  it("are found for what a ledger holds, whatever else that says", () => {
    const { wordFor } = wordsOf(actionMachine);
    expect(wordFor("ACTION_FAILED", { pending: true, final: true, label: "x" })).toEqual({
      type: "ACTION_FAILED",
      pending: true,
      final: false,
    });
    expect(wordFor("ACTION_STARTED", { status: "failed" })).toEqual({ type: "ACTION_STARTED" });
    expect(wordFor("GATE_OPENED")).toBeNull();
  });

  it("[CARD-10] a transition that is added to a chart is one more that a path has to take", () => {
    const chart = (more: object) =>
      createMachine({ id: "c", initial: "a", states: { a: { on: { GO: "b", ...more } }, b: {} } });
    expect(createModel(chart({})).pairs).toEqual(["a + GO"]);
    expect(createModel(chart({ WAIT: {} })).pairs).toEqual(["a + GO", "a + WAIT"]);
    expect(createModel(chart({ WAIT: {} })).paths.length).toBe(2);
  });

  it("[CARD-10] every machine is walked", () => {
    const walks = allMachines.map(({ id }) => new URL(`${id}.test.ts`, import.meta.url));
    expect(walks.filter((walk) => !existsSync(walk))).toEqual([]);
  });
});
