/** Builders of the steps that call no operator, as a plan function is given them beside `step`. */
import type { z } from "zod";
import { type CapabilityDefinition, capabilityRef } from "../contract/capability.ts";
import type { Condition } from "../contract/condition.ts";
import type { DeclinedOutput } from "../contract/events/step-events.ts";
import { formOf } from "../contract/form.ts";
import type { Json, JsonObject } from "../contract/json.ts";
import type { AnyStepDraft, PlanStepDraft } from "../contract/plan.ts";
import type { MarkedText, OptionalRef, Ref, Reference } from "../contract/reference.ts";
import type { SchemaInput, StandardSchema } from "../contract/standard-schema.ts";
import { answerFormOf } from "./answer-form-of.ts";
import type { AskBuilder } from "./ask-step.ts";
import { finishStep, type Written } from "./finish-step.ts";
import { finishTemplate } from "./growing-steps.ts";
import type { ChildDraft, RunBuilder, RunDraft } from "./run-step.ts";

/** A step that others may wait for, built or plain, also one of an earlier round. */
export type AnyStep = Pick<PlanStepDraft, "step_id">;

/** A step that another waits for however it ends. */
export interface SettledStep extends AnyStep {
  readonly settled: true;
}

/** Has a step wait for the end of another, also if that fails: `depends_on: [settled(pay)]`. */
export const settled = ({ step_id }: AnyStep): SettledStep => ({ step_id, settled: true });

/** The reference to the result of a step: with a condition, or if it may be declined, it may give nothing. */
export type OutputRef<O, W, J> = [J] extends ["continue"]
  ? OptionalRef<O & Declinable>
  : [W] extends [undefined]
    ? Ref<O>
    : OptionalRef<O>;

/** The member that a step with `on_reject: "continue"` gives in place of its result, if it is rejected at its gate. */
export interface Declinable {
  /** The code of the refusal (`T5_HUMAN_DENIED`, `T5_GATE_EXPIRED`), and the comment of the person. */
  readonly rejected?: DeclinedOutput["rejected"];
}

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

/** A length of time: the sum of its members. */
export interface Duration {
  /** Days of 24 hours. */
  readonly days?: number;
  /** Hours. */
  readonly hours?: number;
  /** Minutes. */
  readonly minutes?: number;
  /** Seconds. */
  readonly seconds?: number;
  /** Milliseconds. */
  readonly ms?: number;
}

/** The end of a step whose event did not arrive in time. */
export type Otherwise = "fail" | "skip" | { readonly value: Json };

/** A step that waits for an event from outside, as its author writes it. */
export interface WaitDraft<S extends StandardSchema, E extends Otherwise | undefined> extends CommonDraft {
  /** The kind of event, such as `contract.signed`. */
  readonly event: string;
  /** The subject of the event, such as the id of a contract; it may refer to the output of an earlier step. */
  readonly key: string | Reference<string> | Reference<number> | MarkedText;
  /**
   * The form of the payload. It must be one that JSON Schema can say, and changes nothing: the step gives the payload
   * as it was sent. An event whose payload has another form is refused, or passed over, and the wait goes on.
   */
  readonly schema?: S;
  /** The time after which the wait is over; by default it has no end. */
  readonly within?: Duration;
  /** The end of the step then: `fail` by default, `skip`, or a value that it gives. */
  readonly otherwise?: E;
  /**
   * Whether the wait has a one-time address, at which a sender without credentials can answer it: `call.waitUrl` of an
   * operator returns it.
   */
  readonly token?: true;
  /** The reminders while the event has not arrived: of a role, every so long, and at most so many times. */
  readonly remind?: { readonly every: Duration; readonly role: string; readonly at_most?: number };
}

/** A step that waits; `output` refers to the payload, or to the value that stands in for it. */
export type WaitStep<S extends StandardSchema, E> = Exclude<AnyStepDraft, PlanStepDraft> & {
  readonly output: [E] extends ["skip"]
    ? OptionalRef<SchemaInput<S>>
    : Ref<SchemaInput<S> | (E extends { readonly value: infer V } ? V : never)>;
};

/** Builds a step that waits for an event from outside, over restarts and for years if need be. */
export type WaitBuilder = <
  S extends StandardSchema = z.ZodType<unknown, unknown>,
  const E extends Otherwise | undefined = undefined,
>(
  draft: WaitDraft<S, E>,
) => WaitStep<S, E>;

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
  readonly run: RunBuilder;
  readonly sleep: SleepBuilder;
  readonly wait: WaitBuilder;
  readonly fail: FailBuilder;
  readonly ask: AskBuilder;
}

/** The builders of steps that call no operator, which a plan function is given. */
export const quietBuilders: QuietBuilders = {
  run: buildRun as RunBuilder,
  sleep: ({ ms, until, ...common }) =>
    finishStep({ ...common, kind: "sleep", params: ms === undefined ? { until } : { ms } }),
  wait: ({ event, key, schema, within, otherwise, token, remind, ...common }) => {
    const params = {
      ...{ event, key },
      ...(schema !== undefined && { schema: formOf(schema) }),
      ...(within !== undefined && { within_ms: msOf(within) }),
      ...(otherwise !== undefined && { otherwise }),
      ...(token !== undefined && { token }),
      ...(remind !== undefined && { remind: remindersOf(remind) }),
    };
    return finishStep({ ...common, kind: "wait", params });
  },
  fail: ({ code, message, ...common }) => finishStep({ ...common, kind: "fail", params: { code, message } }),
  ask: ({ question, show, form, otherwise, ...common }) => {
    const params = {
      question: question ?? common.name,
      ...(show !== undefined && { show }),
      form: answerFormOf(form, common.step_id),
      ...(otherwise !== undefined && { otherwise }),
    };
    return finishStep({ ...common, kind: "ask", params } as Written);
  },
};

/** Builds a step that runs a child, or without a step id the template of one. */
function buildRun({ capability, input, detached, ...common }: AnyRunDraft | AnyChildDraft): unknown {
  const params = { intent: nameOf(capability), inputs: input as JsonObject, ...(detached && { detached }) };
  return common.step_id === undefined
    ? finishTemplate({ ...common, kind: "run", params }, { mayLack: () => false, undoOf: null })
    : finishStep({ ...common, kind: "run", params });
}
type AnyRunDraft = RunDraft<CapabilityDefinition>;
type AnyChildDraft = ChildDraft<CapabilityDefinition>;

const remindersOf = ({ every, ...more }: NonNullable<WaitDraft<z.ZodType, undefined>["remind"]>) => ({
  every_ms: msOf(every),
  ...more,
});

const msOf = ({ days = 0, hours = 0, minutes = 0, seconds = 0, ms = 0 }: Duration): number =>
  (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + ms;
const nameOf = (capability: CapabilityDefinition | string): string =>
  typeof capability === "string" ? capability : capabilityRef(capability.intentType, capability.version);
