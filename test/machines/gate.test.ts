import { describe, expect, it } from "vitest";
import { gateMachine } from "../../machines/gate.ts";
import { accepts, event, type ProbeEvent, pathOf, walk } from "./interpreter.ts";

const stateAfter = (...events: readonly (string | ProbeEvent)[]): string =>
  pathOf(
    walk(
      gateMachine,
      events.map((probe) => (typeof probe === "string" ? event(probe) : probe)),
    ).value,
  );

describe("the gate lifecycle", () => {
  it("is decided while it is open or suspended, and only then", () => {
    const decides = (...types: readonly string[]) =>
      accepts(
        gateMachine,
        walk(
          gateMachine,
          types.map((type) => event(type)),
        ),
        event("USER_APPROVED"),
      );
    expect(decides()).toBe(false);
    expect(decides("GATE_OPENED")).toBe(true);
    expect(decides("GATE_OPENED", "GATE_SUSPENDED")).toBe(true);
    expect(decides("GATE_OPENED", "USER_REJECTED")).toBe(false);
  });

  it("a decision that comes early is kept and does not open the gate", () => {
    expect(stateAfter("GATE_DECISION_KEPT")).toBe("declared");
    expect(stateAfter("GATE_DECISION_KEPT", "GATE_OPENED")).toBe("open");
  });

  it("an expiry does what the gate says", () => {
    expect(stateAfter("GATE_OPENED", event("GATE_EXPIRED", { action: "deny" }))).toBe("expired");
    expect(stateAfter("GATE_OPENED", event("GATE_EXPIRED", { action: "allow" }))).toBe("approved");
    expect(stateAfter("GATE_OPENED", "GATE_ESCALATED")).toBe("open");
    expect(stateAfter("GATE_OPENED", "GATE_SUSPENDED")).toBe("suspended");
  });

  it("a new version keeps the gate open, and opens a suspended one", () => {
    expect(stateAfter("GATE_OPENED", "GATE_REVISED")).toBe("open");
    expect(stateAfter("GATE_OPENED", "GATE_SUSPENDED", "GATE_REVISED")).toBe("open");
  });

  it("the end of its step voids each undecided gate, and the end of the workflow those never opened", () => {
    for (const end of ["STEP_FAILED", "STEP_SKIPPED"]) {
      expect([stateAfter("GATE_OPENED", end), stateAfter("GATE_OPENED", "GATE_SUSPENDED", end)]).toEqual([
        "voided",
        "voided",
      ]);
      expect(stateAfter("GATE_OPENED", "USER_APPROVED", end)).toBe("approved");
    }
    for (const end of ["WORKFLOW_CANCELLED", "WORKFLOW_FAILED"]) expect(stateAfter(end)).toBe("voided");
  });
});
