/**
 * The kinds of steps: one row a kind, with all that differs between them. A new kind is a new row, and its name in
 * `contract/plan.ts`. How a plan's step of a kind is compiled stands in T3.
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
import { runStep } from "./run-step.ts";
import { sleepStep } from "./sleep-step.ts";
import { waitStep } from "./wait-step.ts";

export interface StepKindRow {
  /** Returns why a step that depends on nothing more may not begin, or null where it may. Nothing else of the plan begins then. */
  readonly ready: (run: Run, step: PlanStep) => KernelError | null;
  /** Notes that the step begins. */
  readonly begin: (run: Run, step: StepRecord) => void;
  /** Takes the running step on from what its record says, by one pass. @throws pending, parked; KernelErrorException ends it. */
  readonly resume: (run: Run, stepId: string) => void;
  /** Says what becomes of the step when its workflow is cancelled. */
  readonly cancel: {
    /** Returns whether the step stays open until its end is known; any other is skipped at once. */
    readonly isOpen: (run: Run, step: StepRecord) => boolean;
    /** Waits for the end of an open step, or asks a person. False where neither can be done, and the step is skipped. */
    readonly findOut: (run: Run, step: StepRecord) => boolean;
  };
}

const kinds: Readonly<Record<StepKind, StepKindRow>> = {
  call: callStep,
  // A direct response is spoken by a call of the built-in operator, so that it is judged, recorded and screened like any other.
  respond: callStep,
  sleep: sleepStep,
  wait: waitStep,
  fail: failingStep,
  run: runStep,
  ask: askStep,
  each: eachStep,
  repeat: repeatStep,
};

/** Returns the row of the step's kind. */
export const kindOf = ({ kind }: Pick<PlanStep, "kind">): StepKindRow => kinds[kind];
