/**
 * Defining an operator: typed by its zod schemas, normalised metadata, frozen. Source: seed 002 section 15, seed 003 5.7.
 */
import { z } from "zod";
import { deepFreeze, JsonObject } from "../contract/json.ts";
import { type KeysOf, readStrictly, requireKnownMembers } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import {
  type GatePreview,
  type Operator,
  type OperatorCall,
  OperatorMetadata,
  type OperatorQuestion,
} from "../contract/operator.ts";
import type { StepStatus } from "../contract/step.ts";
import type { ToolClient } from "../contract/tool.ts";

/** An operator as a host writes it: metadata in camelCase options, schemas, and the function that does the work. */
export interface OperatorOptions<I extends z.ZodType, O extends z.ZodType, N extends string = string> {
  readonly name: N;
  readonly version?: string;
  readonly description?: string;
  readonly input: I;
  readonly output?: O;
  readonly effect?: OperatorMetadata["effect"];
  readonly idempotent?: boolean;
  readonly honoursAbort?: boolean;
  readonly timeoutSec?: number;
  readonly retry?: string;
  readonly capabilities?: readonly string[];
  readonly policyTags?: readonly string[];
  readonly riskLevel?: OperatorMetadata["risk_level"];
  readonly estimatedCost?: number;
  readonly resources?: Partial<OperatorMetadata["resources"]>;
  /** What its calls may use in one workflow; omitted or null for no ceiling. */
  readonly limits?: Partial<OperatorMetadata["limits"]>;
  readonly outputs?: readonly string[];
  readonly kind?: OperatorMetadata["kind"];
  readonly extensions?: Readonly<Record<string, unknown>>;
  readonly run: (call: OperatorCall<z.output<I>>) => Promise<z.input<O>> | z.input<O>;
  /** What a person sees at the gate of this call; reads at most, never writes. */
  readonly preview?: (question: OperatorQuestion<z.output<I>>) => Promise<GatePreview> | GatePreview;
  /**
   * Whether this call could be made, beyond what the schema says; reads at most, never writes. Throws (`operatorError`) where
   * it could not: then nobody is asked about it, and nobody's approval of it is taken.
   */
  readonly check?: (question: OperatorQuestion<z.output<I>>) => Promise<void> | void;
}

const validationRef = moduleRef(0, "validation", "define");

const zodSchema = z.custom<z.ZodType>((value) => value instanceof z.ZodType, "must be a zod schema");
const fn = z.custom<unknown>((value) => typeof value === "function", "must be a function");
const { shape: said } = OperatorMetadata;

/** By the options' own names, so that what is wrong is told as it was written. */
const operatorShape = {
  name: said.name,
  version: said.version,
  description: said.description,
  input: zodSchema,
  output: zodSchema.optional(),
  effect: said.effect,
  idempotent: said.idempotent,
  honoursAbort: said.honours_abort,
  timeoutSec: said.timeout_sec,
  retry: said.retry,
  capabilities: said.capabilities,
  policyTags: said.policy_tags,
  riskLevel: said.risk_level,
  estimatedCost: said.estimated_cost,
  resources: said.resources,
  limits: said.limits,
  outputs: said.outputs,
  kind: said.kind,
  extensions: said.extensions,
  run: fn,
  preview: fn.optional(),
  check: fn.optional(),
} satisfies KeysOf<Required<OperatorOptions<z.ZodType, z.ZodType>>>;
const OperatorShape = z.strictObject(operatorShape);

/** What later steps find of what an operator gives: of a StepResult its data. */
type DataOf<T> = T extends { readonly data: infer D; readonly output_text: string; readonly status: StepStatus }
  ? D
  : T;

/** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for what is not valid, and for a key that no operator has. */
export function defineOperator<
  I extends z.ZodType,
  O extends z.ZodType = z.ZodType<unknown>,
  const N extends string = string,
>(options: OperatorOptions<I, O, N>): Operator<z.input<I>, DataOf<z.output<O>>, N> {
  const told = readStrictly(OperatorShape, options, { what: `operator ${options?.name}`, source: validationRef });
  const { honoursAbort, timeoutSec, policyTags, riskLevel, estimatedCost, ...rest } = told;
  const { input: _input, output: _output, run: _run, preview: _preview, check: _check, ...metadataOptions } = rest;
  const { input, output, run, preview, check } = options;
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
    input: input as z.ZodType<unknown, z.input<I>>,
    output: (output ?? z.unknown()) as z.ZodType<DataOf<z.output<O>>>,
    run: run as Operator["run"],
    tool: null,
    preview: (preview as Operator["preview"]) ?? null,
    check: (check as Operator["check"]) ?? null,
  });
}

/** A tool of a tool server as an operator. Its work is done through `client`, bridged by T0 (C-04, OPR-06). */
export interface ToolOptions
  extends Omit<OperatorOptions<z.ZodType, z.ZodType>, "run" | "preview" | "check" | "kind" | "input"> {
  /** The tool's name at its server. */
  readonly tool: string;
  readonly client: ToolClient;
  readonly input?: z.ZodType;
  /** JSON Schema of the tool's input, as its server states it; used to repair a refused call. */
  readonly inputSchema?: JsonObject;
}

const ToolShape = OperatorShape.omit({ run: true, preview: true, kind: true }).extend({
  input: zodSchema.optional(),
  tool: z.string().min(1),
  client: z.custom<ToolClient>(
    (value) => typeof (value as ToolClient | null)?.request === "function",
    "must be a client with a request function",
  ),
  inputSchema: JsonObject.nullish(),
} satisfies Partial<KeysOf<ToolOptions>>);

/** @throws as defineOperator. */
export function defineTool(given: ToolOptions): Operator {
  readStrictly(ToolShape, given, { what: `tool ${given?.name}`, source: validationRef });
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

/** Any accepted form of metadata becomes a full, frozen record of its own (SKL-01, SKL-04). */
export function normalizeMetadata<N extends string = string>(raw: unknown): Operator<unknown, unknown, N>["metadata"] {
  const read = readStrictly(OperatorMetadata, raw, { what: "operator metadata", source: validationRef });
  return deepFreeze(structuredClone(read)) as Operator<unknown, unknown, N>["metadata"];
}

/** A copy for keeping: metadata made whole and checked, nothing in it the caller's to change (SKL-01, SKL-04). */
export function closeOperator(given: Operator): Operator {
  requireKnownMembers(given, operatorMembers, { what: "operator", source: validationRef });
  const { input = z.unknown(), output = z.unknown(), tool = null } = given;
  return Object.freeze({
    metadata: normalizeMetadata(given.metadata),
    input,
    output,
    run: given.run.bind(given),
    tool,
    preview: given.preview?.bind(given) ?? null,
    check: given.check?.bind(given) ?? null,
  });
}

const operatorMembers = {
  metadata: 0,
  input: 0,
  output: 0,
  run: 0,
  tool: 0,
  preview: 0,
  check: 0,
} satisfies KeysOf<Operator>;

/** How an operator fails with intent (seed 003 section 8.1). Throw what this returns. */
export interface OperatorErrorOptions {
  readonly code: string;
  readonly message: string;
  readonly category?:
    | "validation"
    | "authorization"
    | "policy_denied"
    | "transient"
    | "dependency"
    | "operator_bug"
    | "timeout";
  readonly retryable?: boolean;
  readonly retry_after_ms?: number | null;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** What `operatorError` makes: an operator's own failure. */
export class OperatorError extends Error {
  readonly executorError: Required<OperatorErrorOptions>;
  constructor(options: OperatorErrorOptions) {
    super(options.message);
    this.name = "OperatorError";
    const category = options.category ?? "dependency";
    const retryable = options.retryable ?? (category === "transient" || category === "timeout");
    this.executorError = { retry_after_ms: null, details: {}, ...options, category, retryable };
  }
}

/** An error to throw from an operator: with a code, whether a retry may help, and what it rests on. */
export const operatorError = (options: OperatorErrorOptions): OperatorError => new OperatorError(options);
