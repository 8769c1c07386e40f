/**
 * Calling one operator alone, as an executor would: parsed input, a call with key and signal, parsed output.
 *
 * Owns: the stand-in context of a call outside a workflow, and the recording of what the operator reported. Never:
 * retries, gates, or records in a ledger: that is the kernel's.
 */
import type { Usage } from "../contract/action.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { Json } from "../contract/json.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Operator, OperatorCall, OperatorContext } from "../contract/operator.ts";
import { paramsFaults, readStably } from "../contract/schema-reading.ts";

/** One call of an operator outside any workflow. */
export interface OperatorTrial {
  /** The operator to call. */
  readonly operator: Operator;
  /** Before parsing by the operator's schema. */
  readonly input: unknown;
  /** The idempotency key; a new one by default. */
  readonly idempotencyKey?: string;
  /** The signal; by default one that never fires. */
  readonly signal?: AbortSignal;
  /** The number of the attempt; 1 by default. */
  readonly attempt?: number;
  /** Parts that replace those of `trialContext`. */
  readonly context?: Partial<OperatorContext>;
  /** The checkpoint of an earlier attempt. */
  readonly restored?: Json;
  /** The answer to the call's `route`; without one it is refused, as by a kernel without model endpoints. */
  readonly route?: OperatorCall["route"];
}

/** The result and the reports of the call. */
export interface OperatorTrialResult {
  readonly output: unknown;
  readonly reports: readonly number[];
  readonly chunks: readonly string[];
  readonly usage: readonly Usage[];
  /** Events (with a label) and checkpoints (without) that it recorded. */
  readonly records: readonly { readonly label: string | null; readonly detail: object }[];
}

/** The context of a call that belongs to no workflow of a ledger. */
export const trialContext: OperatorContext = Object.freeze({
  workflow_id: "wf_00000000000000000000000000",
  step_id: "trial",
  tenant_id: "tenant",
  correlation_id: "cor_00000000000000000000000000",
  auth: {
    tenant_id: "tenant",
    principal_id: "tester",
    principal_type: "user",
    role: "tester",
    scopes: [],
    data_policy: { allow_pii: true, allow_external_send: false },
  },
  bundle: null,
});

const refuseRoute: OperatorCall["route"] = async () =>
  raise(kernelError("T7_ROUTE_NO_ENDPOINT", "the trial has no model endpoints", moduleRef(7, "model_router", "route")));

/** Returns the payload that a kernel would call the operator with. */
function readInput({ metadata, input: schema }: Operator, input: unknown): Json {
  const reading = readStably(schema, input);
  if (reading.ok) return reading.value;
  if (reading.error !== null) throw reading.error;
  const source = moduleRef(0, "testing", "callOperator");
  return raise(kernelError(paramsFaults[reading.fault], `params of ${metadata.name}: ${reading.problem}`, source));
}

/**
 * Runs the operator once. Rejects with what it threw, with a ZodError when input or output does not parse, and with the
 * kernel's error when the input's schema gives no JSON, or would change what it gave.
 */
export async function callOperator(trial: OperatorTrial): Promise<OperatorTrialResult> {
  const { operator, input, idempotencyKey = "trial", attempt = 1, signal = new AbortController().signal } = trial;
  const reports: number[] = [];
  const chunks: string[] = [];
  const usage: Usage[] = [];
  const records: OperatorTrialResult["records"][number][] = [];
  const call: OperatorCall = {
    input: readInput(operator, input),
    idempotencyKey,
    attempt,
    isRetry: attempt > 1,
    signal,
    context: { ...trialContext, ...trial.context },
    report: (percent) => reports.push(percent),
    stream: (chunk) => chunks.push(chunk),
    usage: (used) => usage.push(used),
    emit: (label, detail = {}) => records.push({ label, detail }),
    checkpoint: (state) => records.push({ label: null, detail: { state } }),
    restored: trial.restored ?? null,
    capabilityUsage: () => ({ invocations: 1, tokens: 0 }),
    waitUrl: (stepId) => `https://trial.example/v1/waits/${stepId}`,
    route: trial.route ?? refuseRoute,
  };
  const output = operator.output.parse(await operator.run(call as OperatorCall<never>));
  return { output, reports, chunks, usage, records };
}
