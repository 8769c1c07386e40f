/**
 * The steps that are added to a plan while it runs: one for each item of a list, one for each round, one for each call
 * that undoes a step, and one for each question about an undo that did not succeed.
 *
 * Owns: their counts, and what follows from these alone. Never: begins or ends a step.
 * 1.  At most as many of them have begun and not ended as the step allows, and none begins once more have failed than
 *     it tolerates.
 */
import { z } from "zod";
import type { Json } from "./json.ts";
import type { PlanStep, StepTemplate } from "./plan.ts";
import type { StepState } from "./step.ts";

/** The kinds of steps that are added for a step: its items or rounds, what undoes it, or a question about its undo. */
export type AddedAs = "item" | "round" | "undo" | "question";

/** The origin of a step that another one added. */
export interface Added {
  /** The step that it was added for. */
  readonly of: string;
  readonly as: AddedAs;
  /** Its place among the added steps, from 0. */
  readonly index: number;
  /** The key of the item, unique in its list; of any other its number. */
  readonly key: string;
  /** The item itself; of a question the error of the undo; null for any other. */
  readonly value: Json;
}

/** The steps that were added for one step, counted by their states. */
export interface StepGroup {
  readonly of: string;
  readonly as: AddedAs;
  /** Whether they undo what the step has done, or ask about that: then they begin after it has ended. */
  readonly undoes: boolean;
  /** Key → step id, in the order in which they were added. */
  readonly ids: Map<string, string>;
  readonly counts: Record<StepState, number>;
  /** The number of those that were skipped by their own condition. */
  left_out: number;
  /** The number of rounds that were on record when this run of the step began. */
  before: number;
}

/** The items or rounds of a step, counted. Those that have not begun are the rest of `total`. */
export const ItemCounts = z.object({
  /** The items of the list, or the rounds that were made. */
  total: z.int().nonnegative(),
  /** Those that succeeded, or were left out by their own condition. */
  done: z.int().nonnegative(),
  /** Those that failed. */
  failed: z.int().nonnegative(),
  /** Those that have begun and not ended. */
  running: z.int().nonnegative(),
});
export interface ItemCounts extends z.infer<typeof ItemCounts> {}

/** Returns the counts of the items or rounds of a step. */
export const countItems = ({ ids, counts, left_out }: StepGroup): ItemCounts => ({
  total: ids.size,
  done: counts.succeeded + left_out,
  failed: counts.failed,
  running: counts.running,
});

/** Returns the template of the steps that a step of the plan adds; undefined if it adds none. */
export const templateOf = ({ each, repeat }: Pick<PlanStep, "each" | "repeat">): StepTemplate | undefined =>
  each?.do ?? repeat?.do;

type Growing = Pick<PlanStep, "step_id" | "each" | "repeat">;
type Templated<S extends Growing> = Omit<S, keyof Growing> & Pick<S, "step_id">;

/**
 * Returns the steps of a plan with the templates of those that add steps, as `pay:*`, and the calls that undo steps, as
 * `undo:pay`: all that the plan may call.
 */
export const withTemplates = <S extends Growing & Partial<StepTemplate>>(steps: readonly S[]) =>
  steps.some((step) => templateOf(step) !== undefined || step.undo !== undefined)
    ? steps.flatMap((step): readonly Templated<S>[] => {
        const template = templateOf(step);
        const own = template === undefined ? [step] : [step, { ...step, ...template, step_id: `${step.step_id}:*` }];
        return own.flatMap(({ undo, ...one }) => [
          { ...one, undo },
          ...(undo === undefined ? [] : [{ ...one, ...undo, step_id: `undo:${one.step_id}` }]),
        ]) as unknown as readonly Templated<S>[];
      })
    : (steps as readonly Templated<S>[]);

/** Returns how many items of a list may fail. */
export function toleratedOf({ each }: Pick<PlanStep, "each">, total: number): number {
  const tolerate = each?.tolerate ?? 0;
  if (typeof tolerate === "number") return tolerate;
  return tolerate === "all" ? total : Math.floor((total * Number.parseInt(tolerate, 10)) / 100);
}

/** Returns whether more of the added steps have failed than their step tolerates, so that none begins any more. */
export const isStopped = ({ counts, ids }: StepGroup, of: PlanStep): boolean =>
  counts.failed > toleratedOf(of, ids.size);

/** Returns whether no added step has begun and not ended, and none is left that may begin. */
export const isGroupOver = (group: StepGroup, of: PlanStep): boolean =>
  group.counts.running === 0 && (group.counts.queued === 0 || isStopped(group, of));

/** Returns how many more of the added steps may begin, beside those that run. */
export function roomIn(group: StepGroup, of: { readonly step: PlanStep; readonly state: StepState }): number {
  if (group.undoes) return 1 - group.counts.running;
  if (of.state !== "running" || isStopped(group, of.step)) return 0;
  return (of.step.each?.concurrency ?? 1) - group.counts.running;
}
