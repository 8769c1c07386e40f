/**
 * Defining an operator: typed by its schemas, normalised metadata, frozen.
 */
import { z } from "zod";
import { kernelError } from "../contract/error-codes.ts";
import { hostFunction, hostObject, objectWith } from "../contract/host-object.ts";
import { hostSchema, suppliedSchema } from "../contract/host-schema.ts";
import { deepFreeze, JsonObject } from "../contract/json.ts";
import { raise } from "../contract/kernel-error.ts";
import { readStrictly, type ShapeOf } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import {
  type CallEstimate,
  type GatePreview,
  type Operator,
  type OperatorCall,
  OperatorDoubt,
  OperatorMetadata,
  type OperatorQuestion,
} from "../contract/operator.ts";
import { readStably } from "../contract/schema-reading.ts";
import type { SchemaInput, SchemaOutput, StandardSchema } from "../contract/standard-schema.ts";
import type { StepStatus } from "../contract/step.ts";
import { toZod } from "../contract/to-zod.ts";
import type { ToolClient } from "../contract/tool.ts";
import { bindPresenter, type PresentOptions, PresentShape, presenterOf } from "./present.ts";
import { sampleInputs } from "./sample-inputs.ts";

/** An operator as a host writes it: metadata in camelCase options, schemas, and the function that does the work. */
export interface OperatorOptions<I extends StandardSchema, O extends StandardSchema, N extends string = string> {
  /** Words joined by dots, such as `Mail.Send`; plans and policies name it. */
  readonly name: N;
  /** The version, "1.0" by default. A workflow keeps the version that its plan was made with. */
  readonly version?: string;
  /** A description for people, models and clients that list operators. */
  readonly description?: string;
  /**
   * The schema of a call's input. It parses the params once, before policy: the result is the payload that is judged,
   * shown and passed to the call. It gives JSON, and leaves its own result unchanged; conversions to dates or cents
   * belong in `run`. A schema of zod, or of a library that follows Standard Schema with its JSON Schema part.
   */
  readonly input: I;
  /** The schema of the result of `run`; without it any JSON. */
  readonly output?: O;
  /** The effect that a call may have outside; `none` by default. Policy and recovery rest on it. */
  readonly effect?: OperatorMetadata["effect"];
  /**
   * Whether repeating a key has one effect, ensured by the operator; false by default. A call whose end is unknown is
   * then repeated.
   */
  readonly idempotent?: boolean;
  /**
   * Whether nothing more happens outside once `signal` fires; false by default. A call that ran out of time has then
   * failed, and is not in doubt.
   */
  readonly honoursAbort?: boolean;
  /**
   * The roles that state how a call ended whose end is unknown, instead of those that were asked before the call. By
   * default those who could decide at the gate before the call, or, if there was none, those who may approve.
   */
  readonly doubt?: OperatorDoubt;
  /** The time that a call may take, in seconds; 60 by default, or if 0 is given. */
  readonly timeoutSec?: number;
  /**
   * The retry policy, by name, with its attempts in all: `NONE` 1, `STANDARD` 3 (the default), `AGGRESSIVE` 5, or a
   * name of the kernel's `retryPolicies`.
   */
  readonly retry?: string;
  /** The capabilities of the operator; `reasoning` and `deep_research` are given the kernel's `retrieval`. */
  readonly capabilities?: readonly string[];
  /** Tags that policy rules match; `human_approval` requires a person whatever policy decides. */
  readonly policyTags?: readonly string[];
  /** The risk that gates show and rules match; `low` by default. */
  readonly riskLevel?: OperatorMetadata["risk_level"];
  /** The amount that a call is charged of a request's `maxCost`, and sets aside of budgets in money; 0 by default. */
  readonly estimatedCost?: number;
  /** The amounts that a call sets aside of budgets in tokens, and asks of the governor; 0 by default. */
  readonly resources?: Partial<OperatorMetadata["resources"]>;
  /** The ceilings of its calls in one workflow; omitted or null for none. */
  readonly limits?: Partial<OperatorMetadata["limits"]>;
  /** The kinds of the results, as steps show them; `data` by default. */
  readonly outputs?: readonly string[];
  /** The kind of the operator: `skill` (the default), `tool`, or `llm`, whose calls are traced as a model's. */
  readonly kind?: OperatorMetadata["kind"];
  /** Data of the host's own; the kernel does not read them. */
  readonly extensions?: Readonly<Record<string, unknown>>;
  /** Does the work. Its error decides on a retry: see `operatorError`. */
  readonly run: (call: OperatorCall<SchemaOutput<I>>) => Promise<SchemaInput<O>> | SchemaInput<O>;
  /** Makes the preview that a person sees at the gate of this call; it may read and never writes. */
  readonly preview?: (question: OperatorQuestion<SchemaOutput<I>>) => Promise<GatePreview> | GatePreview;
  /**
   * Checks whether this call could be made, beyond the schema; it may read, never writes. It throws (`operatorError`)
   * if the call could not be made: then no gate opens for it, and no approval of it is accepted.
   */
  readonly check?: (question: OperatorQuestion<SchemaOutput<I>>) => Promise<void> | void;
  /**
   * Estimates what a call with this input uses at most, which it then sets aside of budgets in place of
   * `estimatedCost` and `resources.tokens`. A pure function, which is asked once before the call.
   */
  readonly estimate?: (input: SchemaOutput<I>) => CallEstimate;
  /**
   * The presentation of a call to the people who decide on it: a title, one line and facts with labels, which gates,
   * lists and messages show. Without it they show the members of the input by the titles of its schema.
   */
  readonly present?: PresentOptions<SchemaOutput<I>>;
}

const validationRef = moduleRef(0, "validation", "define");

const toolClient = objectWith<ToolClient>("request");
const fn = hostFunction<never>();
const { shape } = OperatorMetadata;

/** The shape by the options' own names, so that errors name them as they were written. */
export const operatorShape = {
  name: shape.name,
  version: shape.version,
  description: shape.description,
  input: suppliedSchema,
  output: hostSchema.optional(),
  effect: shape.effect,
  idempotent: shape.idempotent,
  honoursAbort: shape.honours_abort,
  doubt: OperatorDoubt.optional(),
  timeoutSec: shape.timeout_sec,
  retry: shape.retry,
  capabilities: shape.capabilities,
  policyTags: shape.policy_tags,
  riskLevel: shape.risk_level,
  estimatedCost: shape.estimated_cost,
  resources: shape.resources,
  limits: shape.limits,
  outputs: shape.outputs,
  kind: shape.kind,
  extensions: shape.extensions,
  run: fn,
  preview: fn.optional(),
  check: fn.optional(),
  estimate: fn.optional(),
  present: PresentShape.optional(),
} satisfies ShapeOf<OperatorOptions<StandardSchema, StandardSchema>>;
const OperatorShape = z.strictObject(operatorShape);

/** The part of an operator's result that later steps find: of a StepResult its data. */
type DataOf<T> = T extends { readonly data: infer D; readonly output_text: string; readonly status: StepStatus }
  ? D
  : T;

/**
 * Checks and freezes an operator: code that acts, with the metadata that the kernel needs.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for an invalid or unknown option, and for an input schema
 * that does not give JSON, or changes its own result.
 */
export function defineOperator<
  I extends StandardSchema,
  O extends StandardSchema = z.ZodType<unknown>,
  const N extends string = string,
>(options: OperatorOptions<I, O, N>): Operator<SchemaInput<I>, DataOf<SchemaOutput<O>>, N> {
  const reported = readStrictly(OperatorShape, options, { what: nameIn("operator", options), source: validationRef });
  const { honoursAbort, timeoutSec, policyTags, riskLevel, estimatedCost, ...rest } = reported;
  const {
    input: _input,
    output: _output,
    run: _run,
    preview: _preview,
    check: _check,
    estimate: _estimate,
    present: _present,
    doubt,
    ...metadataOptions
  } = rest;
  const { output, run, preview, check, estimate, present } = options;
  const input = toZod<StandardSchema>(options.input);
  requireReliable(options.name, input);
  const metadata = normalizeMetadata<N>({
    ...metadataOptions,
    honours_abort: honoursAbort,
    timeout_sec: timeoutSec,
    policy_tags: policyTags,
    risk_level: riskLevel,
    estimated_cost: estimatedCost,
  });
  return Object.freeze({
    metadata,
    input: input as z.ZodType<unknown, SchemaInput<I>>,
    output: (output === undefined ? z.unknown() : toZod<StandardSchema>(output)) as z.ZodType<DataOf<SchemaOutput<O>>>,
    run: run as Operator["run"],
    tool: null,
    preview: (preview as Operator["preview"]) ?? null,
    check: (check as Operator["check"]) ?? null,
    estimate: (estimate as Operator["estimate"]) ?? null,
    present: present === undefined ? null : (presenterOf(present) as Operator["present"]),
    ...(doubt === undefined ? {} : { doubt: deepFreeze(doubt) }),
  });
}

/**
 * Tries the input schema on sample values: its result must be JSON, and it must leave that unchanged. Samples that it
 * refuses are ignored. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH.
 */
function requireReliable(name: string, input: z.ZodType): void {
  for (const sample of sampleInputs(input)) {
    const reading = readStably(input, sample);
    if (reading.ok || reading.fault === "invalid") continue;
    const message = `operator ${name}: input: ${reading.problem}; convert values in run, and not in the schema`;
    const detail = { operator: name, fault: reading.fault };
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, validationRef, { detail }));
  }
}

/** Returns the name of the definition for messages; its kind alone if it has no name. */
function nameIn(kind: string, options: unknown): string {
  try {
    return `${kind} ${(options as { readonly name?: unknown }).name}`;
  } catch {
    return kind;
  }
}

/** A tool of a tool server as an operator. Its work is done through `client`, bridged by T0 (OPR-06). */
export interface ToolOptions
  extends Omit<
    OperatorOptions<StandardSchema, StandardSchema>,
    "run" | "preview" | "check" | "estimate" | "present" | "kind" | "input"
  > {
  /** The tool's name at its server. */
  readonly tool: string;
  /** Calls the tool; `mcpOperators` brings one. */
  readonly client: ToolClient;
  /** The schema of a call's input; without it any object. */
  readonly input?: StandardSchema;
  /** JSON Schema of the tool's input, as its server states it; used to repair a refused call. */
  readonly inputSchema?: JsonObject | null;
}

const {
  run: _run,
  preview: _preview,
  check: _check,
  estimate: _estimate,
  present: _present,
  kind: _kind,
  ...sharedShape
} = operatorShape;
const ToolShape = z.strictObject({
  ...sharedShape,
  input: suppliedSchema.optional(),
  tool: z.string().min(1),
  client: toolClient,
  inputSchema: JsonObject.nullish(),
} satisfies ShapeOf<ToolOptions>);

/**
 * Defines an operator whose work a tool server does, called through `client`; its effect is `external_send` by default.
 * @throws as defineOperator.
 */
export function defineTool(given: ToolOptions): Operator {
  readStrictly(ToolShape, given, { what: nameIn("tool", given), source: validationRef });
  const { tool, client, inputSchema, input, ...options } = given;
  const operator = defineOperator({
    effect: "external_send",
    ...options,
    input: input ?? z.record(z.string(), z.unknown()),
    kind: "tool",
    run: () => null,
  });
  return Object.freeze({ ...operator, tool: Object.freeze({ name: tool, client, inputSchema: inputSchema ?? null }) });
}

/** Makes a full, frozen record of any accepted form of metadata (SKL-01, SKL-04). */
export function normalizeMetadata<N extends string = string>(raw: unknown): Operator<unknown, unknown, N>["metadata"] {
  const read = readStrictly(OperatorMetadata, raw, { what: "operator metadata", source: validationRef });
  return deepFreeze(structuredClone(read)) as Operator<unknown, unknown, N>["metadata"];
}

/** Returns a copy to keep: complete and checked metadata that the caller cannot change (SKL-01, SKL-04). */
export function closeOperator(given: Operator): Operator {
  readStrictly(OperatorObject, given, { what: "operator", source: validationRef });
  const { input = z.unknown(), output = z.unknown(), tool = null } = given;
  return Object.freeze({
    metadata: normalizeMetadata(given.metadata),
    input: toZod(input),
    output: toZod(output),
    run: given.run.bind(given),
    tool,
    preview: given.preview?.bind(given) ?? null,
    check: given.check?.bind(given) ?? null,
    estimate: given.estimate?.bind(given) ?? null,
    present: given.present == null ? null : bindPresenter(given.present, given),
    ...(given.doubt === undefined ? {} : { doubt: deepFreeze({ roles: [...given.doubt.roles] }) }),
  });
}

const OperatorObject = hostObject<Operator>({
  metadata: z.unknown(),
  input: suppliedSchema.optional(),
  output: hostSchema.optional(),
  run: fn,
  tool: z.looseObject({ name: z.string(), client: toolClient }).nullish(),
  preview: fn.nullish(),
  check: fn.nullish(),
  estimate: fn.nullish(),
  present: fn.nullish(),
  doubt: OperatorDoubt.optional(),
});

/** The options of an error with which an operator fails on purpose. */
export interface OperatorErrorOptions {
  /** The operator's own code for it, in capitals with underscores. */
  readonly code: string;
  /** The message for people; it is stored in the ledger. */
  readonly message: string;
  /**
   * The category. `transient` and `timeout` are retried, `dependency` (the default) if `retryable` is true, all others
   * never.
   */
  readonly category?:
    | "validation"
    | "authorization"
    | "policy_denied"
    | "transient"
    | "dependency"
    | "operator_bug"
    | "timeout";
  /**
   * Whether another attempt may help, for a `dependency`. An error that may be retried states that nothing has happened
   * outside.
   */
  readonly retryable?: boolean;
  /** The pause before the next attempt is at least so many milliseconds: a whole number, a year at most. */
  readonly retry_after_ms?: number | null;
  /** Further details for readers, as JSON. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The underlying error: its name, code and message and those of its causes are kept beside the details. */
  readonly cause?: unknown;
}

/** An operator's own failure, as `operatorError` makes it. */
export class OperatorError extends Error {
  readonly executorError: Required<Omit<OperatorErrorOptions, "cause">>;
  constructor({ cause, ...options }: OperatorErrorOptions) {
    super(options.message, cause === undefined ? {} : { cause });
    this.name = "OperatorError";
    const category = options.category ?? "dependency";
    const retryable = options.retryable ?? (category === "transient" || category === "timeout");
    this.executorError = { retry_after_ms: null, details: {}, ...options, category, retryable };
  }
}

/** Makes an error to throw from an operator: with a code, whether a retry may help, and its cause. */
export const operatorError = (options: OperatorErrorOptions): OperatorError => new OperatorError(options);
