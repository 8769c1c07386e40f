import { describe, expect, it } from "vitest";
import { actionMachine } from "../../machines/action.ts";
import { event, eventsOf, type ProbeEvent, pathOf, walk } from "./interpreter.ts";

const stateAfter = (...events: readonly (string | ProbeEvent)[]): string =>
  pathOf(
    walk(
      actionMachine,
      events.map((probe) => (typeof probe === "string" ? event(probe) : probe)),
    ).value,
  );

describe("the record of an idempotency key", () => {
  it("a failure is final, may be retried, or leaves the key running while the call may still take effect", () => {
    expect(stateAfter("ACTION_STARTED", event("ACTION_FAILED", { final: true }))).toBe("failed_final");
    expect(stateAfter("ACTION_STARTED", event("ACTION_FAILED"))).toBe("failed_retryable");
    expect(stateAfter("ACTION_STARTED", event("ACTION_FAILED", { pending: true, final: true }))).toBe("running");
  });

  it("only a restart of the workflow, or a call of a new plan, leaves a final failure", () => {
    const failed = ["ACTION_STARTED", event("ACTION_FAILED", { final: true })] as const;
    const leaving = ["WORKFLOW_RESTARTED", "ACTION_STARTED"];
    for (const type of eventsOf(actionMachine).filter((name) => !leaving.includes(name)))
      expect(stateAfter(...failed, type)).toBe("failed_final");
    expect(stateAfter(...failed, "WORKFLOW_RESTARTED", "ACTION_STARTED")).toBe("running");
    expect(stateAfter(...failed, "ACTION_STARTED")).toBe("running");
  });

  it("a doubt is settled as done, retry or failed", () => {
    const settled = (resolution: ProbeEvent["resolution"]) =>
      stateAfter("ACTION_STARTED", "ACTION_IN_DOUBT", event("ACTION_SETTLED", { resolution }));
    expect([settled("done"), settled("retry"), settled("failed")]).toEqual([
      "succeeded",
      "failed_retryable",
      "failed_final",
    ]);
    expect(stateAfter("ACTION_STARTED", "ACTION_IN_DOUBT", "ACTION_STARTED")).toBe("in_doubt");
  });

  it("a late success counts, and stands for ever", () => {
    expect(stateAfter("ACTION_STARTED", event("ACTION_FAILED", { pending: true }), "ACTION_SUCCEEDED")).toBe(
      "succeeded",
    );
    for (const type of eventsOf(actionMachine))
      expect(stateAfter("ACTION_STARTED", "ACTION_SUCCEEDED", type)).toBe("succeeded");
  });
});
