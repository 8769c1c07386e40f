import { describe, expect, it } from "vitest";
import { workflowMachine } from "../../machines/workflow.ts";
import { accepts, begin, event, eventsOf, pathOf, send, walk } from "./interpreter.ts";

const acceptedIn = (path: readonly string[]): readonly string[] => {
  const snapshot = walk(
    workflowMachine,
    path.map((type) => event(type)),
  );
  return eventsOf(workflowMachine)
    .filter((type) => accepts(workflowMachine, snapshot, event(type)))
    .sort();
};

const added = ["cancelling", "compensating", "waiting"];
const toRunning = ["PLAN_CREATED", "WORKFLOW_STARTED"];

describe("the workflow lifecycle", () => {
  it("[CARD-04] has the seven states of the requirement, and three more", () => {
    expect(Object.keys(workflowMachine.states).filter((state) => !added.includes(state))).toEqual([
      "accepted",
      "planned",
      "running",
      "waiting_for_user",
      "completed",
      "failed",
      "cancelled",
    ]);
    expect(Object.keys(workflowMachine.states)).toEqual(expect.arrayContaining(added));
    expect(Object.values(workflowMachine.states).every((state) => Object.keys(state.states).length === 0)).toBe(true);
  });

  it("[CARD-04] goes the main path with one gate in order", () => {
    const path = [
      "PLAN_CREATED",
      "WORKFLOW_STARTED",
      "WORKFLOW_WAITING",
      "USER_APPROVED",
      "WORKFLOW_RESUMED",
      "WORKFLOW_COMPLETED",
    ];
    const visited = [begin(workflowMachine)];
    for (const type of path) visited.push(send(workflowMachine, visited.at(-1)!, event(type)));
    const values = visited.map((snapshot) => pathOf(snapshot.value)).filter((value, i, all) => value !== all[i - 1]);
    expect(values).toEqual(["accepted", "planned", "running", "waiting_for_user", "running", "completed"]);
  });

  it("[CARD-04] completed and cancelled are final but for a rollback that a person orders, which cancels", () => {
    const rollback = "WORKFLOW_ROLLING_BACK";
    for (const end of [
      [...toRunning, "WORKFLOW_COMPLETED"],
      ["WORKFLOW_CANCELLED"],
      ["WORKFLOW_FAILED", rollback, "WORKFLOW_CANCELLED"],
    ])
      expect(acceptedIn(end)).toEqual([rollback]);
  });

  it("[CARD-04] a failed workflow accepts its restart and its rollback, and nothing else", () => {
    expect(acceptedIn(["WORKFLOW_FAILED"])).toEqual(["WORKFLOW_RESTARTED", "WORKFLOW_ROLLING_BACK"]);
    const restarted = walk(
      workflowMachine,
      [...toRunning, "WORKFLOW_FAILED", "WORKFLOW_RESTARTED"].map((type) => event(type)),
    );
    expect(pathOf(restarted.value)).toBe("running");
  });

  it("fails and can be cancelled from every state that is not at rest", () => {
    for (const path of [[], ["PLAN_CREATED"], toRunning, [...toRunning, "WORKFLOW_WAITING"]]) {
      expect(acceptedIn(path)).toEqual(expect.arrayContaining(["WORKFLOW_CANCELLED", "WORKFLOW_FAILED"]));
    }
  });

  it("waiting for a person ends with a person's turn, a cancel, a failure or an expiry, never by finishing", () => {
    expect(acceptedIn([...toRunning, "WORKFLOW_WAITING"])).toEqual([
      "GATE_EXPIRED",
      "USER_APPROVED",
      "USER_REJECTED",
      "WORKFLOW_CANCELLED",
      "WORKFLOW_CANCELLING",
      "WORKFLOW_COMPENSATING",
      "WORKFLOW_FAILED",
      "WORKFLOW_RESUMED",
    ]);
  });

  it("a workflow that is being cancelled takes a person's word on a call in doubt, and ends as cancelled alone", () => {
    for (const path of [toRunning, [...toRunning, "WORKFLOW_WAITING"]])
      expect(acceptedIn([...path, "WORKFLOW_CANCELLING"])).toEqual([
        "USER_APPROVED",
        "USER_REJECTED",
        "WORKFLOW_CANCELLED",
        "WORKFLOW_CANCELLING",
        "WORKFLOW_COMPENSATING",
      ]);
  });

  it("a workflow that undoes what it has done waits or ends, and goes on undoing after a wait", () => {
    const undoing = [...toRunning, "WORKFLOW_COMPENSATING"];
    expect(acceptedIn(undoing)).toEqual(["WORKFLOW_CANCELLED", "WORKFLOW_FAILED", "WORKFLOW_WAITING"]);
    const events = [...undoing, "WORKFLOW_WAITING"].map((type) => event(type));
    const resumed = walk(workflowMachine, [...events, event("WORKFLOW_RESUMED", { compensating: true })]);
    expect(pathOf(resumed.value)).toBe("compensating");
  });

  it("a replan while running keeps the state", () => {
    expect(
      pathOf(
        walk(
          workflowMachine,
          [...toRunning, "PLAN_CREATED"].map((type) => event(type)),
        ).value,
      ),
    ).toBe("running");
  });
});
