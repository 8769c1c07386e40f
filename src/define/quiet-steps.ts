/** Builders of the steps that call no operator, as a plan function is given them beside `step`. */
import type { Condition } from "../contract/condition.ts";
import type { AnyStepDraft, PlanStepDraft } from "../contract/plan.ts";
import { type MarkedText, outputOf, type Ref, type Reference, writeReferences } from "../contract/reference.ts";

/** A step that others may wait for, built or plain, also one of an earlier round. */
export type AnyStep = Pick<PlanStepDraft, "step_id">;

/** A step that another waits for however it ends. */
export interface SettledStep extends AnyStep {
  readonly settled: true;
}

/** Has a step wait for the end of another, also if that fails: `depends_on: [settled(pay)]`. */
export const settled = ({ step_id }: AnyStep): SettledStep => ({ step_id, settled: true });

/** The members that steps of all kinds have in common. */
export interface CommonDraft {
  /** Unique in the plan; later steps refer to it. */
  readonly step_id: string;
  /** A name for people. */
  readonly name: string;
  /** The steps that come before this one, beside those that it refers to; `settled(step)` for any end of one. */
  readonly depends_on?: readonly (AnyStep | SettledStep)[];
  /**
   * The condition under which the step is taken. If it does not hold, the step is skipped, and those after it go on.
   */
  readonly when?: Condition;
  /** The weight of the step in the progress; 1 by default. */
  readonly weight?: number;
  /** The rank among steps that could begin: 0 to 255, the highest first. */
  readonly priority?: number;
}

/** A step that calls no operator, in a plan. `output` refers to what it gives. */
export type QuietStep<O> = Exclude<AnyStepDraft, PlanStepDraft> & { readonly output: Ref<O> };

/** A step that sleeps, as its author writes it: for `ms`, or until an ISO instant. */
export type SleepDraft = CommonDraft &
  (
    | { readonly ms: number | Reference<number>; readonly until?: never }
    | { readonly until: string | Reference<string>; readonly ms?: never }
  );

/** Builds a step that waits for a time, over restarts and for years if need be. */
export type SleepBuilder = (draft: SleepDraft) => QuietStep<null>;

/** A step that ends the workflow as failed, as its author writes it. */
export interface FailDraft extends CommonDraft {
  /** A code of the author's, such as `ORDER_REFUSED`. */
  readonly code: string;
  /** The reason for people; it may refer to outputs of earlier steps. */
  readonly message: string | MarkedText;
}

/** Builds a step that ends the workflow as failed: nothing more begins, and no other plan is made. */
export type FailBuilder = (draft: FailDraft) => QuietStep<never>;

/** The builders of steps that call no operator. */
export interface QuietBuilders {
  readonly sleep: SleepBuilder;
  readonly fail: FailBuilder;
}

export const quietBuilders: QuietBuilders = {
  sleep: ({ ms, until, ...common }) =>
    finishStep({ ...common, kind: "sleep", params: ms === undefined ? { until } : { ms } }),
  fail: ({ code, message, ...common }) => finishStep({ ...common, kind: "fail", params: { code, message } }),
};

interface Written extends CommonDraft {
  readonly params: unknown;
  readonly kind?: string;
  readonly applies?: string;
}

/** Finishes a step: its references are written, its dependencies named by id, and its output can be referred to. */
export function finishStep<S>(draft: Written, mayLack: (at: string) => boolean = () => false): S {
  const { step_id, params, depends_on = [], when } = draft;
  const named = new Map<string, string | SettledStep>(
    depends_on.map((one) => [one.step_id, "settled" in one ? one : one.step_id]),
  );
  const refersTo = (id: string): void => {
    if (!named.has(id)) named.set(id, id);
  };
  const plain = {
    ...draft,
    params: writeReferences(params, refersTo, mayLack),
    ...(when !== undefined && { when: writeReferences(when, refersTo) }),
    depends_on: [...named.values()],
  };
  return Object.defineProperty(plain, "output", { get: () => outputOf(step_id) }) as unknown as S;
}
