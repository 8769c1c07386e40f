/** The builder of steps that ask people, and its types. */
import type { z } from "zod";
import type { Condition } from "../contract/condition.ts";
import type { GateSpec } from "../contract/gate-spec.ts";
import type { MarkedText } from "../contract/reference.ts";
import type { SchemaOutput, StandardSchema } from "../contract/standard-schema.ts";
import type { AskStepDraft, OnReject } from "../contract/step-kinds.ts";
import type { CommonDraft, OutputRef } from "./quiet-steps.ts";

/** A step that asks people, as its author writes it. The answer has the type of the form. */
export interface AskDraft<F extends StandardSchema, W = Condition | undefined, J = OnReject | undefined>
  extends Omit<CommonDraft, "when"> {
  /** The question in words; it may refer to outputs of earlier steps. The name of the step by default. */
  readonly question?: string | MarkedText;
  /** The data that people are shown beside the question; results of earlier steps stand there as references. */
  readonly show?: Readonly<Record<string, unknown>>;
  /** The schema of the answer, an object. It becomes the form that people fill in. */
  readonly form: F;
  /** The gate: who answers, how many of them, in what time, and what follows if nobody does. */
  readonly gate?: z.input<typeof GateSpec>;
  /** The answer that stands if nobody gives one in time; it needs a gate whose expiry has the action `allow`. */
  readonly otherwise?: SchemaOutput<F>;
  /**
   * The condition under which the step is taken. If it does not hold, the step is skipped, and those after it go on.
   */
  readonly when?: W;
  /**
   * The consequence if the question is rejected, or not answered in time: `end` (the default) cancels the workflow,
   * `continue` skips the step and lets the plan go on with the comment as its output, `replan` asks for another plan.
   */
  readonly on_reject?: J;
}

/**
 * A step that asks people, in a plan. `output` refers to their answer; with a condition, or with
 * `on_reject: "continue"`, it may give nothing.
 */
export type AskStep<O, W, J> = AskStepDraft & { readonly output: OutputRef<O, W, J> };

/** Builds a step that asks people for an answer of a stated form, and gives the answer. */
export type AskBuilder = <
  F extends StandardSchema,
  W extends Condition | undefined = undefined,
  const J extends OnReject | undefined = undefined,
>(
  draft: AskDraft<F, W, J>,
) => AskStep<SchemaOutput<F>, W, J>;
