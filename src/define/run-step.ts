/** The builder of steps that run another capability as a child workflow, with the types of what a child gives. */
import type { z } from "zod";
import type { CapabilityDefinition, OutcomeSchemas } from "../contract/capability.ts";
import type { CallTemplate } from "./growing-steps.ts";
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

/** A child without a step id, as its author writes it, for each item of a list or each round. */
export interface ChildDraft<C extends CapabilityDefinition, D extends boolean = boolean>
  extends Omit<RunDraft<C, D>, "step_id" | "name" | "depends_on" | "weight" | "priority"> {
  /** A name for people; that of the step that runs it by default. */
  readonly name?: string;
  /** Only a step of its own has an id. */
  readonly step_id?: never;
}

/** The result of a step that runs a child: of a detached one its id alone. */
type Given<C extends CapabilityDefinition, D extends boolean> = D extends true
  ? Pick<ChildOutput<C>, "workflow_id">
  : ChildOutput<C>;

/** Builds what runs another capability as a child workflow. */
export interface RunBuilder {
  /** Builds a step that runs a child, and waits for its end. */
  <C extends CapabilityDefinition, const D extends boolean = false>(draft: RunDraft<C, D>): QuietStep<Given<C, D>>;
  /** Builds the child that `each` runs for an item, or `repeat` in a round. */
  <C extends CapabilityDefinition, const D extends boolean = false>(draft: ChildDraft<C, D>): CallTemplate<Given<C, D>>;
}
