/**
 * Defining an operator: typed by its zod schemas, normalised metadata, frozen. Source: seed 002 section 15, seed 003 5.7.
 */
import { z } from "zod";
import { createError, KernelErrorException } from "../contract/error.ts";
import { deepFreeze, type JsonObject } from "../contract/json.ts";
import { moduleRef } from "../contract/module-ref.ts";
import {
  type GatePreview,
  type Operator,
  type OperatorCall,
  OperatorMetadata,
  type OperatorQuestion,
} from "../contract/operator.ts";
import type { ToolClient } from "../contract/tool.ts";

/** An operator as a host writes it: metadata in camelCase options, schemas, and the function that does the work. */
export interface OperatorOptions<I extends z.ZodType, O extends z.ZodType> {
  readonly name: string;
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

/** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH when the metadata is not valid. */
export function defineOperator<I extends z.ZodType, O extends z.ZodType = z.ZodType<unknown>>(
  options: OperatorOptions<I, O>,
): Operator {
  const {
    input,
    output,
    run,
    preview,
    check,
    honoursAbort,
    timeoutSec,
    policyTags,
    riskLevel,
    estimatedCost,
    ...rest
  } = options;
  const metadata = normalizeMetadata({
    ...rest,
    honours_abort: honoursAbort,
    timeout_sec: timeoutSec,
    policy_tags: policyTags,
    risk_level: riskLevel,
    estimated_cost: estimatedCost,
  });
  return Object.freeze({
    metadata,
    input,
    output: output ?? z.unknown(),
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

export function defineTool({ tool, client, inputSchema, input, ...options }: ToolOptions): Operator {
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
export function normalizeMetadata(raw: unknown): OperatorMetadata {
  const parsed = OperatorMetadata.safeParse(raw);
  if (parsed.success) return deepFreeze(structuredClone(parsed.data));
  throw new KernelErrorException(
    createError(
      "T0_VALIDATION_SCHEMA_MISMATCH",
      "input",
      "transient",
      `operator metadata: ${z.prettifyError(parsed.error)}`,
      moduleRef(0, "validation", "normalizeMetadata"),
    ),
  );
}

/** A copy for keeping: metadata made whole and checked, nothing in it the caller's to change (SKL-01, SKL-04). */
export function closeOperator(given: Operator): Operator {
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

export const operatorError = (options: OperatorErrorOptions): OperatorError => new OperatorError(options);
