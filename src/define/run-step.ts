/** The builder of steps that run another capability as a child workflow, with the types of what a child gives. */
import type { z } from "zod";
import type { CapabilityDefinition, OutcomeSchemas } from "../contract/capability.ts";
import type { CommonDraft, QuietStep } from "./quiet-steps.ts";
import type { ParamsOf } from "./step-builder.ts";

/** The content of an outcome that a child may have drafted. */
export type ChildOutcome<Outs extends OutcomeSchemas> = string extends keyof Outs
  ? unknown
  : z.output<Outs[keyof Outs]>;

/** The result of a child that ran this capability: what later steps refer to. */
export interface ChildOutput<C extends CapabilityDefinition> {
  /** The child. */
  readonly workflow_id: string;
  /** Its text for the requester. */
  readonly text: string;
  /** The output of its last step; null if its plan does not end in one step. */
  readonly result: unknown;
  /** The newest content of the outcome that it drafted last; null if it drafted none. */
  readonly outcome: ChildOutcome<C["outcomes"]>;
}

/** A step that runs another capability as a child workflow, as its author writes it. */
export interface RunDraft<C extends CapabilityDefinition, D extends boolean = boolean> extends CommonDraft {
  /** The capability, or its intent type where the definition is not at hand. */
  readonly capability: C | string;
  /** The inputs of the child; results of earlier steps stand there as references. */
  readonly input: ParamsOf<z.input<C["input"]>>;
  /** The child outlives its parent: the step ends once the child is accepted, and gives its id alone. */
  readonly detached?: D;
}

/** Builds a step that runs another capability as a child workflow, and waits for its end. */
export type RunBuilder = <C extends CapabilityDefinition, const D extends boolean = false>(
  draft: RunDraft<C, D>,
) => QuietStep<D extends true ? Pick<ChildOutput<C>, "workflow_id"> : ChildOutput<C>>;
