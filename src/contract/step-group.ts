/**
 * The steps that a step of the plan adds while it runs: one for each item of its list, or one for each round.
 *
 * Owns: their counts, and what follows from these alone. Never: begins or ends a step.
 * 1.  At most as many of them have begun and not ended as the step allows, and none begins once more have failed than
 *     it tolerates.
 */
import type { Json } from "./json.ts";
import type { PlanStep, StepTemplate } from "./plan.ts";
import type { StepState } from "./step.ts";

/** The kinds of steps that a step of the plan may add. */
export type AddedAs = "item" | "round";

/** The origin of a step that another one added. */
export interface Added {
  /** The step of the plan that added it. */
  readonly of: string;
  readonly as: AddedAs;
  /** Its place among the added steps, from 0. */
  readonly index: number;
  /** The key of the item, unique in its list; of a round its number. */
  readonly key: string;
  /** The item itself; null for a round. */
  readonly value: Json;
}

/** The steps that one step of the plan has added, counted by their states. */
export interface StepGroup {
  readonly of: string;
  readonly as: AddedAs;
  /** Key → step id, in the order of the items or rounds. */
  readonly ids: Map<string, string>;
  readonly counts: Record<StepState, number>;
  /** The number of those that were skipped by their own condition. */
  left_out: number;
  /** The number of rounds that were on record when this run of the step began. */
  before: number;
}

/** Returns the template of the steps that a step of the plan adds; undefined if it adds none. */
export const templateOf = ({ each, repeat }: Pick<PlanStep, "each" | "repeat">): StepTemplate | undefined =>
  each?.do ?? repeat?.do;

type Growing = Pick<PlanStep, "step_id" | "each" | "repeat">;
type Templated<S extends Growing> = Omit<S, keyof Growing> & Pick<S, "step_id">;

/** Returns the steps of a plan with the templates of those that add steps, as `pay:*`: all that the plan may call. */
export const withTemplates = <S extends Growing & Partial<StepTemplate>>(steps: readonly S[]) =>
  steps.some((step) => templateOf(step) !== undefined)
    ? steps.flatMap((step): readonly Templated<S>[] => {
        const template = templateOf(step);
        return template === undefined ? [step] : [step, { ...step, ...template, step_id: `${step.step_id}:*` }];
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

/** Returns how many more of the added steps may begin. */
export const roomIn = (group: StepGroup, of: PlanStep): number =>
  isStopped(group, of) ? 0 : (of.each?.concurrency ?? 1) - group.counts.running;
