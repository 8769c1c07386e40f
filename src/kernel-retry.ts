/**
 * Retrying, with the one case that is a new workflow: regenerating what has ended.
 */
import { RetryRequest } from "./contract/retry.ts";
import type { WorkflowRecord } from "./contract/workflow.ts";
import type { Kernel } from "./kernel-face.ts";
import type { LedgerReading } from "./runtime/ledger-reader.ts";
import type { createGateway } from "./tiers/t0-foundation/gateway.ts";
import { affectedSteps } from "./tiers/t4-execution/restart-workflow.ts";
import { baseIdOf } from "./tiers/t4-execution/run.ts";

interface Again {
  readonly gateway: ReturnType<typeof createGateway>;
  readonly reading: LedgerReading;
  readonly workflowId: string;
  readonly request: Parameters<Kernel["retry"]>[1];
}

/** Regenerating what has ended begins a new workflow, linked to the old one and carrying its intent. */
export async function retryOrBeginAgain({ gateway, reading, workflowId, request }: Again): ReturnType<Kernel["retry"]> {
  if (RetryRequest.safeParse(request).data?.mode !== "regenerate") return gateway.retry(workflowId, request);
  const record = await reading.readWorkflowState(workflowId, {
    tenant_id: request.tenant_id,
    principal: request.principal,
  });
  if (record.state !== "completed" && record.state !== "cancelled") return gateway.retry(workflowId, request);
  const { intent, thread_id, correlation_id, draft_version } = record;
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
  };
  const accepted = await gateway.submit(again, {
    parent_workflow_id: workflowId,
    intent_id: intent.intent_id,
    draft_version: draft_version + 1,
    regenerate: stepsToRegenerate(record, request.step_ids),
    correlation_id,
  });
  return { workflow_id: accepted.workflow_id, status: "restarted", correlation_id };
}

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
