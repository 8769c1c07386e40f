/**
 * Capability packages: what the kernel runs by name. Schemas inside are zod schemas of the
 * package's own; the kernel applies them and never reads meaning into them.
 */
import { z } from "zod";
import type { AuthContext } from "./auth-context.ts";
import type { ContextBundle } from "./context-bundle.ts";
import { UiAction } from "./gate.ts";
import { suppliedSchema } from "./host-schema.ts";
import type { Intent } from "./intent.ts";
import type { Json } from "./json.ts";
import { explainKeys, problemsOf } from "./known-keys.ts";
import { type Operator, OperatorName } from "./operator.ts";
import { ExecutionPlan } from "./plan.ts";
import { CapabilityLimits } from "./token.ts";

const anOperator = z.custom<Operator>(
  (value) => typeof value === "object" && value !== null && "metadata" in value && "run" in value,
  "must be an operator, or the name of one",
);

/** A template is checked whole, and stays as it was written; what a function gives is checked when it has given it. */
const planTemplate = z.unknown().superRefine((plan, { addIssue }) => {
  if (typeof plan === "function") return;
  const { error } = ExecutionPlan.safeParse(plan, { error: explainKeys });
  for (const { path, problem } of error === undefined ? [] : problemsOf(error))
    addIssue({ code: "custom", path: path === "" ? [] : path.split("."), message: problem });
}) as unknown as z.ZodType<PlanTemplate<never>, PlanTemplate<never>>;

/** Dotted intent type, as in `Area.Thing.Verb`. */
export const IntentType = z
  .string()
  .max(256)
  .regex(/^[A-Za-z][A-Za-z0-9]*(\.[A-Za-z][A-Za-z0-9]*)+$/, "must be a dotted name such as Area.Thing.Verb");
export const CapabilityVersion = z.string().regex(/^\d+\.\d+$/, "must be major.minor");

/** A capability as its author writes it, checked when it is defined. */
export const CapabilityPackage = z.strictObject({
  intentType: IntentType,
  version: CapabilityVersion,
  description: z.string().default(""),
  keywords: z.array(z.string().min(1)).default([]),
  input: suppliedSchema,
  operators: z.array(z.union([OperatorName, anOperator])).min(1, "a package lists the operators it may use"),
  outcomes: z.record(z.string(), suppliedSchema).default({}),
  plan: planTemplate,
  policyTags: z.record(z.string(), z.array(z.string())).default({}),
  uiActions: z.record(z.string(), z.array(UiAction)).default({}),
  weights: z.record(z.string(), z.number().positive()).default({}),
  /** Rounds of planning (`max_invocations`) that one workflow of this intent may take. */
  limits: CapabilityLimits.prefault({}),
});
export type CapabilityPackage = z.infer<typeof CapabilityPackage>;

/**
 * The operators that a package may use, as it lists them: operators, or names of some that are registered elsewhere.
 */
export type OperatorList = readonly (Operator | string)[];
/** The schemas of a package's outcomes, by their type. */
export type OutcomeSchemas = Readonly<Record<string, z.ZodType>>;

/** `Name@major.minor` */
export const capabilityRef = (intentType: string, version: string): string => `${intentType}@${version}`;

/** How a person or a rule changed the call that a step had planned. */
export interface ChangedCall {
  /** The input of the call. */
  readonly input: Json;
  /** Each change, the rules' first. */
  readonly changes: readonly {
    readonly by: "person" | "rule";
    /** The person's comment, the rule's reason; null where none was given. */
    readonly reason: string | null;
  }[];
}

/** The situation before a plan: nothing (round 0), or the steps that were completed and that failed. */
export interface PlanningSituation {
  /** 0 for the first plan of a workflow. */
  readonly round: number;
  /** Steps of earlier plans that succeeded; `changed` is there where the call was not made as it was planned. */
  readonly completed: readonly {
    readonly step_id: string;
    readonly output: unknown;
    readonly changed?: ChangedCall;
  }[];
  /** Steps of earlier plans that failed. */
  readonly failed: readonly {
    readonly step_id: string;
    readonly code: string;
    readonly message: string;
    readonly changed?: ChangedCall;
  }[];
  /** The objective where a pivot replaced the intent's own. */
  readonly objective: string | null;
  /**
   * Steps that the plan may have (`limits.maxSteps`): a longer plan of a package is refused. Absent outside a kernel.
   */
  readonly max_steps?: number;
}

/** The argument of a package's plan function. `situation` tells a replan what failed before. */
export interface PlanQuestion<I = unknown> {
  /** The checked request, whole. */
  readonly intent: Intent;
  /** Its inputs, as the package's schema gives them. */
  readonly input: I;
  /** The context of the request: profile, memory, documents, earlier work. */
  readonly context: ContextBundle;
  /** The principal who asks, with tenant and scopes. */
  readonly auth: AuthContext;
  /** The situation before the plan: nothing, or the steps that were completed and that failed. */
  readonly situation: PlanningSituation;
}

/**
 * A plan, or a pure function that makes one. In what its author wrote `{{look.output.card}}` refers to what a step gave;
 * what came from the question is text, which a function may be asked a second time to tell apart. `ref` and `text` say
 * it outright.
 */
export type PlanTemplate<I = unknown> =
  | ExecutionPlan
  | ((question: PlanQuestion<I>) => ExecutionPlan | Promise<ExecutionPlan>);

/** A package: its intent type `N`, the schema `I` of its input, the operators it lists, the schemas of its outcomes. */
export interface CapabilityDefinition<
  N extends string = string,
  I extends z.ZodType = z.ZodType,
  Ops extends OperatorList = OperatorList,
  Outs extends OutcomeSchemas = OutcomeSchemas,
> {
  /** A dotted name such as `Shop.Refund`. */
  readonly intentType: N;
  /** major.minor */
  readonly version: string;
  /** For people, models and clients. */
  readonly description: string;
  /** By which a text is found to be for it. */
  readonly keywords: readonly string[];
  /** The schema of a request's inputs. */
  readonly input: I;
  /** The operators that its plans may use. */
  readonly operators: Ops;
  /** The schemas of its outcomes, by name. */
  readonly outcomes: Outs;
  /** The template, or the function that makes a plan. */
  readonly plan: PlanTemplate<never>;
  /** Words that rules match, by step id. */
  readonly policyTags: Readonly<Record<string, readonly string[]>>;
  /** Buttons of gates, by step id. */
  readonly uiActions: Readonly<Record<string, readonly UiAction[]>>;
  /** How much each step counts in the progress, by step id. */
  readonly weights: Readonly<Record<string, number>>;
  /** Rounds of planning (`max_invocations`) that one workflow may take. */
  readonly limits: CapabilityLimits;
}
