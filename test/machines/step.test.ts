import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stepMachine } from "../../machines/step.ts";
import { runs } from "../properties/property-runs.ts";
import { accepts, anyEventOf, begin, event, eventsOf, type ProbeEvent, pathOf, send, walk } from "./interpreter.ts";

const stateOf = (value: Parameters<typeof pathOf>[0]): string => pathOf(value).split(".")[0] as string;
const walkOn = (...types: readonly string[]) =>
  walk(
    stepMachine,
    types.map((type) => event(type)),
  );

/** The seed's moves: what the outer state may become. */
const moves: Readonly<Record<string, readonly string[]>> = {
  queued: ["running", "skipped", "succeeded"],
  running: ["succeeded", "failed", "skipped"],
  succeeded: [],
  failed: [],
  skipped: [],
};

describe("the step lifecycle", () => {
  it("has exactly five states, the last three final", () => {
    expect(Object.keys(stepMachine.states)).toEqual(Object.keys(moves));
    const finals = Object.values(stepMachine.states).filter((state) => state.type === "final");
    expect(finals.map((state) => state.key)).toEqual(["succeeded", "failed", "skipped"]);
  });

  it("moves from queued to running, or to an end without a failure, and from running to an end", () => {
    const walks = fc.array(anyEventOf(stepMachine), { maxLength: 40 });
    const property = fc.property(walks, (events) => {
      expect(strayMoves(events)).toEqual([]);
    });
    fc.assert(property, { numRuns: runs(300) });
  });

  it("reaches each of the seed's moves", () => {
    expect(stateOf(walkOn("STEP_STARTED").value)).toBe("running");
    expect(stateOf(walkOn("STEP_SKIPPED").value)).toBe("skipped");
    expect(stateOf(walkOn("STEP_STARTED", "STEP_FAILED").value)).toBe("failed");
    expect(stateOf(walkOn("STEP_STARTED", "STEP_SKIPPED").value)).toBe("skipped");
    const succeeded = walkOn("STEP_STARTED", "ACTION_STARTED", "ACTION_SUCCEEDED", "STEP_SUCCEEDED");
    expect(stateOf(succeeded.value)).toBe("succeeded");
  });

  it("a gated step is executed after an approval, or after an expiry that allows, and never otherwise", () => {
    const gated = walkOn("STEP_STARTED", "GATE_OPENED");
    expect(pathOf(gated.value)).toBe("running.awaiting_approval");
    expect(pathOf(send(stepMachine, gated, event("USER_APPROVED")).value)).toBe("running.judging");
    expect(pathOf(send(stepMachine, gated, event("GATE_EXPIRED", { action: "allow" })).value)).toBe("running.judging");
    for (const type of ["GATE_EXPIRED", "USER_REJECTED", "GATE_REVISED", "ACTION_STARTED", "ACTION_SUCCEEDED"]) {
      expect(pathOf(send(stepMachine, gated, event(type)).value)).toBe("running.awaiting_approval");
    }
  });

  it("an action begins in judging, or by ending the wait for a retry", () => {
    const begins = (...types: readonly string[]) => accepts(stepMachine, walkOn(...types), event("ACTION_STARTED"));
    expect(begins()).toBe(false);
    expect(begins("STEP_STARTED")).toBe(true);
    expect(begins("STEP_STARTED", "GATE_OPENED")).toBe(false);
    expect(begins("STEP_STARTED", "ACTION_STARTED", "ACTION_FAILED")).toBe(false);
    expect(begins("STEP_STARTED", "ACTION_STARTED", "ACTION_FAILED", "ACTION_RETRY_SCHEDULED")).toBe(true);
    expect(begins("STEP_STARTED", "ACTION_IN_DOUBT")).toBe(false);
  });

  it("a second start of a call that is under way is refused, but where a crash has lost the first", () => {
    const calling = walkOn("STEP_STARTED", "ACTION_STARTED");
    expect(accepts(stepMachine, calling, event("ACTION_STARTED"))).toBe(false);
    expect(accepts(stepMachine, calling, event("ACTION_STARTED", { recovered: true }))).toBe(true);
  });

  it("a failed call is no success, unless one comes late", () => {
    const failed = walkOn("STEP_STARTED", "ACTION_STARTED", "ACTION_FAILED");
    expect(accepts(stepMachine, failed, event("STEP_SUCCEEDED"))).toBe(false);
    const late = send(stepMachine, failed, event("ACTION_SUCCEEDED"));
    expect(stateOf(send(stepMachine, late, event("STEP_SUCCEEDED")).value)).toBe("succeeded");
  });

  it("a doubt is left by a settlement or an end, not by a repeated start", () => {
    const doubtful = walkOn("STEP_STARTED", "ACTION_STARTED", "ACTION_IN_DOUBT");
    expect(pathOf(doubtful.value)).toBe("running.in_doubt");
    const leaving = eventsOf(stepMachine).filter(
      (type) => pathOf(send(stepMachine, doubtful, event(type)).value) !== "running.in_doubt",
    );
    expect(leaving.sort()).toEqual(["ACTION_SETTLED", "STEP_SKIPPED"]);
  });
});

function strayMoves(events: readonly ProbeEvent[]): string[] {
  let snapshot = begin(stepMachine);
  return events.flatMap((probe) => {
    const before = stateOf(snapshot.value);
    snapshot = send(stepMachine, snapshot, probe);
    const now = stateOf(snapshot.value);
    return before === now || moves[before]?.includes(now) ? [] : [`${before} → ${now} on ${probe.type}`];
  });
}
