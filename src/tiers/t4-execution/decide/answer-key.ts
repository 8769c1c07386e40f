/**
 * What an idempotency key answers (seed 003 sections 5.7, 7.1): the one place that says whether an attempt is a call.
 *
 * K1  An unseen key runs; a succeeded one answers from the record; a running one gives its handle; a failed one gives the
 *     same failure unless it may be begun again. No key, no call.
 * K2  A call whose end nobody knows is made again only if it may be repeated.
 */
import type { Usage } from "../../../contract/action.ts";
import { type KernelError, raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import type { Json } from "../../../contract/json.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { ActionEntry } from "../../../contract/workflow.ts";
import { deriveApplyKey, deriveKey } from "./derive-key.ts";
import { isRepeatable, type Prepared } from "./prepare-step.ts";
import { ask, draftOfStep, isUnderWay, type Run } from "./run.ts";

export const invokerRef = moduleRef(4, "operator_invoker", "invoke");

/** What is known of a key. */
export type KeyState =
  | { readonly seen: "unseen"; readonly recovered: boolean }
  | { readonly seen: "running"; readonly action_id: string }
  | { readonly seen: "succeeded"; readonly action_id: string; readonly result: Json; readonly usage: Usage }
  | { readonly seen: "failed_final"; readonly action_id: string; readonly error: KernelError }
  | { readonly seen: "in_doubt"; readonly action_id: string };

/** What another workflow made of a key. */
export interface SharedKey {
  readonly action_id: string;
  readonly result: Json | null;
  readonly succeeded: boolean;
}

export function keyOf(run: Run, { step, operator, inputs }: Prepared): string {
  const { record } = run.log;
  const target =
    step.idempotency.strategy === "applies" && step.applies !== null ? draftOfStep(record, step.applies) : null;
  if (target !== null) return deriveApplyKey(record, target);
  return deriveKey({
    operator: step.operator,
    version: operator.metadata.version,
    tenantId: record.tenant_id,
    intentId: record.intent.intent_id,
    stepId: step.step_id,
    inputs,
    draftVersion: step.draft_version,
  });
}

/** @throws KernelErrorException T4_IDEMPOTENCY_PAYLOAD_MISMATCH. */
export function answerKey(run: Run, prepared: Prepared, key: string): KeyState {
  const { keys, actions } = run.log.record;
  const entry = actions.get(keys.get(key) ?? "");
  if (entry !== undefined) return readEntry(run, prepared, { entry, key });
  const shared = sharedKey(run, key);
  if (shared === null) return { seen: "unseen", recovered: false };
  const { action_id, result } = shared;
  return shared.succeeded ? { seen: "succeeded", action_id, result, usage: {} } : { seen: "in_doubt", action_id };
}

/** An apply key may have been used by another workflow of the same scope; any key by the one whose work is made again. */
export function sharedKey(run: Run, key: string): SharedKey | null {
  const isShared = key.startsWith("apply:") || run.log.record.parent_workflow_id !== null;
  return isShared ? ask<SharedKey | null>(run, "shared", { ask: "shared_key", key }) : null;
}

function readEntry(
  run: Run,
  { operator, hash }: Prepared,
  { entry, key }: { readonly entry: ActionEntry; readonly key: string },
): KeyState {
  const { action_id, payload_hash, result_payload, error } = entry.record;
  if (payload_hash !== hash)
    raise(
      kernelError("T4_IDEMPOTENCY_PAYLOAD_MISMATCH", `key ${key} was used with another payload`, invokerRef, {
        detail: { key },
      }),
    );
  switch (entry.seen) {
    case "succeeded":
      return { seen: "succeeded", action_id, result: result_payload, usage: usageOf(entry) };
    case "failed_retryable":
      return { seen: "unseen", recovered: false };
    case "failed_final":
      return { seen: "failed_final", action_id, error: error as KernelError };
    case "in_doubt":
      return { seen: "in_doubt", action_id };
    default:
      if (isUnderWay(run, key)) return { seen: "running", action_id };
      return isRepeatable(operator) ? { seen: "unseen", recovered: true } : { seen: "in_doubt", action_id };
  }
}

function usageOf({ record: { tokens, cost, trace } }: ActionEntry): Usage {
  return {
    ...(tokens === null ? {} : { tokens }),
    ...(cost === null ? {} : { cost }),
    ...(trace === null ? {} : { trace }),
  };
}
