/**
 * The kinds of steps that call no operator, as a plan writes them. Their data stand in `params`, where references to
 * the outputs of earlier steps are resolved as in those of a call.
 *
 * Owns: the closed list of kinds, the members that all steps share, the schema of the params of each kind.
 * Never: what a step of a kind does (a row in T4's table of kinds does).
 */
import { z } from "zod";
import { AnswerForm, readAnswer } from "./answer-form.ts";
import { Condition } from "./condition.ts";
import { GateSpec } from "./gate-spec.ts";
import { StepId, WorkflowId } from "./ids.ts";
import { JsonObject, JsonValue } from "./json.ts";
import { readReference, referencesIn } from "./reference.ts";

/**
 * The kinds of steps: `call` calls an operator, `respond` gives the direct response of a planner. `rollback` undoes the
 * work of a child; no plan has such a step, because the kernel adds it.
 */
export const stepKinds = [
  "call",
  "respond",
  "sleep",
  "wait",
  "fail",
  "run",
  "ask",
  "each",
  "repeat",
  "rollback",
] as const;
export type StepKind = (typeof stepKinds)[number];

/** Returns whether steps of a kind add steps of their own while they run. */
export const addsSteps = ({ kind }: { readonly kind: StepKind }): boolean => kind === "each" || kind === "repeat";

/** Returns whether steps of a kind call an operator, which must be registered where they run. */
export const callsOperator = ({ kind }: { readonly kind: StepKind }): boolean => kind === "call" || kind === "respond";

const AnyEnd = z.strictObject({
  /** The id of the step that is waited for. */
  step_id: StepId,
  /** Any end of that step will do, also its failure. */
  settled: z.literal(true),
});
/** A step that another depends on. With `settled` it may have ended in any way; otherwise it must have succeeded. */
export const Dependency = z.union([StepId, AnyEnd], {
  error: "must be the id of a step, or { step_id, settled: true }",
});
export type Dependency = z.input<typeof Dependency>;

/** Returns the id of the step that a dependency names. */
export const idOfDependency = (one: Dependency): string => (typeof one === "string" ? one : one.step_id);

/** The members that a plan may give for a step of any kind. */
export const stepMembers = {
  /** Unique in the plan; later steps refer to it. */
  step_id: StepId,
  /** A name for people. */
  name: z.string().min(1).max(256),
  /** The steps that come before this one: each must have succeeded, or with `settled` have ended in any way. */
  depends_on: z.array(Dependency).default([]),
  /**
   * The condition under which the step is taken. If it does not hold, the step is skipped, and those after it go on.
   */
  when: Condition.optional(),
  /** The weight of the step in the progress; 1 by default. */
  weight: z.number().positive().optional(),
  /** The rank among steps that could begin: 0 to 255, the highest first. */
  priority: z.int().min(0).max(255).optional(),
} as const;

/**
 * The consequence if no gate of the step lets it go on, because a person rejected it or nobody decided in time: `end`
 * cancels the workflow once its other branches have ended, `end_all` cancels it at once with the gates of its other
 * steps, `continue` skips the step and lets the plan go on, `replan` asks the planner for another plan.
 */
export const OnReject = z.enum(["end", "end_all", "continue", "replan"]);
export type OnReject = z.infer<typeof OnReject>;

const ReferenceText = z.string().refine((text) => readReference(text) !== null);

/** Makes the schema of a value, or of a reference that gives it when the step begins. */
export const referable = <T extends z.ZodType>(schema: T, error: string) =>
  z.union([schema, ReferenceText], { error: `${error}, or a reference such as {{look.output.at}}` });

/** The longest time that a step may sleep, in ms: ten years. */
export const maxSleepMs = 10 * 366 * 86_400_000;

const SleepMs = z.int().min(0).max(maxSleepMs);
const SleepUntil = z.iso.datetime({ offset: true });
const sleepsOnce = (params: { readonly ms?: unknown; readonly until?: unknown }): boolean =>
  (params.ms === undefined) !== (params.until === undefined);

/** The params of a step that sleeps, when it begins: for a time, in ms, or until an ISO instant. */
export const SleepParams = z
  .strictObject({ ms: SleepMs.optional(), until: SleepUntil.optional() })
  .refine(sleepsOnce, "it needs either ms or until");

/** A step that waits for a time, over restarts and for years if need be. It gives null. */
export const SleepStepDraft = z.strictObject({
  ...stepMembers,
  /** The kind of the step: it waits for a time. */
  kind: z.literal("sleep"),
  /**
   * The time in ms (`ms`), or the ISO instant (`until`) until which it waits. An instant that is over is not waited
   * for.
   */
  params: z
    .strictObject({
      /** The time in ms, at most ten years. */
      ms: referable(SleepMs, `must be ms, from 0 to ${maxSleepMs}`).optional(),
      /** The ISO instant at which the wait is over. */
      until: referable(SleepUntil, "must be an ISO instant with its offset").optional(),
    })
    .refine(sleepsOnce, "it needs either ms or until"),
});
export interface SleepStepDraft extends z.input<typeof SleepStepDraft> {}

/** The params of a step that fails: a code of the author's, and a message for people. */
export const FailParams = z.strictObject({
  /** A code of the author's own, such as `ORDER_REFUSED`. */
  code: z.string().regex(/^[A-Z][A-Z0-9_]{0,63}$/, "must be a code such as ORDER_REFUSED"),
  /** The reason for people; it may hold references. */
  message: z.string().min(1).max(2000),
});

/** A step that ends the workflow as failed: nothing more begins, and no other plan is made. */
export const FailStepDraft = z.strictObject({
  ...stepMembers,
  /** The kind of the step: it ends the workflow. */
  kind: z.literal("fail"),
  /** The code and the message that the workflow fails with. */
  params: FailParams,
});
export interface FailStepDraft extends z.input<typeof FailStepDraft> {}

/** The capability that a step runs: its intent type, and with `@major.minor` its version. */
const ChildIntent = z
  .string()
  .max(300)
  .regex(/^[A-Za-z][A-Za-z0-9]*(\.[A-Za-z][A-Za-z0-9]*)+(@\d+\.\d+)?$/, "must be an intent type such as Shop.Refund");

/** The params of a step that runs a child workflow. */
export const RunParams = z.strictObject({
  /** The intent type of the capability, with or without its version; a plan fixes the newest one. */
  intent: ChildIntent,
  /** The inputs of the child: data, and references such as `{{look.output.card}}`. */
  inputs: JsonObject.default({}),
  /** The child outlives its parent: the step ends once the child is accepted. */
  detached: z.boolean().default(false),
});

/** A step that runs another capability as a child workflow. It gives the result of the child. */
export const RunStepDraft = z.strictObject({
  ...stepMembers,
  /** The kind of the step: it runs a child workflow. */
  kind: z.literal("run"),
  /** The capability and its inputs. */
  params: RunParams,
});
export interface RunStepDraft extends z.input<typeof RunStepDraft> {}
/** The params of a step that rolls back the child of another one. */
export const RollbackParams = z.strictObject({ child: WorkflowId });

/** The params of a step that does something for each item, when it begins: the list. */
export const EachParams = z.strictObject({ items: z.array(JsonValue) });

const maxQuestion = 20_000;

const askParams = {
  /** The question in words; in a plan it may hold references. */
  question: z.string().min(1).max(maxQuestion),
  /** The data that people are shown beside the question. */
  show: JsonObject.default({}),
  /** The form of the answer: a JSON Schema of an object, with the keywords that the guide lists. */
  form: AnswerForm,
  /** The answer that stands if nobody answers before a gate expires whose expiry allows. */
  otherwise: JsonObject.optional(),
} as const;

/** Returns what is wrong with the answer that a question has for itself; null if it follows the form. */
function whyNoAnswer({ form, otherwise }: { readonly form: AnswerForm; readonly otherwise?: JsonObject | undefined }) {
  const reading = otherwise === undefined ? null : readAnswer(form, otherwise);
  return reading === null || reading.ok ? null : `it does not follow the form: ${z.prettifyError(reading.error)}`;
}

/** The params of a step that asks people, when it begins. A gate shows exactly these. */
export const AskParams = z.strictObject(askParams).superRefine((params, { addIssue }) => {
  const why = whyNoAnswer(params);
  if (why !== null) addIssue({ code: "custom", path: ["otherwise"], message: why });
});
export type AskParams = z.output<typeof AskParams>;

/** A step that asks people for an answer of a stated form. It gives the answer. */
export const AskStepDraft = z
  .strictObject({
    ...stepMembers,
    /** The kind of the step: it asks people for an answer. */
    kind: z.literal("ask"),
    /** The question, what is shown with it, and the form of the answer. */
    params: z.strictObject(askParams),
    /** The gate: who answers, how many of them, in what time, and what follows if nobody does. */
    gate: GateSpec.optional(),
    /** The consequence if nobody answers: `end` (the default), `continue` or `replan`. */
    on_reject: OnReject.optional(),
  })
  .superRefine(({ params, gate }, { addIssue }) => {
    const refuse = (message: string): void => addIssue({ code: "custom", path: ["params", "otherwise"], message });
    const isAllowed = gate?.expiry?.action === "allow";
    if (isAllowed && params.otherwise === undefined)
      refuse("a gate whose expiry allows needs the answer that then stands");
    if (!isAllowed && params.otherwise !== undefined) refuse("it needs a gate whose expiry has the action allow");
    const why = [...referencesIn(params.otherwise ?? {}, undefined)].length > 0 ? null : whyNoAnswer(params);
    if (why !== null) refuse(why);
  });
export interface AskStepDraft extends z.input<typeof AskStepDraft> {}

/** The names of the kinds that call no operator, in lists, rules and drawings. */
export const kindNames: Readonly<Record<Exclude<StepKind, "call" | "respond">, string>> = {
  sleep: "Kernel.Sleep",
  wait: "Kernel.Wait",
  fail: "Kernel.Fail",
  run: "Kernel.Run",
  ask: "Kernel.Ask",
  each: "Kernel.Each",
  repeat: "Kernel.Repeat",
  rollback: "Kernel.Rollback",
};
