/**
 * The kinds of steps: one row a kind, with all differences between them. A new kind is a new row, and its name in
 * `contract/plan.ts`. T3 compiles a plan's step of each kind.
 */
import type { KernelError } from "../../../../contract/error.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import type { StepKind } from "../../../../contract/step-kinds.ts";
import type { StepRecord } from "../../../../contract/workflow.ts";
import type { Run } from "../run/run.ts";
import { askStep } from "./ask-step.ts";
import { callStep } from "./call-step.ts";
import { eachStep } from "./each-step.ts";
import { failingStep } from "./failing-step.ts";
import { repeatStep } from "./repeat-step.ts";
import { rollbackStep } from "./rollback-step.ts";
import { runStep } from "./run-step.ts";
import { sleepStep } from "./sleep-step.ts";
import { waitStep } from "./wait-step.ts";

export interface StepKindRow {
  /**
   * Returns the reason for which a step without open dependencies may not begin, or null if it may. A reason keeps all
   * further steps of the plan from beginning.
   */
  readonly ready: (run: Run, step: PlanStep) => KernelError | null;
  /** Appends the beginning of the step. */
  readonly begin: (run: Run, step: StepRecord) => void;
  /**
   * Continues the running step by one pass, from its record. @throws pending, parked; a KernelErrorException ends the
   * step.
   */
  readonly resume: (run: Run, stepId: string) => void;
  /** Handles the cancellation of the step's workflow. */
  readonly cancel: {
    /** Returns whether the step stays open until its end is known; any other is skipped at once. */
    readonly isOpen: (run: Run, step: StepRecord) => boolean;
    /**
     * Waits for the end of an open step, or asks a person. Returns false if neither is possible; the step is then
     * skipped.
     */
    readonly findOut: (run: Run, step: StepRecord) => boolean;
  };
}

const kinds: Readonly<Record<StepKind, StepKindRow>> = {
  call: callStep,
  // A direct response is a call of the built-in operator, so that it is judged, recorded and screened like any other
  // call.
  respond: callStep,
  sleep: sleepStep,
  wait: waitStep,
  fail: failingStep,
  run: runStep,
  ask: askStep,
  each: eachStep,
  repeat: repeatStep,
  rollback: rollbackStep,
};

/** Returns the row of the step's kind. */
export const kindOf = ({ kind }: Pick<PlanStep, "kind">): StepKindRow => kinds[kind];
