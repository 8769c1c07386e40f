/**
 * Capability packages: work that the kernel runs by name. Their schemas are the package's own; the kernel applies them
 * and does not interpret them.
 */
import { z } from "zod";
import type { AddedInput } from "./added-input.ts";
import type { AuthContext } from "./auth-context.ts";
import type { ContextBundle } from "./context-bundle.ts";
import { UiAction } from "./gate.ts";
import { hostFunction } from "./host-object.ts";
import { suppliedSchema } from "./host-schema.ts";
import type { Intent } from "./intent.ts";
import type { Json } from "./json.ts";
import { explainKeys, problemsOf } from "./known-keys.ts";
import { type Operator, OperatorName } from "./operator.ts";
import { ExecutionPlan } from "./plan.ts";
import { QueuePolicy } from "./queue.ts";
import { PackageLimits } from "./token.ts";

const anOperator = z.custom<Operator>(
  (value) => typeof value === "object" && value !== null && "metadata" in value && "run" in value,
  "must be an operator, or the name of one",
);

/**
 * A template is checked as a whole at definition and kept as it was written; the plan that a function returns is
 * checked each time.
 */
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
  operators: z.array(z.union([OperatorName, anOperator])),
  outcomes: z.record(z.string(), suppliedSchema).default({}),
  plan: planTemplate,
  policyTags: z.record(z.string(), z.array(z.string())).default({}),
  uiActions: z.record(z.string(), z.array(UiAction)).default({}),
  weights: z.record(z.string(), z.number().positive()).default({}),
  /** Rounds of planning (`max_invocations`), steps and replans that one workflow of this intent may take. */
  limits: PackageLimits.prefault({}),
  /** The limit of workflows of this intent, or of one key, that run at a time; absent if there is none. */
  queue: QueuePolicy.optional(),
  /** Whether people may add messages to its workflows, which the plan function finds in `situation.inputs`. */
  takesInput: z.boolean().optional(),
  /** The presentation of its requests. */
  present: z
    .strictObject({
      /** Returns the title of a run, of its input; a pure function. */
      title: hostFunction<(input: never) => unknown>(),
    })
    .optional(),
});
export type CapabilityPackage = z.infer<typeof CapabilityPackage>;

/** The operators that a package may use: operators themselves, or names of operators that are registered separately. */
export type OperatorList = readonly (Operator | string)[];
/** The schemas of a package's outcomes, by their type. */
export type OutcomeSchemas = Readonly<Record<string, z.ZodType>>;

/** Returns the reference of a capability: `Name@major.minor`. */
export const capabilityRef = (intentType: string, version: string): string => `${intentType}@${version}`;

/** A change that a person or a rule made to a planned call. */
export interface ChangedCall {
  /** The input of the call. */
  readonly input: Json;
  /** Each change, the rules' first. */
  readonly changes: readonly {
    readonly by: "person" | "rule";
    /** The person's comment or the rule's reason; null if none was given. */
    readonly reason: string | null;
  }[];
}

/** The steps that were completed and failed before this plan; none in round 0. */
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
  /** The tokens and the money that the calls of the workflow have reported so far; absent before the first plan. */
  readonly used?: { readonly tokens: number; readonly money: number };
  /** The objective where a pivot replaced the intent's own. */
  readonly objective: string | null;
  /** Messages that people added to the workflow, oldest first; of a capability that takes input. */
  readonly inputs?: readonly AddedInput[];
  /**
   * Steps that the plan may have (`limits.maxSteps`): a longer plan of a package is refused. Absent outside a kernel.
   */
  readonly max_steps?: number;
}

/** The argument of a package's plan function. `situation` holds what failed before a replan. */
export interface PlanQuestion<I = unknown> {
  /** The checked request, whole. */
  readonly intent: Intent;
  /** Its inputs, as the package's schema gives them. */
  readonly input: I;
  /** The context of the request: profile, memory, documents, earlier work. */
  readonly context: ContextBundle;
  /** The requesting principal, with tenant and scopes. */
  readonly auth: AuthContext;
  /** The steps that were completed and failed before this plan. */
  readonly situation: PlanningSituation;
}

/**
 * A plan, or a pure function that makes one. In the text of its author `{{look.output.card}}` refers to the output of a
 * step; text that came from the question is literal. The kernel may call a function twice to tell the two apart. `ref`
 * and `text` mark references explicitly.
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
  /** A description for people, models and clients. */
  readonly description: string;
  /** Keywords by which the classifier matches a text to this package. */
  readonly keywords: readonly string[];
  /** The schema of a request's inputs. */
  readonly input: I;
  /** The operators that its plans may use. */
  readonly operators: Ops;
  /** The schemas of its outcomes, by name. */
  readonly outcomes: Outs;
  /** The template, or the function that makes a plan. */
  readonly plan: PlanTemplate<never>;
  /** Tags that policy rules match, by step id. */
  readonly policyTags: Readonly<Record<string, readonly string[]>>;
  /** Buttons of gates, by step id. */
  readonly uiActions: Readonly<Record<string, readonly UiAction[]>>;
  /** The weight of each step in the progress, by step id. */
  readonly weights: Readonly<Record<string, number>>;
  /** Rounds of planning (`max_invocations`) that one workflow may take. */
  readonly limits: PackageLimits;
  /** The limit of workflows of this intent, or of one key, that run at a time; absent if there is none. */
  readonly queue?: QueuePolicy | undefined;
  /** Whether people may add messages to its workflows. */
  readonly takesInput?: boolean | undefined;
  /** The presentation of its requests: the title of a run, as a pure function of the input. */
  readonly present?:
    | {
        /** Returns the title of a run, of its input; a pure function. */
        readonly title: (input: unknown) => string;
      }
    | undefined;
}
