/**
 * Retries, including the three that begin a new workflow: regenerating ended work; repeating it under the same keys, so
 * that stored results answer and only unfinished calls run; and repeating it under another version.
 */

import { capabilityRef } from "../contract/capability.ts";
import { isAwaited, type ParentLink } from "../contract/child.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { PrincipalRef } from "../contract/gate-vote.ts";
import { requestFrom } from "../contract/intent.ts";
import type { JsonObject } from "../contract/json.ts";
import { raise } from "../contract/kernel-error.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { RetryRequest } from "../contract/retry.ts";
import { isTerminal, type WorkflowRecord } from "../contract/workflow.ts";
import { takeJson } from "../engine/actors/take-json.ts";
import type { LedgerReading } from "../engine/follow/ledger-reader.ts";
import { adoptInputs } from "../tiers/t1-perception/normalize-intent.ts";
import { keepDrafts, repeatOf, sameVersions, type Versions } from "../tiers/t4-execution/decide/call/repeat-work.ts";
import { affectedSteps } from "../tiers/t4-execution/decide/plan/restart-workflow.ts";
import { baseIdOf } from "../tiers/t4-execution/decide/run/run.ts";
import type { Kernel } from "./kernel-interface.ts";
import { type ReachParts, requireReach } from "./require-reach.ts";

interface Again extends ReachParts {
  readonly workflowId: string;
  readonly request: Parameters<Kernel["retry"]>[1];
}

/**
 * Retries a workflow. Regenerating or replaying an ended one begins a new workflow, linked to the old one, with its
 * intent.
 */
export async function retryOrBeginAgain(again: Again): ReturnType<Kernel["retry"]> {
  const { gateway, reading, workflowId } = again;
  const request = takeJson(again.request, { what: "request", source: retryRef }) as unknown as RetryRequest;
  const { mode, step_ids, version } = RetryRequest.safeParse(request).data ?? {};
  if (version !== undefined && mode !== "migrate") refuseVersion();
  if (mode === undefined) return gateway.retry(workflowId, request);
  const caller = { tenant_id: request.tenant_id, principal: request.principal };
  await requireReach(again, workflowId, { caller, scope: "workflow:retry" });
  if (mode === "resume_failed_steps") return gateway.retry(workflowId, request);
  const record = await reading.readWorkflowState(workflowId, caller);
  if (record.compensating !== null) refuseUndone(record);
  const isEnded = ["completed", "cancelled"].includes(record.state);
  if (record.fork !== null && (mode !== "regenerate" || isEnded)) refuseFork(record);
  if (mode === "migrate") return migrate({ ...again, request }, record);
  if (mode === "replay" && !isTerminal(record.state)) refuseUnended(record);
  const beginsAnew = mode === "replay" || isEnded;
  if (!beginsAnew) return gateway.retry(workflowId, request);
  const drafts = mode === "replay" ? sameVersions(record) : nextVersions(record, step_ids);
  const { version: same, inputs } = record.intent;
  return beginAgain({ ...again, request }, record, { drafts, version: same, inputs });
}

/**
 * Repeats the work under another version of its package, with its keys. The present work is cancelled first, so that it
 * never runs twice; an interrupted request is simply sent again.
 */
async function migrate(again: Again, record: WorkflowRecord): ReturnType<Kernel["retry"]> {
  const { gateway, registry, workflowId, request } = again;
  const caller = { tenant_id: request.tenant_id, principal: request.principal };
  const { type } = record.intent;
  if (record.state === "completed") refuseCompleted(record);
  if (!isTerminal(record.state) && isAwaited(record.parent)) refuseAwaited(record, record.parent);
  const capability = registry.getCapability(type, request.version);
  const inputs = adoptInputs(capability, record.intent.inputs);
  await gateway.authorize(caller, "intent:submit");
  const ref = capabilityRef(type, capability.version);
  if (!isTerminal(record.state)) {
    await requireReach(again, workflowId, { caller, scope: "workflow:cancel" });
    await gateway.cancel(workflowId, { ...caller, reason: `migrated to ${ref}` });
  }
  const idempotency_key = request.idempotency_key ?? `migrate:${workflowId}@${capability.version}`;
  const keyed = { ...again, request: { ...request, idempotency_key } };
  return beginAgain(keyed, record, { drafts: sameVersions(record), version: capability.version, inputs });
}

const retryRef = moduleRef(0, "gateway", "retry");

const refuseVersion = (): never =>
  raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", 'a version is named with mode "migrate" alone', retryRef));

/** Refuses to run a workflow again. @throws KernelErrorException T4_WORKFLOW_CONFLICT always. */
const refuse = ({ workflow_id, state }: WorkflowRecord, message: string, more: JsonObject = {}): never =>
  raise(kernelError("T4_WORKFLOW_CONFLICT", message, retryRef, { detail: { state, workflow_id, ...more } }));

const refuseUndone = (record: WorkflowRecord): never =>
  refuse(record, `what ${record.workflow_id} has done is undone; submit the work anew`);

const refuseFork = (record: WorkflowRecord): never =>
  refuse(
    record,
    `${record.workflow_id} has taken over a part of ${record.fork?.workflow_id}, which would be done again: ` +
      "fork it instead",
  );

const refuseUnended = (record: WorkflowRecord): never =>
  refuse(record, `only what has ended is run again from its beginning; this is ${record.state}`);

const refuseCompleted = (record: WorkflowRecord): never =>
  refuse(record, `${record.workflow_id} is completed; nothing of it is left to migrate`);

function refuseAwaited(record: WorkflowRecord, { workflow_id: parent }: ParentLink): never {
  const message = `${parent} waits for ${record.workflow_id}; migrate that one, or register the old version again`;
  return refuse(record, message, { parent });
}

interface Round {
  readonly drafts: Versions;
  /** The version of the package. */
  readonly version: string;
  /** The inputs as that version of the package has parsed them. */
  readonly inputs: JsonObject;
}

async function beginAgain(
  { gateway, reading, request }: Again,
  record: WorkflowRecord,
  { drafts, version, inputs }: Round,
): ReturnType<Kernel["retry"]> {
  const { intent, thread_id, correlation_id } = record;
  const { feedback, idempotency_key } = request;
  const { input, ...terms } = requestFrom(intent);
  const again = {
    ...terms,
    tenant_id: request.tenant_id,
    principal: request.principal,
    thread_id,
    input: { ...input, text: intent.text },
    intent_hint: { intent_type: capabilityRef(intent.type, version), inputs },
    ...(idempotency_key !== undefined && { idempotency_key }),
  };
  const lineage = {
    ...repeatOf(record, drafts),
    correlation_id,
    requesters: await lineageOf(reading, record),
    ...(feedback === undefined ? {} : { feedback }),
  };
  const accepted = await gateway.submit(again, { lineage });
  return { workflow_id: accepted.workflow_id, status: "restarted", correlation_id };
}

/** Returns the principals who have requested the work so far; links of older releases are followed to the beginning. */
async function lineageOf(reading: LedgerReading, record: WorkflowRecord): Promise<readonly PrincipalRef[]> {
  const people = [...record.requesters];
  for (let at = record; !at.knowsLineage && at.regenerated_from !== null; ) {
    at = await reading.readWorkflowState(at.regenerated_from);
    people.unshift(...at.requesters);
  }
  return people;
}

/** Returns a new version for the steps to repeat; each other step keeps the one that it has by now. */
function nextVersions(record: WorkflowRecord, named: readonly string[] | undefined): Versions {
  const regenerate = stepsToRegenerate(record, named);
  return { draft_version: record.draft_version + 1, regenerate, kept_drafts: keepDrafts(record, regenerate) };
}

/** Returns the base ids of the steps to repeat; the others keep their keys and are answered from the record. */
function stepsToRegenerate(record: WorkflowRecord, named: readonly string[] | undefined): readonly string[] {
  const steps = record.plan?.steps ?? [];
  const drafts = steps.some((s) => s.outcome !== null);
  const affected =
    record.plan === null || (named === undefined && !drafts)
      ? steps.map((s) => s.step_id)
      : affectedSteps(record, record.plan, named);
  return [...affected].map(baseIdOf);
}
