/**
 * The step kind `ask`: a step that asks people for an answer, at one gate, and gives what they answer.
 *
 * 1.  The answer is in the event that closes the gate. Here it is screened, as what an operator gives is (INV-04).
 * 2.  A question that is made again, because what it shows has changed, is asked again; earlier votes are void.
 */
import { raise } from "../../../../contract/error.ts";
import { gateIdOf, isOpenGate } from "../../../../contract/gate.ts";
import type { Json } from "../../../../contract/json.ts";
import { AskParams } from "../../../../contract/step-kinds.ts";
import { noteScreening } from "../call/end-call.ts";
import { describeQuestion, noteRevised, notifyGate, openGate } from "../gate/open-gate.ts";
import { gateDenied } from "../run/end-step.ts";
import { toHost } from "../run/intention.ts";
import { ask, parked, type Run, stepOf } from "../run/run.ts";
import type { StepKindRow } from "./kinds.ts";
import { quietStep, readQuietParams, succeedQuietly } from "./quiet-step.ts";
import { phaseOf } from "./read-phase.ts";

/** The row of the kind `ask`. */
export const askStep: StepKindRow = {
  ...quietStep,
  resume(run, stepId) {
    return phaseOf(run, stepOf(run, stepId)) === "finishing" ? finish(run, stepId) : askPeople(run, stepId);
  },
};

/** Opens the gate of the question, or opens it again. @throws parked; KernelErrorException as `readQuietParams`. */
function askPeople(run: Run, stepId: string): never {
  const { step } = stepOf(run, stepId);
  const standing = run.log.record.gates.get(gateIdOf(stepId));
  if (standing?.status === "rejected" || standing?.status === "expired") raise(gateDenied(standing));
  const gate = describeQuestion(run, step, readQuietParams(run, stepId, AskParams));
  if (standing === undefined || isOpenGate(standing)) openGate(run, gate);
  else noteRevised(run, "regenerate", gate);
  notifyGate(run, stepId, gate.reasons);
  throw parked;
}

function finish(run: Run, stepId: string): void {
  const { decision, payload } = run.log.record.gates.get(gateIdOf(stepId)) ?? {};
  const answer = decision?.answer ?? (payload as unknown as AskParams).otherwise ?? null;
  run.mark?.("security.validate_output", { step_id: stepId });
  const screened = ask(run, "screen", toHost("screen", { result: answer as Json }));
  noteScreening(run, stepId, screened);
  succeedQuietly(run, stepId, screened.result);
}
