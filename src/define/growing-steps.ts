/**
 * Builders of the steps that add steps while they run: `each` for the items of a list, `repeat` for rounds; and the
 * templates of what they do, which `call` and `run` make.
 */
import type { Condition } from "../contract/condition.ts";
import type { AnyStepDraft, ChildTemplateDraft, StepTemplateDraft, Tolerate } from "../contract/plan.ts";
import { outputOf, type Ref, type Reference, writeReferences } from "../contract/reference.ts";
import { finishStep } from "./finish-step.ts";
import type { CommonDraft } from "./quiet-steps.ts";

declare const given: unique symbol;

/**
 * A call or a child without an id, built by `call` or `run`, for each item or each round of a step. `O` is the type of
 * its result.
 */
export type CallTemplate<O> = (StepTemplateDraft | ChildTemplateDraft) & { readonly [given]?: O };

/** The result of one item: its output, its error, or neither if its own condition left it out. */
export interface ItemResult<O> {
  /** The key of the item. */
  readonly key: string;
  /** The output of an item that succeeded. */
  readonly output?: O;
  /** The error of an item that failed. */
  readonly error?: { readonly code: string; readonly message: string };
  /** The item was left out by its own condition. */
  readonly skipped?: true;
}

/** The output of a step that goes through a list. */
export interface EachOutput<O> {
  /** The number of items. */
  readonly total: number;
  /** The number of items that succeeded. */
  readonly succeeded: number;
  /** The number of items that failed. */
  readonly failed: number;
  /** `in_items` if the outputs are too long for one result: then `results` holds the failures alone. */
  readonly outputs?: "in_items";
  /** The results in the order of the list. */
  readonly results: readonly ItemResult<O>[];
}

/** A step that does one call, or runs one child, for each item of a list, as its author writes it. */
export interface EachDraft<I, O> extends CommonDraft {
  /** The list: a reference to the output of an earlier step, or data. */
  readonly items: Reference<readonly I[]> | readonly I[];
  /**
   * The call that is made, or the child that is run, for an item; references to the item stand in the params like those
   * to outputs.
   */
  readonly do: (item: Ref<I>) => CallTemplate<O>;
  /** The name of an item, unique in the list; its index by default. A retry and the idempotency key rest on it. */
  readonly key?: (item: Ref<I>) => Reference<string> | Reference<number>;
  /** The number of items that may have begun and not ended at once; `limits.maxConcurrentSteps` by default. */
  readonly concurrency?: number;
  /**
   * The number of items that may fail before no further one begins and the step fails: a number, a part of the list
   * such as `"10%"`, or `"all"`; 0 by default.
   */
  readonly tolerate?: Tolerate;
}

/** A step that makes a call, or runs a child, again and again until a condition holds, as its author writes it. */
export interface RepeatDraft<O> extends CommonDraft {
  /**
   * The call that is made, or the child that is run, in a round. `last` refers to the output of the round before, and
   * needs a default for the first: `ref(last["page"], { or: 1 })`.
   */
  readonly do: (last: Reference<undefined> & Readonly<Record<string, Reference<undefined>>>) => CallTemplate<O>;
  /** The condition that ends it, about the round that has just succeeded. */
  readonly until: (round: Ref<O>) => Condition;
  /** The largest number of rounds: 1 to 1,000. A step that needs more fails. */
  readonly max: number;
  /** The pause between two rounds, in ms; none by default. */
  readonly every_ms?: number;
}

/** A step that adds steps, in a plan. `output` refers to what it gives. */
export type GrowingStep<O> = Extract<AnyStepDraft, { readonly kind: "each" | "repeat" }> & { readonly output: Ref<O> };

/** Builds a step that does one call, or runs one child, for each item of a list. */
export type EachBuilder = <I, O>(draft: EachDraft<I, O>) => GrowingStep<EachOutput<O>>;

/** Builds a step that makes a call, or runs a child, again and again until a condition holds. */
export type RepeatBuilder = <O>(draft: RepeatDraft<O>) => GrowingStep<O>;

/** The builders of steps that add steps. */
export interface GrowingBuilders {
  readonly each: EachBuilder;
  readonly repeat: RepeatBuilder;
}

type RefersTo = (id: string) => void;

/** Finishes the undo of a template, once the id of the step that makes its calls is known. */
type FinishUndo = (stepId: string, refersTo: RefersTo) => object;

/** The steps that a template refers to, and its undo. They are no members that a plan would store. */
const besides = new WeakMap<object, { readonly named: ReadonlySet<string>; readonly undoOf: FinishUndo | null }>();

/** Finishes a template: its references are written, and the steps that they refer to are kept beside it. */
export function finishTemplate<O>(
  { params, when, ...draft }: StepTemplateDraft | ChildTemplateDraft,
  { mayLack, undoOf }: { readonly mayLack: (at: string) => boolean; readonly undoOf: FinishUndo | null },
): CallTemplate<O> {
  const named = new Set<string>();
  const template = {
    ...draft,
    params: writeReferences(params, (id) => named.add(id), mayLack),
    ...(when !== undefined && { when: writeReferences(when, (id) => named.add(id)) }),
  } as CallTemplate<O>;
  besides.set(template, { named, undoOf });
  return template;
}

/** Returns a template with its undo, and all steps that the two refer to. */
function completeTemplate<O>(template: CallTemplate<O>, stepId: string) {
  const { named = [], undoOf = null } = besides.get(template) ?? {};
  const all = new Set(named);
  const undo = undoOf?.(stepId, (id) => all.add(id));
  return { made: undo === undefined ? template : { ...template, undo }, all };
}

/** Adds the steps that a template and a condition refer to, but for those that stand for an item or a round. */
function dependOn({ depends_on = [] }: CommonDraft, named: Iterable<string>, own: string) {
  const before = new Set(depends_on.map(({ step_id }) => step_id));
  const more = [...named].filter((id) => id !== own && !before.has(id));
  return [...depends_on, ...more.map((step_id) => ({ step_id }))];
}

/** The builders of steps that add steps, which a plan function is given. */
export const growingBuilders: GrowingBuilders = {
  each: ({ items, do: make, key, concurrency, tolerate, ...common }) => {
    const item = outputOf<never>("item") as Ref<never>;
    const { made, all } = completeTemplate(make(item), common.step_id);
    return finishStep({
      ...common,
      depends_on: dependOn(common, all, "item"),
      kind: "each",
      params: { items },
      do: made,
      ...(key !== undefined && { key: String(key(item)) }),
      ...(concurrency !== undefined && { concurrency }),
      ...(tolerate !== undefined && { tolerate }),
    });
  },
  repeat: ({ do: make, until, max, every_ms, ...common }) => {
    const round = outputOf<never>(common.step_id);
    const { made, all } = completeTemplate(make(round as never), common.step_id);
    const condition = writeReferences(until(round), (id) => all.add(id));
    return finishStep({
      ...common,
      depends_on: dependOn(common, all, common.step_id),
      kind: "repeat",
      params: {},
      do: made,
      until: condition,
      max,
      ...(every_ms !== undefined && { every_ms }),
    });
  },
};
