/**
 * T4, execution: does the work. Its door takes activations (start a workflow, decide a gate), aborts, retries, pivots and
 * refused intents; everything a workflow does happens in its run.
 *
 * Never: decides whether something may happen (T5), what to do (T3), or whether a workflow may exist (T7).
 */
import type { AuthContext } from "../../contract/auth-context.ts";
import { genesisHash } from "../../contract/chain.ts";
import type { KernelError } from "../../contract/error.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { ParsedDelegationRequest, ParsedGateRequest, WithdrawalRequest } from "../../contract/gate.ts";
import { refOf } from "../../contract/gate-vote.ts";
import type { Intake } from "../../contract/intake.ts";
import type { Principal } from "../../contract/intent.ts";
import { metricsOf, ok, type Result } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import { openTurn, sealTurn } from "../../contract/turn.ts";
import { answerData } from "../../engine/actors/answer.ts";
import type { Door, TierDefinition } from "../../engine/actors/define-tier.ts";
import { consume, type Runtime } from "../../engine/actors/runtime.ts";
import type { LedgerWriter } from "../../engine/log/ledger-writer.ts";
import { sharedOfWorkflow } from "../../engine/log/noted-turn.ts";
import type { Command, Input, Word } from "./decide/run/input.ts";
import { oodaRef } from "./decide/run/run.ts";
import type { Executor } from "./executor.ts";
import { acceptedOf, recallFirst, type SubmissionQuery, type SubmissionStore } from "./perform/recall-submission.ts";

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
  readonly executor: Executor;
  readonly writer: LedgerWriter;
  readonly store: SubmissionStore;
}

const answer = (signal: Signal, runtime: Runtime, data: unknown, { schema, fn }: AnswerName): Result =>
  answerData(runtime, signal, { data, schema, ref: oodaRef(fn) });

export function createExecutionTier({ executor, writer, store }: ExecutionTierOptions): TierDefinition {
  const commanding = (fn: string, schema: string, wanted: (body: Commanded) => Command): Door => ({
    module: "ooda_loop",
    function: fn,
    check: needsWorkflow,
    handle: (signal, runtime) =>
      handOver(executor, { signal, runtime }, { schema, fn, say: command(wanted(signal.body as never)) }),
  });
  const doors: Record<string, Door> = {
    "command:activate": {
      module: "ooda_loop",
      function: "act",
      check: (body) =>
        typeof body["intake"] === "object" || typeof body["workflow_id"] === "string"
          ? null
          : "an activation carries an intake, or a workflow_id",
      handle: (signal, runtime) => {
        if (signal.body["intake"] !== undefined) return startWorkflow({ executor, store }, signal, runtime);
        const word = wordOf(signal.body);
        const say =
          word === null ? command({ kind: "activate" }) : (re: number): Input => ({ type: "decided", word, re });
        const schema = word === null ? "Awake" : "GateResponse";
        return handOver(executor, { signal, runtime }, { schema, fn: "act", say });
      },
    },
    "command:abort": commanding("abort", "CancelResponse", ({ auth, principal, reason = "cancelled by request" }) => ({
      kind: "cancel",
      auth,
      principal,
      reason: String(reason),
    })),
    "command:retry": commanding("retry", "RetryResponse", ({ auth, principal, mode, step_ids, feedback }) => ({
      kind: "retry",
      auth,
      principal,
      mode,
      step_ids,
      feedback,
    })),
    "command:pivot": commanding("pivot", "Pivoted", ({ objective }) => ({
      kind: "pivot",
      objective: String(objective),
    })),
    "command:sleep": commanding("sleep", "Asleep", () => ({ kind: "sleep" })),
    "data:SubmissionQuery": {
      module: "ooda_loop",
      function: "recall",
      handle: (signal, runtime) => recallSubmission(store, signal, runtime),
    },
    "data:IntentRejection": {
      module: "ooda_loop",
      function: "reject",
      handle: (signal, runtime) => rejectIntent(writer, signal, runtime),
    },
  };
  return { tier: 4, name: "execution", doors };
}

const needsWorkflow = (body: Signal["body"]): string | null =>
  typeof body["workflow_id"] === "string" ? null : "the command names no workflow_id";

/** T7 decides that the workflow may exist; its first event is committed; then the answer leaves and the work begins. */
async function startWorkflow(
  { executor, store }: Omit<ExecutionTierOptions, "writer">,
  signal: Signal,
  runtime: Runtime,
): Promise<Result> {
  const { workflow_id, tenant_id, thread_id, ...known } = signal.body["intake"] as Intake;
  const { plan_id, intent, submission } = known;
  const { id: parentId, trace_id } = signal;
  const { signals } = runtime;
  const from = { parentId };
  const asker = { workflow_id, tenant_id, principal: refOf(intent.actor) };
  const registration = signals.createDataSignal(asker, "Registration", oodaRef("act"), trace_id, null, from);
  consume(await runtime.ask(7, registration), () => undefined);
  const ids = { workflow_id, intent_id: intent.intent_id, plan_id, correlation_id: trace_id };
  const mailbox = executor.begin({ ...ids, tenant_id, thread_id }, parentId);
  const facts = {
    ...known,
    pipeline: String(signal.body["pipeline"]),
    complexity: signal.tags["complexity"] ?? "simple",
  };
  const named = { schema: "SubmitResponse", fn: "act" };
  try {
    await mailbox.command((re) => ({ type: "begin", facts, re }));
  } catch (thrown) {
    // Whoever came first under this key has the workflow, in whichever process.
    const first = await recallFirst(store, { tenant_id, principal: intent.actor, submission });
    if (first === null) throw thrown;
    return answer(signal, runtime, first, named);
  }
  return answer(signal, runtime, acceptedOf(ids), named);
}

/** What a submit key was answered with before; null for one that is new. */
async function recallSubmission(store: SubmissionStore, signal: Signal, runtime: Runtime): Promise<Result> {
  const first = await recallFirst(store, signal.body["data"] as SubmissionQuery);
  return answer(signal, runtime, { first }, { schema: "SubmissionAnswer", fn: "recall" });
}

interface AtGate {
  readonly auth: AuthContext;
  readonly decision?: ParsedGateRequest;
  readonly withdrawal?: WithdrawalRequest;
  readonly delegation?: ParsedDelegationRequest;
}

/** What an activation says to a gate; null where it says nothing to one. */
function wordOf(body: Signal["body"]): Word | null {
  const { auth, decision, withdrawal, delegation } = body as unknown as AtGate;
  if (decision !== undefined) return { kind: "decision", request: decision, auth };
  if (withdrawal !== undefined) return { kind: "withdrawal", request: withdrawal, auth };
  return delegation === undefined ? null : { kind: "delegation", request: delegation, auth };
}

interface AnswerName {
  readonly schema: string;
  readonly fn: string;
}

/** Hands the workflow that the Signal names what is wanted of it, and answers with its answer. */
async function handOver(
  executor: Executor,
  { signal, runtime }: { readonly signal: Signal; readonly runtime: Runtime },
  { say, ...named }: AnswerName & { readonly say: (re: number) => Input },
): Promise<Result> {
  return answer(signal, runtime, await executor.command(String(signal.body["workflow_id"]), signal.id, say), named);
}

const command =
  (wanted: Command) =>
  (re: number): Input => ({ type: "commanded", command: wanted, re });

interface Commanded {
  readonly auth: AuthContext;
  readonly principal: Principal;
  readonly reason?: unknown;
  readonly mode: "resume_failed_steps" | "regenerate";
  readonly step_ids?: readonly string[];
  readonly feedback?: string;
  readonly objective?: unknown;
}

/** A refused request leaves one event on a log of its own; there is no workflow. */
async function rejectIntent(writer: LedgerWriter, signal: Signal, runtime: Runtime): Promise<Result> {
  const rejected =
    (signal.body["data"] as RejectedIntent | undefined) ??
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "no rejection", oodaRef("reject")));
  const { error, intent_type, ...ids } = rejected;
  const now = runtime.clock.now();
  const shared = sharedOfWorkflow({ ...ids, correlation_id: signal.trace_id });
  const row = sealTurn(
    { ...shared, now, first: 1, count: 1 },
    [{ id: runtime.ids.next("event"), type: "INTENT_REJECTED", step: null, payload: { error, intent_type } }],
    genesisHash,
  );
  await writer.append(() => ({ tenant_id: ids.tenant_id, row, now }));
  runtime.telemetry.committed?.({ events: openTurn(row), record: null, own: true });
  return ok([], metricsOf(oodaRef("reject")));
}
