/**
 * Plans: the proposal of a planner (`ExecutionPlan`) and its compiled form (`Plan`). A planner may leave out everything
 * that the operators' metadata provides.
 */
import { z } from "zod";
import { Condition } from "./condition.ts";
import { GateSpec } from "./gate-spec.ts";
import { IntentId, PlanId, RecordedStepId, StepId, stepIdPattern, WorkflowId } from "./ids.ts";
import { isPlainObject, JsonObject, JsonValue } from "./json.ts";
import { Money } from "./money.ts";
import { Effect, OperatorName, operatorNamePattern } from "./operator.ts";
import { Literals, readReference } from "./reference.ts";
import { RiskLevel } from "./risk-level.ts";
import {
  AskStepDraft,
  FailStepDraft,
  kindNames,
  maxSleepMs,
  OnReject,
  RunStepDraft,
  referable,
  SleepStepDraft,
  stepKinds,
  stepMembers,
} from "./step-kinds.ts";
import { WaitStepDraft } from "./wait-step.ts";

/** The source of the key of a step's action: its inputs, or the outcome version that it applies. */
export const IdempotencyStrategy = z.object({
  strategy: z.enum(["inputs", "applies"]),
  target: StepId.nullable().default(null),
});
export type IdempotencyStrategy = z.infer<typeof IdempotencyStrategy>;

/** The members of a call, of a step or of what undoes one. */
const callMembers = {
  /** The operator that is called. */
  operator: OperatorName,
  /** The version of the operator; the newest registered one by default. */
  operator_version: z.string().optional(),
  /** The params of the call: data, and references such as `{{look.output.card}}`. */
  params: JsonObject.default({}),
  /** The kinds of the results; those of the operator by default. */
  outputs: z.array(z.string()).optional(),
  /** Asks people before the call. */
  gate: GateSpec.optional(),
  /** Tags that policy rules match, in addition to the operator's and the package's. */
  policy_tags: z.array(z.string()).optional(),
  /** The risk level; that of the operator by default. */
  risk_level: RiskLevel.optional(),
  /** The estimated cost; that of the operator by default. */
  estimated_cost: Money.optional(),
} as const;

/**
 * The call that undoes what a step has done, if its workflow fails or is cancelled after the step succeeded. In its
 * params the id of the step refers to the output of that step.
 */
export const UndoDraft = z.strictObject({
  /** A name for people; `Undo` and the name of the step by default. */
  name: stepMembers.name.optional(),
  ...callMembers,
});
export interface UndoDraft extends z.input<typeof UndoDraft> {}

/**
 * A step that calls an operator, as a planner writes it. `applies` names the step whose outcome this one makes final.
 */
export const PlanStepDraft = z.strictObject({
  ...stepMembers,
  /** The kind of the step; a call by default. */
  kind: z.literal("call").optional(),
  ...callMembers,
  /** The name of the outcome that it drafts. */
  outcome: z.string().optional(),
  /** The step whose outcome this one makes final. */
  applies: StepId.optional(),
  /** The consequence of a rejection at any gate of the step: `end` (the default), `continue` or `replan`. */
  on_reject: OnReject.optional(),
  /** The call that undoes what the step has done. */
  undo: UndoDraft.optional(),
  /** Whether nothing that was done up to the success of this step is undone any more. */
  pivot: z.boolean().optional(),
});
export interface PlanStepDraft extends z.input<typeof PlanStepDraft> {}

/**
 * The call that a step makes for each item or in each round, as a planner writes it: without an id and dependencies of
 * its own. `name` is that of the step itself by default.
 */
export const StepTemplateDraft = PlanStepDraft.omit({
  step_id: true,
  depends_on: true,
  outcome: true,
  applies: true,
  weight: true,
  priority: true,
  on_reject: true,
  pivot: true,
}).extend({
  /** A name for people; that of the step that makes the call by default. */
  name: stepMembers.name.optional(),
});
export interface StepTemplateDraft extends z.input<typeof StepTemplateDraft> {}

/**
 * The child workflow that a step runs for each item or in each round, as a planner writes it: without an id and
 * dependencies of its own. `name` is that of the step itself by default.
 */
export const ChildTemplateDraft = RunStepDraft.omit({
  step_id: true,
  depends_on: true,
  weight: true,
  priority: true,
}).extend({
  /** A name for people; that of the step that runs the child by default. */
  name: stepMembers.name.optional(),
});
export interface ChildTemplateDraft extends z.input<typeof ChildTemplateDraft> {}

/** The number of items that may fail: a number, a part of the list such as `10%`, or all of them. */
export const Tolerate = z.union([
  z.int().min(0),
  z.string().regex(/^(all|(100|[0-9]{1,2})%)$/, "must be a number of items, a part of the list such as 10%, or all"),
]);
export type Tolerate = number | "all" | `${number}%`;

/** The number of items of one list that may have begun and not ended. */
export const maxItemsAtOnce = 1_000;

const isOfItem = (text: string): boolean => readReference(text)?.stepId === "item";

/**
 * A step that does one call, or runs one child workflow, for each item of a list, which is known only when the step
 * begins. In `do` and `key`, `{{item.output}}` refers to the item.
 */
export const EachStepDraft = z.strictObject({
  ...stepMembers,
  /** The kind of the step: it makes one step of each item. */
  kind: z.literal("each"),
  /** Its list. */
  params: z.strictObject({
    /** The list, or a reference to it. */
    items: referable(z.array(JsonValue), "must be a list"),
  }),
  /**
   * The call that is made, or the child that is run, for each item. An item whose call is rejected ends as failed, or
   * is left out (`continue`).
   */
  do: z.discriminatedUnion("kind", [
    StepTemplateDraft.extend({
      /** The consequence of a rejection of one item: `end` (the default) or `continue`. */
      on_reject: OnReject.extract(["end", "continue"]).optional(),
    }),
    ChildTemplateDraft,
  ]),
  /** A reference to what names an item, such as `{{item.output.id}}`: unique in the list; its index by default. */
  key: z.string().refine(isOfItem, "must be a reference to the item, such as {{item.output.id}}").optional(),
  /** The number of items that may have begun and not ended at once; `limits.maxConcurrentSteps` by default. */
  concurrency: z.int().min(1).max(maxItemsAtOnce).optional(),
  /** The number of items that may fail before no further one begins and the step fails; 0 by default. */
  tolerate: Tolerate.optional(),
});
export interface EachStepDraft extends z.input<typeof EachStepDraft> {}

/** The largest number of rounds of a step that repeats. */
export const maxRepeats = 1_000;

/**
 * A step that makes a call, or runs a child workflow, again and again until a condition holds; its own id refers to its
 * last round.
 */
export const RepeatStepDraft = z.strictObject({
  ...stepMembers,
  /** The kind of the step: it makes one step of each round. */
  kind: z.literal("repeat"),
  /** It has no params of its own. */
  params: z.strictObject({}).default({}),
  /** The call that is made, or the child that is run, in each round. */
  do: z.discriminatedUnion("kind", [StepTemplateDraft, ChildTemplateDraft]),
  /** The condition that ends it, about `{{poll.output}}` of its last round, if `poll` is its own id. */
  until: Condition,
  /** The largest number of rounds: 1 to 1,000. */
  max: z.int().min(1).max(maxRepeats),
  /** The pause between two rounds, in ms. */
  every_ms: z.int().min(0).max(maxSleepMs).optional(),
});
export interface RepeatStepDraft extends z.input<typeof RepeatStepDraft> {}

/** A step of any kind, as a planner writes it; one without a `kind` is a call. */
export const AnyStepDraft = z.discriminatedUnion("kind", [
  PlanStepDraft,
  SleepStepDraft,
  WaitStepDraft,
  FailStepDraft,
  RunStepDraft,
  AskStepDraft,
  EachStepDraft,
  RepeatStepDraft,
]);
export type AnyStepDraft = z.input<typeof AnyStepDraft>;

/** Returns whether a step calls an operator. */
export const isCallDraft = (step: AnyStepDraft): step is PlanStepDraft =>
  step.kind === undefined || step.kind === "call";

/** Returns the name of a step in lists and drawings: its operator, or the name of its kind. */
export const operatorOf = (step: AnyStepDraft): string => (isCallDraft(step) ? step.operator : kindNames[step.kind]);

/**
 * A planner's whole output; an unknown key makes it invalid. Reasoning is required; `direct_response` stands for a plan
 * without tools.
 */
export const ExecutionPlan = z.strictObject({
  /** The steps in any order; `depends_on` determines the order of execution. */
  steps: z.array(AnyStepDraft),
  /** The reason for this plan, which the ledger keeps. */
  reasoning: z.string(),
  /** The answer, in place of steps. */
  direct_response: z.string().nullable().default(null),
  /** Once all of it has succeeded the planner is asked for the next plan, in place of the workflow's end. */
  continues: z.boolean().optional(),
  /** The goals of the plan; they may wait for one another, and not in a circle. */
  goals: z
    .array(
      z.strictObject({
        /** The goal's own name in this plan. */
        goal_id: z.string(),
        /** The goals that come before it. */
        depends_on: z.array(z.string()).default([]),
      }),
    )
    .optional(),
});
export interface ExecutionPlan extends z.input<typeof ExecutionPlan> {}

const planKeys: ReadonlySet<string> = new Set(["steps", "reasoning"]);
const stepKeys: ReadonlySet<string> = new Set(["step_id", "name", "operator", "params", "depends_on"]);

/**
 * Reads plain data as ExecutionPlan does, without the schema, which costs ten times as much: only plans whose steps
 * have no members but their call, parameters and dependencies. Returns null for any other plan, which the schema then
 * reads or refuses.
 */
export function readPlainPlan(plan: unknown): z.output<typeof ExecutionPlan> | null {
  if (!isPlainObject(plan) || !hasOnly(plan, planKeys)) return null;
  const { steps, reasoning } = plan;
  if (typeof reasoning !== "string" || !Array.isArray(steps)) return null;
  const read: z.output<typeof PlanStepDraft>[] = [];
  for (const one of steps) {
    const step = readPlainStep(one);
    if (step === null) return null;
    read.push(step);
  }
  return { steps: read, reasoning, direct_response: null };
}

function readPlainStep(step: unknown): z.output<typeof PlanStepDraft> | null {
  if (!isPlainObject(step) || !hasOnly(step, stepKeys)) return null;
  const { step_id, name, operator, params = {}, depends_on = [] } = step;
  if (!isStepId(step_id) || !isShortText(name) || !isShortText(operator)) return null;
  if (!operatorNamePattern.test(operator) || !isPlainObject(params)) return null;
  if (!Array.isArray(depends_on) || !depends_on.every(isStepId)) return null;
  return { step_id, name, operator, params, depends_on };
}

function hasOnly(object: object, keys: ReadonlySet<string>): boolean {
  for (const key in object) if (!keys.has(key)) return false;
  return true;
}

const isStepId = (value: unknown): value is string => typeof value === "string" && stepIdPattern.test(value);

const isShortText = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= 256;

/** The compiled members that a step has in common with the template of steps. */
const workMembers = {
  kind: z.enum(stepKinds).default("call"),
  name: z.string(),
  operator: z.string(),
  operator_version: z.string(),
  params: JsonObject,
  /** The places in the params whose text only looks like a reference; absent if there are none. */
  literals: Literals.optional(),
  /** The condition under which the step is taken; absent if it is taken in any case. */
  when: Condition.optional(),
  /** The places in the condition whose text is no reference, although it reads like one; absent if there are none. */
  when_literals: Literals.optional(),
  outputs: z.array(z.string()),
  policy_tags: z.array(z.string()),
  risk_level: RiskLevel,
  /** The effect that the operator declared when the plan was compiled; plans of older ledgers lack it. */
  effect: Effect.optional(),
  gate: GateSpec.nullable().default(null),
  /** The consequence of a rejection at a gate of the step; absent if it ends the workflow. */
  on_reject: OnReject.optional(),
  estimated_cost: Money,
} as const;

/** The call that undoes a step. */
export const UndoTemplate = z.object(workMembers);
export type UndoTemplate = z.infer<typeof UndoTemplate>;

/** The template of the steps that a step adds while it runs; all else of them is that step's. */
export const StepTemplate = z.object({
  ...workMembers,
  /** The reason for which policy demands an approval before the first steps of each child; absent if none. */
  approval: z.string().optional(),
  /** The call that undoes a step of this template; absent if nothing does. */
  undo: UndoTemplate.optional(),
});
export type StepTemplate = z.infer<typeof StepTemplate>;

/** The work of a step for each item of its list. */
export const EachSpec = z.object({
  do: StepTemplate,
  /** The reference to the key of an item; absent if its index is its key. */
  key: z.string().optional(),
  concurrency: z.int().positive(),
  tolerate: Tolerate,
});
export type EachSpec = z.infer<typeof EachSpec>;

/** The work of a step in each round, and its end. */
export const RepeatSpec = z.object({
  do: StepTemplate,
  until: Condition,
  /** The places in that condition whose text is no reference, although it reads like one; absent if there are none. */
  until_literals: Literals.optional(),
  max: z.int().positive(),
  every_ms: z.int().nonnegative(),
});
export type RepeatSpec = z.infer<typeof RepeatSpec>;

/** One compiled step, with all defaults filled in. */
export const PlanStep = z.object({
  kind: z.enum(stepKinds).default("call"),
  step_id: RecordedStepId,
  name: z.string(),
  operator: z.string(),
  operator_version: z.string(),
  params: JsonObject,
  /** The places in the params whose text only looks like a reference; absent if there are none. */
  literals: Literals.optional(),
  depends_on: z.array(RecordedStepId),
  /** The steps of `depends_on` that may have ended in any way; absent if all of them must have succeeded. */
  settled: z.array(RecordedStepId).optional(),
  /** The condition under which the step is taken; absent if it is taken in any case. */
  when: Condition.optional(),
  /** The places in the condition whose text is no reference, although it reads like one; absent if there are none. */
  when_literals: Literals.optional(),
  /** The reason for which policy demands an approval before the first steps of the child; absent if none. */
  approval: z.string().optional(),
  outcome: z.string().nullable().default(null),
  applies: StepId.nullable().default(null),
  outputs: z.array(z.string()),
  policy_tags: z.array(z.string()),
  risk_level: RiskLevel,
  /** The effect that the operator declared when the plan was compiled; plans of older ledgers lack it. */
  effect: Effect.optional(),
  gate: GateSpec.nullable().default(null),
  /** The consequence of a rejection at a gate of the step; absent if it ends the workflow. */
  on_reject: OnReject.optional(),
  idempotency: IdempotencyStrategy,
  weight: z.number().positive(),
  estimated_cost: Money,
  priority: z.int().min(0).max(255),
  /** Rises with each regeneration; part of the idempotency key. */
  draft_version: z.int().positive().default(1),
  /** Its work for each item of its list; absent for any other kind. */
  each: EachSpec.optional(),
  /** Its work in each round; absent for any other kind. */
  repeat: RepeatSpec.optional(),
  /** The call that undoes what it has done; absent if nothing does. */
  undo: UndoTemplate.optional(),
  /** Whether its success ends what can be undone of the work before it; absent if it does not. */
  pivot: z.literal(true).optional(),
});
export type PlanStep = z.infer<typeof PlanStep>;

/** A compiled plan, which the workflow runs. */
export const Plan = z.object({
  plan_id: PlanId,
  intent_id: IntentId,
  workflow_id: WorkflowId,
  round: z.int().nonnegative(),
  parent_plan_id: PlanId.nullable(),
  reasoning: z.string(),
  direct_response: z.string().nullable(),
  steps: z.array(PlanStep),
  gates: z.array(z.string()),
  /** Whether another plan follows if this one succeeds; absent if none does. */
  continues: z.literal(true).optional(),
});
export type Plan = z.infer<typeof Plan>;
