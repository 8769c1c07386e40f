/**
 * The step kind `fail`: a step by which a plan ends its workflow as failed, with a code and a message of its author's.
 */
import { kernelError } from "../../../../contract/error-codes.ts";
import { FailParams } from "../../../../contract/step-kinds.ts";
import { failStep } from "../run/end-step.ts";
import { oodaRef } from "../run/run.ts";
import type { StepKindRow } from "./kinds.ts";
import { quietStep, readQuietParams } from "./quiet-step.ts";

/** The row of the kind `fail`. */
export const failingStep: StepKindRow = {
  ...quietStep,
  resume(run, stepId) {
    const { code, message } = readQuietParams(run, stepId, FailParams);
    failStep(run, stepId, kernelError("T4_PLAN_FAILED", message, oodaRef("run_step"), { detail: { code } }));
  },
};
