/** After the budget refused a step, nothing more starts: not even what a person lets go on. */
import { describe, expect, it } from "vitest";
import type { StepResult } from "../../src/contract/step.ts";
import { DagExecutor, parked } from "../../src/standalone/dag-executor.ts";
import { letRun } from "../../src/testing/let-run.ts";

const done: StepResult = { data: null, output_text: "", status: "COMPLETED" };

describe("a parked step that is resumed after a refusal", () => {
  it("[DAG-07] is not started again, and ends as cancelled", async () => {
    const started: string[] = [];
    let end: (result: StepResult) => void = () => undefined;
    const slow = new Promise<StepResult>((resolve) => {
      end = resolve;
    });
    const dag = new DagExecutor({
      steps: [
        { step_id: "asks", depends_on: [] },
        { step_id: "slow", depends_on: [] },
        { step_id: "dear", depends_on: [] },
      ],
      executeFn: ({ step_id }) => {
        started.push(step_id);
        return step_id === "asks" ? parked : slow;
      },
      budgetCheckFn: ({ step_id }) => step_id !== "dear",
    });
    const ended = dag.run();
    await letRun();
    dag.resume("asks");
    await letRun();
    end(done);
    expect(await ended).toMatchObject({ completed: ["slow"], cancelled: ["asks", "dear"], waiting: [] });
    expect(started).toEqual(["asks", "slow"]);
  });
});
