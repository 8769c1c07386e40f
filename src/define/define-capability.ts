/**
 * Defining a capability package: checked when it is defined, so that a kernel never loads half a package.
 */
import { z } from "zod";
import {
  type CapabilityDefinition,
  CapabilityPackage,
  type OperatorList,
  type OutcomeSchemas,
  type PlanQuestion,
} from "../contract/capability.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { UiAction } from "../contract/gate.ts";
import { hostFunction, hostObject } from "../contract/host-object.ts";
import { raise } from "../contract/kernel-error.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { ExecutionPlan } from "../contract/plan.ts";
import { defaultRuleNames, type PolicyRule, PolicyStage } from "../contract/policy.ts";
import type { QueuePolicy } from "../contract/queue.ts";
import { readWith } from "../contract/schema-reading.ts";
import type { SchemaOutput, StandardSchema, ZodOf, ZodsOf } from "../contract/standard-schema.ts";
import { toZod, toZods } from "../contract/to-zod.ts";
import type { PackageLimits } from "../contract/token.ts";
import { type GrowingBuilders, growingBuilders } from "./growing-steps.ts";
import type { CapabilityPresent } from "./present.ts";
import { type QuietBuilders, quietBuilders } from "./quiet-steps.ts";
import { sampleInputs } from "./sample-inputs.ts";
import { type CallBuilder, type StepBuilder, stepBuildersOf } from "./step-builder.ts";

/** A capability package as its author writes it. */
export interface CapabilityOptions<
  I extends StandardSchema,
  Ops extends OperatorList = OperatorList,
  Outs extends Readonly<Record<string, StandardSchema>> = OutcomeSchemas,
  N extends string = string,
> {
  /** A dotted name such as `Shop.Refund`; requests name it. */
  readonly intentType: N;
  /** major.minor. Several versions may be registered; new requests get the newest. */
  readonly version: string;
  /** A description for people, models and clients that list capabilities. */
  readonly description?: string;
  /** Keywords by which the classifier matches a text to this package. */
  readonly keywords?: readonly string[];
  /**
   * The schema of a request's inputs. It parses them once, when the request arrives; the result is recorded, and must
   * be JSON. Dates are made in the plan function. A schema of zod, or of a library that follows Standard Schema with
   * its JSON Schema part.
   */
  readonly input: I;
  /**
   * The operators a plan of this package may use: definitions, or names registered elsewhere. A package whose plan runs
   * children, asks and waits alone has none.
   */
  readonly operators: Ops;
  /** The schemas of the outcomes that its steps draft, by name. */
  readonly outcomes?: Outs;
  /** The steps of a request: a template of at most ten, or a pure function of the input. */
  readonly plan: PlanMaker<SchemaOutput<I>, Ops, ZodsOf<Outs>>;
  /** Tags that policy rules match, by step id. */
  readonly policyTags?: Readonly<Record<string, readonly string[]>>;
  /** Buttons that a gate shows in the host's own interface, by step id. */
  readonly uiActions?: Readonly<Record<string, readonly UiAction[]>>;
  /** The weight of each step in the progress, by step id; 1 by default. */
  readonly weights?: Readonly<Record<string, number>>;
  /**
   * Rounds of planning (`max_invocations`) that one workflow of this intent may take; the steps of a plan (`maxSteps`)
   * and the replans (`maxReplans`), in place of the limits of the kernel.
   */
  readonly limits?: Partial<PackageLimits>;
  /**
   * The queue of its workflows: as many as `concurrency` run at a time, in all or of each value of a key such as
   * `{{input.vendor}}`. The others are accepted and wait: by `priority`, then in the order of their requests.
   */
  readonly queue?: z.input<typeof QueuePolicy>;
  /** Whether people may add messages to its workflows, which the plan function finds in `situation.inputs`. */
  readonly takesInput?: boolean;
  /** The presentation of its requests: the title of a run in lists, in place of the request's text or its inputs. */
  readonly present?: CapabilityPresent<SchemaOutput<I>>;
}

/** A plan, or a function that makes one: of steps that `step` builds, or of plain ones. */
export type PlanMaker<I, Ops extends OperatorList, Outs extends OutcomeSchemas> =
  | ExecutionPlan
  | ((question: PlanQuestion<I> & PlanBuilders<Ops, Outs>) => ExecutionPlan | Promise<ExecutionPlan>);

/**
 * The builders that a plan function is given: one for calls of the package's operators, one for each other kind of
 * step.
 */
export interface PlanBuilders<Ops extends OperatorList, Outs extends OutcomeSchemas = OutcomeSchemas>
  extends QuietBuilders,
    GrowingBuilders {
  readonly step: StepBuilder<Ops, Outs>;
  /** Builds a call without an id, which `each` and `repeat` make for each item or round. */
  readonly call: CallBuilder<Ops>;
}

type CallBuilders = Pick<PlanBuilders<never, never>, "step" | "call">;

const maxTemplateSteps = 10;

const defineRef = moduleRef(0, "validation", "define");

/**
 * Checks and freezes a capability package.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH naming missing and unknown members.
 */
export function defineCapability<
  I extends StandardSchema,
  const Ops extends OperatorList = OperatorList,
  Outs extends Readonly<Record<string, StandardSchema>> = OutcomeSchemas,
  const N extends string = string,
>(options: CapabilityOptions<I, Ops, Outs, N>): CapabilityDefinition<N, ZodOf<I>, Ops, ZodsOf<Outs>> {
  const parsed = readStrictly(CapabilityPackage, options, { what: "capability package", source: defineRef });
  const { plan } = options;
  if (typeof plan !== "function" && plan.steps.length > maxTemplateSteps) {
    refuse(`a plan template has at most ${maxTemplateSteps} steps, ${options.intentType} has ${plan.steps.length}`);
  }
  const input = toZod<StandardSchema>(parsed.input);
  requireJson(options.intentType, input);
  const builders = {
    ...quietBuilders,
    ...growingBuilders,
    ...(stepBuildersOf(options.operators) as never as CallBuilders),
  };
  return Object.freeze({
    ...parsed,
    input,
    outcomes: toZods(parsed.outcomes),
    operators: options.operators,
    plan: typeof plan === "function" ? (question: PlanQuestion<never>) => plan({ ...question, ...builders }) : plan,
  }) as unknown as CapabilityDefinition<N, ZodOf<I>, Ops, ZodsOf<Outs>>;
}

/** Tries the input schema on sample values: its result is recorded, and must be JSON. */
function requireJson(intentType: string, input: z.ZodType): void {
  for (const sample of sampleInputs(input)) {
    const reading = readWith(input, sample);
    if (!reading.ok && reading.fault === "not_json")
      refuse(`capability package ${intentType}: input: ${reading.problem}; convert values in the plan function`);
  }
}

const RuleShape = hostObject<PolicyRule>({
  name: z.string().min(1),
  stages: z.array(PolicyStage).min(1),
  lifts: z.enum(defaultRuleNames).optional(),
  evaluate: hostFunction(),
});

/**
 * Checks a rule's shape; the rule itself stays the host's code, and an instance of a class may have further members.
 * @throws as defineCapability.
 */
export function definePolicy(rule: PolicyRule): PolicyRule {
  const { name, stages, lifts } = readStrictly(RuleShape, rule, { what: "policy", source: defineRef });
  if (lifts !== undefined && stages.some((stage) => stage !== "action"))
    refuse(`policy ${name}: stages: a rule that lifts ${lifts} is asked at stage action alone`);
  const evaluate = rule.evaluate.bind(rule);
  return Object.freeze({ name, stages: Object.freeze([...stages]), ...(lifts !== undefined && { lifts }), evaluate });
}

const refuse = (message: string): never => raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, defineRef));
