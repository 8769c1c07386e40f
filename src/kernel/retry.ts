/**
 * Retrying, with the two cases that are a new workflow: regenerating what has ended, and doing it again under the
 * same keys, so that stored results answer and only what never succeeded runs.
 */

import { isSpent } from "../contract/action.ts";
import type { PrincipalRef } from "../contract/gate-vote.ts";
import { RetryRequest } from "../contract/retry.ts";
import { isTerminal, type WorkflowRecord } from "../contract/workflow.ts";
import type { LedgerReading } from "../runtime/ledger-reader.ts";
import type { createGateway } from "../tiers/t0-foundation/gateway.ts";
import { affectedSteps } from "../tiers/t4-execution/decide/restart-workflow.ts";
import { baseIdOf } from "../tiers/t4-execution/decide/run.ts";
import type { Kernel } from "./face.ts";

interface Again {
  readonly gateway: ReturnType<typeof createGateway>;
  readonly reading: LedgerReading;
  readonly workflowId: string;
  readonly request: Parameters<Kernel["retry"]>[1];
}

/** Regenerating or replaying what has ended begins a new workflow, linked to the old one and carrying its intent. */
export async function retryOrBeginAgain({ gateway, reading, workflowId, request }: Again): ReturnType<Kernel["retry"]> {
  const { mode, feedback } = RetryRequest.safeParse(request).data ?? {};
  if (mode !== "regenerate" && mode !== "replay") return gateway.retry(workflowId, request);
  const caller = { tenant_id: request.tenant_id, principal: request.principal };
  await gateway.authorize(caller, "workflow:execute");
  const record = await reading.readWorkflowState(workflowId, caller);
  const beginsAnew = mode === "replay" ? isTerminal(record.state) : ["completed", "cancelled"].includes(record.state);
  if (!beginsAnew) return gateway.retry(workflowId, request);
  const { intent, thread_id, correlation_id } = record;
  const { document_ids, ...context_refs } = intent.context_refs;
  const again = {
    source: intent.source,
    tenant_id: request.tenant_id,
    principal: request.principal,
    thread_id,
    scope: intent.scope,
    constraints: intent.constraints,
    context_refs,
    input: {
      mode: "data" as const,
      text: intent.text,
      attachments: { document_ids: (document_ids as (string | number)[] | undefined) ?? [] },
    },
    intent_hint: { intent_type: `${intent.type}@${intent.version}`, inputs: intent.inputs },
    ...(request.idempotency_key !== undefined && { idempotency_key: request.idempotency_key }),
  };
  const accepted = await gateway.submit(again, {
    parent_workflow_id: workflowId,
    intent_id: intent.intent_id,
    ...(mode === "replay" ? sameVersions(record) : nextVersions(record, request.step_ids)),
    correlation_id,
    requesters: await lineageOf(reading, record),
    ...(feedback === undefined ? {} : { feedback }),
    spent_calls: spentIn(record),
  });
  return { workflow_id: accepted.workflow_id, status: "restarted", correlation_id };
}

/** Who has asked for the work until now; what an older release linked is followed to its beginning. */
async function lineageOf(reading: LedgerReading, record: WorkflowRecord): Promise<readonly PrincipalRef[]> {
  const people = [...record.requesters];
  for (let at = record; !at.knowsLineage && at.parent_workflow_id !== null; ) {
    at = await reading.readWorkflowState(at.parent_workflow_id);
    people.unshift(...at.requesters);
  }
  return people;
}

/** Whoever asks knows that these were made for nothing, and has them made again. */
function spentIn({ spent_calls, actions }: WorkflowRecord): readonly string[] {
  const own = [...actions.values()].filter(
    ({ seen, record: { error } }) => seen.startsWith("failed") && isSpent(error),
  );
  return [...new Set([...spent_calls, ...own.map(({ record: { action_id } }) => action_id)])];
}

interface Versions {
  readonly draft_version: number;
  readonly regenerate: readonly string[];
}

/** The draft versions that the workflow began with: every key stays. */
const sameVersions = ({ plans, regenerate }: WorkflowRecord): Versions => ({
  draft_version: Math.max(1, ...(plans[0]?.steps ?? []).map((step) => step.draft_version)),
  regenerate,
});

const nextVersions = (record: WorkflowRecord, named: readonly string[] | undefined): Versions => ({
  draft_version: record.draft_version + 1,
  regenerate: stepsToRegenerate(record, named),
});

/** Base ids of what is made again, so that the other steps keep their keys and are answered from the record. */
function stepsToRegenerate(record: WorkflowRecord, named: readonly string[] | undefined): readonly string[] {
  const steps = record.plan?.steps ?? [];
  const drafts = steps.some((s) => s.outcome !== null);
  const affected =
    record.plan === null || (named === undefined && !drafts)
      ? steps.map((s) => s.step_id)
      : affectedSteps(record, record.plan, named);
  return [...affected].map(baseIdOf);
}
