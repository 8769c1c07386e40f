/**
 * The step kind `sleep`: a step that waits for a time. It parks with its due time in the ledger's index, and its
 * workflow rests meanwhile if nothing else of it goes on.
 *
 * 1.  The due time is fixed when the step begins. A clock that jumps beyond it ends the wait once.
 */
import { draft } from "../../../../contract/event.ts";
import { instantText } from "../../../../contract/instant.ts";
import { SleepParams } from "../../../../contract/step-kinds.ts";
import { type Run, stepOf } from "../run/run.ts";
import type { StepKindRow } from "./kinds.ts";
import { quietStep, readQuietParams, succeedQuietly } from "./quiet-step.ts";
import { phaseOf } from "./read-phase.ts";
import { resumeParked } from "./resume-parked.ts";

/** The row of the kind `sleep`. */
export const sleepStep: StepKindRow = {
  ...quietStep,
  resume(run, stepId) {
    switch (phaseOf(run, stepOf(run, stepId))) {
      case "judging":
        return run.log.note(draft("STEP_PARKED", { source: "time", due_at: wakingTime(run, stepId) }, stepId));
      case "waking":
        return resumeParked(run, stepId, { by: "time" });
      default:
        return succeedQuietly(run, stepId, null);
    }
  },
};

/** Returns when the sleep of a step that begins now is over. @throws KernelErrorException as `readQuietParams`. */
function wakingTime(run: Run, stepId: string): string {
  const { ms = 0, until } = readQuietParams(run, stepId, SleepParams);
  return instantText(until === undefined ? run.now + ms : Date.parse(until));
}
