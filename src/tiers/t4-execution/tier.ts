/**
 * T4, execution: does the work. Its door takes activations (start a workflow, decide a gate), aborts, retries, pivots and
 * refused intents; everything a workflow does happens in its run.
 *
 * Never: decides whether something may happen (T5), what to do (T3), or whether a workflow may exist (T7).
 */
import type { AuthContext } from "../../contract/auth-context.ts";
import type { KernelError } from "../../contract/error.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { draft } from "../../contract/event.ts";
import type {
  GateResponse,
  ParsedDelegationRequest,
  ParsedGateRequest,
  WithdrawalRequest,
} from "../../contract/gate.ts";
import type { PrincipalRef } from "../../contract/gate-vote.ts";
import type { Intent, Principal, Submission } from "../../contract/intent.ts";
import { metricsOf, ok, type Result } from "../../contract/result.ts";
import type { RetryResponse } from "../../contract/retry.ts";
import type { Signal } from "../../contract/signal.ts";
import { genesisHash, openTurn, sealTurn, turnSchemaVersion } from "../../contract/turn.ts";
import { isTerminal } from "../../contract/workflow.ts";
import type { Door, TierDefinition } from "../../runtime/define-tier.ts";
import { consume, type Kit } from "../../runtime/kit.ts";
import type { LedgerWriter } from "../../runtime/ledger-writer.ts";
import { type Executor, notFound } from "./executor.ts";
import { decideGate } from "./judge-gate.ts";
import { delegateGate, withdrawVote } from "./lend-seat.ts";
import { acceptedOf, recallFirst, type SubmissionQuery, type SubmissionStore } from "./recall-submission.ts";
import { restartWorkflow } from "./restart-workflow.ts";
import { oodaRef } from "./run.ts";
import type { WorkflowRun } from "./workflow-run.ts";

/** What intake hands over once the intent is known (T1) and routed (T6). */
export interface Intake {
  readonly workflow_id: string;
  readonly plan_id: string;
  readonly tenant_id: string | number;
  readonly thread_id: string | number | null;
  readonly intent: Intent;
  readonly auth: AuthContext;
  readonly domain: string;
  readonly urgency: string;
  readonly warnings: readonly KernelError[];
  readonly parent_workflow_id: string | null;
  readonly draft_version: number;
  readonly regenerate: readonly string[];
  readonly requesters?: readonly PrincipalRef[];
  readonly submission?: Submission;
}

export interface RejectedIntent {
  readonly workflow_id: string;
  readonly intent_id: string;
  readonly plan_id: string;
  readonly tenant_id: string | number;
  readonly thread_id: string | number | null;
  readonly intent_type: string | null;
  readonly error: KernelError;
}

export interface ExecutionTierOptions {
  readonly executor: () => Executor;
  readonly writer: LedgerWriter;
  readonly store: SubmissionStore;
  readonly onStart?: () => void;
}

const ref = (fn: string) => oodaRef(fn);
const answer = (
  signal: Signal,
  kit: Kit,
  data: unknown,
  what: { readonly schema: string; readonly fn: string },
): Result =>
  ok(
    [kit.signals.createDataSignal(data, what.schema, ref(what.fn), signal.trace_id, null, { parentId: signal.id })],
    metricsOf(ref(what.fn)),
  );

export function createExecutionTier({ executor, writer, store, onStart }: ExecutionTierOptions): TierDefinition {
  const doors: Record<string, Door> = {
    "command:activate": {
      module: "ooda_loop",
      function: "act",
      check: (body) =>
        typeof body["intake"] === "object" || typeof body["workflow_id"] === "string"
          ? null
          : "an activation carries an intake, or a workflow_id",
      handle: (signal, kit) => {
        if (signal.body["intake"] !== undefined) return startWorkflow({ executor: executor(), store }, signal, kit);
        return atGate(signal.body) === null
          ? wakeWorkflow(executor(), signal, kit)
          : hearAtGate(executor(), signal, kit);
      },
    },
    "command:abort": {
      module: "ooda_loop",
      function: "abort",
      check: needsWorkflow,
      handle: (signal, kit) => abortWorkflow(executor(), signal, kit),
    },
    "command:retry": {
      module: "ooda_loop",
      function: "retry",
      check: needsWorkflow,
      handle: (signal, kit) => retryWorkflow(executor(), signal, kit),
    },
    "command:pivot": {
      module: "ooda_loop",
      function: "pivot",
      check: needsWorkflow,
      handle: (signal, kit) => pivotWorkflow(executor(), signal, kit),
    },
    "command:sleep": {
      module: "ooda_loop",
      function: "sleep",
      check: needsWorkflow,
      handle: (signal, kit) => sleepWorkflow(executor(), signal, kit),
    },
    "data:SubmissionQuery": {
      module: "ooda_loop",
      function: "recall",
      handle: (signal, kit) => recallSubmission(store, signal, kit),
    },
    "data:IntentRejection": {
      module: "ooda_loop",
      function: "reject",
      handle: (signal, kit) => rejectIntent(writer, signal, kit),
    },
  };
  return { tier: 4, name: "execution", doors, ...(onStart === undefined ? {} : { start: onStart }) };
}

const needsWorkflow = (body: Signal["body"]): string | null =>
  typeof body["workflow_id"] === "string" ? null : "the command names no workflow_id";

/** T7 decides that the workflow may exist; its first event is committed; then the answer leaves and the work begins. */
async function startWorkflow({ executor, store }: Beginning, signal: Signal, kit: Kit): Promise<Result> {
  const intake = signal.body["intake"] as Intake;
  const { workflow_id, plan_id, tenant_id, thread_id, intent } = intake;
  consume(
    await kit.ask(
      7,
      kit.signals.createDataSignal({ workflow_id }, "Registration", ref("act"), signal.trace_id, null, {
        parentId: signal.id,
      }),
    ),
    () => undefined,
  );
  const run = executor.begin(
    { workflow_id, plan_id, tenant_id, thread_id, intent_id: intent.intent_id, correlation_id: signal.trace_id },
    signal.id,
  );
  const { auth, domain, urgency, warnings, parent_workflow_id, draft_version, regenerate, requesters, submission } =
    intake;
  const facts = {
    pipeline: String(signal.body["pipeline"]),
    complexity: signal.tags["complexity"] ?? "simple",
    domain,
    urgency,
    warnings,
    parent_workflow_id,
    draft_version,
    ...(regenerate.length === 0 ? {} : { regenerate }),
    ...(requesters === undefined ? {} : { requesters }),
    ...(submission === undefined ? {} : { submission }),
  };
  const said = { schema: "SubmitResponse", fn: "act" };
  try {
    await run.begin(async () => {
      run.log.note(draft("INTENT_RECEIVED", { intent, auth, plan_id, ...facts }));
      await run.log.commit();
    });
  } catch (thrown) {
    // Whoever came first under this key has the workflow, in whichever process.
    const first = await recallFirst(store, { tenant_id, principal: intent.actor, submission });
    if (first === null) throw thrown;
    return answer(signal, kit, first, said);
  }
  const ids = { workflow_id, intent_id: intent.intent_id, plan_id, correlation_id: signal.trace_id };
  return answer(signal, kit, acceptedOf(ids), said);
}

interface Beginning {
  readonly executor: Executor;
  readonly store: SubmissionStore;
}

/** What a submit key was answered with before; null for one that is new. */
async function recallSubmission(store: SubmissionStore, signal: Signal, kit: Kit): Promise<Result> {
  const first = await recallFirst(store, signal.body["data"] as SubmissionQuery);
  return answer(signal, kit, { first }, { schema: "SubmissionAnswer", fn: "recall" });
}

interface AtGate {
  readonly workflow_id: string;
  readonly auth: AuthContext;
  readonly decision?: ParsedGateRequest;
  readonly withdrawal?: WithdrawalRequest;
  readonly delegation?: ParsedDelegationRequest;
}

/** What an activation says to a gate; null where it says nothing to one. */
function atGate(body: Signal["body"]): ((run: WorkflowRun) => Promise<GateResponse>) | null {
  const { auth, decision, withdrawal, delegation } = body as unknown as AtGate;
  if (decision !== undefined) return (run) => decideGate(run, decision, auth);
  if (withdrawal !== undefined) return (run) => withdrawVote(run, withdrawal);
  return delegation === undefined ? null : (run) => delegateGate(run, delegation, auth);
}

function hearAtGate(executor: Executor, signal: Signal, kit: Kit): Promise<Result> {
  const { workflow_id, auth } = signal.body as unknown as AtGate;
  return withLeased(executor, signal, workflow_id, async (run) => {
    requireTenant(run, auth);
    const response = await atGate(signal.body)?.(run);
    return answer(signal, kit, response, { schema: "GateResponse", fn: "act" });
  });
}

function wakeWorkflow(executor: Executor, signal: Signal, kit: Kit): Promise<Result> {
  const workflowId = String(signal.body["workflow_id"]);
  return withLeased(executor, signal, workflowId, async (run) => {
    run.setAsleep(false);
    return answer(
      signal,
      kit,
      { workflow_id: workflowId, state: run.log.record.state },
      { schema: "Awake", fn: "act" },
    );
  });
}

/** Runs a command on the workflow's run; a workflow that another process holds is refused with a retryable error. */
function withLeased(
  executor: Executor,
  signal: Signal,
  workflowId: string,
  work: (run: WorkflowRun) => Promise<Result>,
): Promise<Result> {
  return executor.withRun(workflowId, signal.id, work);
}

/** Another tenant's workflow does not exist for this caller: the refusal is that of one that never was, to the letter. */
function requireTenant(run: WorkflowRun, auth: AuthContext): void {
  if (run.log.record.tenant_id !== auth.tenant_id) raise(notFound(run.log.identity.workflow_id));
}

interface Commanded {
  readonly workflow_id: string;
  readonly auth: AuthContext;
  readonly principal: Principal;
}

function abortWorkflow(executor: Executor, signal: Signal, kit: Kit): Promise<Result> {
  const { workflow_id, auth, principal } = signal.body as unknown as Commanded;
  return withLeased(executor, signal, workflow_id, async (run) => {
    requireTenant(run, auth);
    const { state } = run.log.record;
    if (isTerminal(state) && state !== "cancelled")
      raise(
        kernelError("T4_WORKFLOW_CONFLICT", `a ${state} workflow cannot be cancelled`, ref("abort"), {
          detail: { state },
        }),
      );
    if (state !== "cancelled") await run.cancel(String(signal.body["reason"] ?? "cancelled by request"), principal);
    return answer(
      signal,
      kit,
      { workflow_id, status: "cancelled", correlation_id: run.log.record.correlation_id },
      { schema: "CancelResponse", fn: "abort" },
    );
  });
}

function retryWorkflow(executor: Executor, signal: Signal, kit: Kit): Promise<Result> {
  const { workflow_id, auth, principal } = signal.body as unknown as Commanded;
  const { mode, step_ids, feedback } = signal.body as unknown as {
    mode: "resume_failed_steps" | "regenerate";
    step_ids?: readonly string[];
    feedback?: string;
  };
  return withLeased(executor, signal, workflow_id, async (run) => {
    requireTenant(run, auth);
    restartWorkflow(run, { mode, step_ids, principal, feedback });
    await run.log.commit();
    const response: RetryResponse = { workflow_id, status: "restarted", correlation_id: run.log.record.correlation_id };
    return answer(signal, kit, response, { schema: "RetryResponse", fn: "retry" });
  });
}

/** The next plan follows another objective. */
function pivotWorkflow(executor: Executor, signal: Signal, kit: Kit): Promise<Result> {
  const workflowId = String(signal.body["workflow_id"]);
  return withLeased(executor, signal, workflowId, async (run) => {
    run.objective = String(signal.body["objective"]);
    return answer(
      signal,
      kit,
      { workflow_id: workflowId, objective: run.objective },
      { schema: "Pivoted", fn: "pivot" },
    );
  });
}

function sleepWorkflow(executor: Executor, signal: Signal, kit: Kit): Promise<Result> {
  const workflowId = String(signal.body["workflow_id"]);
  return withLeased(executor, signal, workflowId, async (run) => {
    run.setAsleep(true);
    return answer(signal, kit, { workflow_id: workflowId, asleep: true }, { schema: "Asleep", fn: "sleep" });
  });
}

/** A refused request leaves one event on a log of its own; there is no workflow. */
async function rejectIntent(writer: LedgerWriter, signal: Signal, kit: Kit): Promise<Result> {
  const rejected =
    (signal.body["data"] as RejectedIntent | undefined) ??
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "no rejection", ref("reject")));
  const { workflow_id, tenant_id, thread_id, intent_id, plan_id, error, intent_type } = rejected;
  const now = kit.clock.now();
  const envelope = {
    v: turnSchemaVersion,
    stream: workflow_id,
    tenant_id,
    workflow_id,
    thread_id,
    intent_id,
    plan_id,
    correlation_id: signal.trace_id,
    actor: { type: "system", id: "kernel" },
    now,
    first: 1,
    count: 1,
  };
  const row = sealTurn(
    envelope,
    [{ id: kit.ids.next("event"), type: "INTENT_REJECTED", step: null, payload: { error, intent_type } }],
    genesisHash,
  );
  await writer.append(() => ({ tenant_id, row, now }));
  kit.telemetry.committed?.({ events: openTurn(row), record: null, own: true });
  return ok([], metricsOf(ref("reject")));
}
