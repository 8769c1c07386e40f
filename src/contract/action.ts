/** The action ledger: one record per idempotency key, with the result of its call. */
import { z } from "zod";
import { KernelError } from "./error.ts";
import { ActionId, IntentId, PlanId, RecordedStepId, TenantId, WorkflowId } from "./ids.ts";
import { JsonValue } from "./json.ts";
import { addMoney, Money } from "./money.ts";

export const actionStates = ["running", "succeeded", "failed", "in_doubt"] as const;

/** Tokens of one call: at most a million million, so that sums of calls stay exact. */
const Count = z.int().nonnegative().max(1_000_000_000_000);

export const TokenCount = z
  .object({ in: Count, out: Count, total: Count })
  .refine((t) => t.total === t.in + t.out, "total must equal in plus out");
export const ProviderTrace = z.object({ trace_id: z.string(), trace_type: z.string() });

/** The usage of an operator call; an operator reports it through `usage(...)`. */
export const Usage = z.object({
  tokens: TokenCount.optional(),
  cost: z.object({ total: Money }).optional(),
  trace: ProviderTrace.optional(),
  /** The model endpoint that was used, where the call was routed to one. */
  model: z.string().min(1).max(256).optional(),
});
export type Usage = z.infer<typeof Usage>;

/**
 * Adds two usage reports of one call. Amounts are summed; trace and model are those of the later report that has them.
 */
export function addUsage(one: Usage, other: Usage): Usage {
  const [a, b] = [one.tokens, other.tokens];
  const tokens =
    a === undefined || b === undefined ? (a ?? b) : { in: a.in + b.in, out: a.out + b.out, total: a.total + b.total };
  const [x, y] = [one.cost, other.cost];
  const cost = x === undefined || y === undefined ? (x ?? y) : { total: addMoney(x.total, y.total) };
  return { ...one, ...other, ...(tokens === undefined ? {} : { tokens }), ...(cost === undefined ? {} : { cost }) };
}

/**
 * Returns the name under which a call of a key is indexed. Each call that may take effect has a number of its own, so
 * that no two workflows make the same call.
 */
export const claimedKey = (key: string, claim: number): string => (claim === 1 ? key : `${key}#${claim}`);

/** Returns the key of the call that undoes the call of a key. */
export const undoKey = (key: string): string => `undo:${key}`;

/** One call of an operator, from its start to its end. */
export const ActionRecord = z.object({
  action_id: ActionId,
  tenant_id: TenantId,
  workflow_id: WorkflowId,
  intent_id: IntentId,
  plan_id: PlanId,
  step_id: RecordedStepId,
  operator_name: z.string(),
  operator_version: z.string(),
  idempotency_key: z.string().min(1),
  status: z.enum(actionStates),
  payload_hash: z.string(),
  input_payload: JsonValue,
  result_payload: JsonValue.nullable(),
  error: KernelError.nullable(),
  trace: ProviderTrace.nullable(),
  timing: z.object({ started_at: z.string(), finished_at: z.string().nullable() }),
  tokens: TokenCount.nullable(),
  cost: z.object({ total: z.number() }).nullable(),
});
export type ActionRecord = z.infer<typeof ActionRecord>;

/** The answer of the invoker: done, failed, or still running in the outside system, with a handle for it. */
export type OperatorResult =
  | {
      readonly status: "succeeded";
      readonly action_id: string;
      readonly result: unknown;
      readonly usage: Usage;
      readonly cached: boolean;
    }
  | {
      readonly status: "failed";
      readonly action_id: string;
      readonly error: KernelError;
      readonly usage: Usage;
      readonly pending: boolean;
      readonly cached: boolean;
    }
  | { readonly status: "in_progress"; readonly action_id: string; readonly handle: Promise<OperatorResult> };
