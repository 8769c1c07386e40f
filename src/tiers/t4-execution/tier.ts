/**
 * T4, execution: does the work. Its door takes activations (start a workflow, decide a gate), aborts, retries, pivots
 * and refused intents; everything else about a workflow happens in its run.
 *
 * Never: decides whether something may happen (T5), what to do (T3), or whether a workflow may exist (T7).
 */
import { genesisHash } from "../../contract/chain.ts";
import { KernelErrorException } from "../../contract/error.ts";
import { refOf } from "../../contract/gate-vote.ts";
import type { Intake } from "../../contract/intake.ts";
import { type Activation, type RejectedIntent, t4 } from "../../contract/messages/t4.ts";
import { t7 } from "../../contract/messages/t7.ts";
import type { InFlightWait } from "../../contract/queue.ts";
import { metricsOf, ok, type Result } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import { openTurn, sealTurn } from "../../contract/turn.ts";
import { answerData } from "../../engine/actors/answer.ts";
import { answerMessages, type Visit } from "../../engine/actors/answer-messages.ts";
import { finalOf, sendQuestion } from "../../engine/actors/ask-tier.ts";
import type { TierDefinition } from "../../engine/actors/define-tier.ts";
import { consume } from "../../engine/actors/runtime.ts";
import type { LedgerWriter } from "../../engine/log/ledger-writer.ts";
import { sharedOfWorkflow } from "../../engine/log/noted-turn.ts";
import { inputIdOf } from "./decide/plan/add-input.ts";
import type { Command, GateCommand, Input } from "./decide/run/input.ts";
import { oodaRef } from "./decide/run/run.ts";
import type { Executor } from "./executor.ts";
import { debounceOf } from "./perform/debounce-of.ts";
import { acceptedOf, recallFirst, recallSingleton, type SubmissionStore } from "./perform/recall-submission.ts";

export interface ExecutionTierOptions {
  readonly executor: Executor;
  readonly writer: LedgerWriter;
  readonly store: SubmissionStore;
}

export function createExecutionTier({ executor, writer, store }: ExecutionTierOptions): TierDefinition {
  const commanding = <Answer>(workflowId: string, { signal }: Visit, wanted: Command): Promise<Answer> =>
    executor.command<Answer>(workflowId, signal.id, command(wanted));
  const doors = answerMessages(
    t4,
    {
      activate: (activation, visit) => activate({ executor, store }, activation, visit),
      cancel: ({ workflow_id, auth, principal, reason = "cancelled by request", undo }, visit) =>
        commanding(workflow_id, visit, { kind: "cancel", auth, principal, reason: String(reason), undo }),
      rollback: ({ workflow_id, auth, principal, reason = "rolled back by request" }, visit) =>
        commanding(workflow_id, visit, { kind: "rollback", auth, principal, reason: String(reason) }),
      pause: ({ workflow_id, auth, principal, reason = "paused by request" }, visit) =>
        commanding(workflow_id, visit, { kind: "pause", auth, principal, reason: String(reason) }),
      resume: ({ workflow_id, auth, principal, reason = "resumed by request" }, visit) =>
        commanding(workflow_id, visit, { kind: "resume", auth, principal, reason: String(reason) }),
      addInput: ({ workflow_id, auth, principal, text, idempotency_key: key }, visit) => {
        const input_id = inputIdOf(principal, key) ?? visit.signal.id;
        return commanding(workflow_id, visit, { kind: "input", auth, principal, text, input_id });
      },
      retry: ({ workflow_id, auth, principal, mode, step_ids, feedback }, visit) =>
        commanding(workflow_id, visit, { kind: "retry", auth, principal, mode, step_ids, feedback }),
      pivot: ({ workflow_id, objective }, visit) =>
        commanding(workflow_id, visit, { kind: "pivot", objective: String(objective) }),
      deliver: ({ workflow_id, event }, visit) => commanding(workflow_id, visit, { kind: "deliver", event }),
      answerWait: ({ workflow_id, step_id, payload }, visit) =>
        commanding(workflow_id, visit, { kind: "answer_wait", step_id, payload }),
      sleep: ({ workflow_id }, visit) => commanding(workflow_id, visit, { kind: "sleep" }),
      recallSubmission: async (query) => ({ first: await recallFirst(store, query) }),
      rejectIntent: (rejected, visit) => rejectIntent(writer, rejected, visit),
    },
    {
      activate: { check: needsIntakeOrWorkflow },
      cancel: { check: needsWorkflow },
      rollback: { check: needsWorkflow },
      pause: { check: needsWorkflow },
      resume: { check: needsWorkflow },
      addInput: { check: needsWorkflow },
      retry: { check: needsWorkflow },
      pivot: { check: needsWorkflow },
      deliver: { check: needsData },
      answerWait: { check: needsData },
      sleep: { check: needsWorkflow },
      rejectIntent: { check: needsData },
    },
  );
  return { tier: 4, name: "execution", doors };
}

const needsIntakeOrWorkflow = (body: Signal["body"]): string | null =>
  typeof body["intake"] === "object" || typeof body["workflow_id"] === "string"
    ? null
    : "an activation carries an intake, or a workflow_id";

const needsWorkflow = (body: Signal["body"]): string | null =>
  typeof body["workflow_id"] === "string" ? null : "the command names no workflow_id";

const needsData = ({ data }: Signal["body"]): string | null =>
  typeof data === "object" && data !== null ? null : "no data";

type Started = Omit<ExecutionTierOptions, "writer">;

/** Starts a workflow, gives a person's command to a gate's workflow, or wakes one that a command put to sleep. */
function activate(parts: Started, activation: Activation, visit: Visit): Promise<Result> {
  const { intake, pipeline } = activation;
  return intake === undefined
    ? wakeWorkflow(parts, activation, visit)
    : startWorkflow(parts, { intake, pipeline }, visit);
}

async function wakeWorkflow({ executor }: Started, activation: Activation, visit: Visit): Promise<Result> {
  const decided = gateCommandOf(activation, visit.signal.id);
  const make =
    decided === null
      ? command({ kind: "activate" })
      : (re: number): Input => ({ type: "decided", command: decided, re });
  const given = await executor.command<unknown>(String(activation.workflow_id), visit.signal.id, make);
  return answer(visit, decided === null ? "Awake" : "GateResponse", given);
}

const answer = ({ signal, runtime }: Visit, schema: string, data: unknown): Result =>
  answerData(runtime, signal, { data, schema, ref: oodaRef("act") });

/**
 * Starts a workflow: T7 gives it a place or lets it wait for one, its first event is committed, the answer is sent, and
 * the work begins.
 */
async function startWorkflow(
  { executor, store }: Started,
  { intake, pipeline }: { readonly intake: Intake; readonly pipeline: string | undefined },
  visit: Visit,
): Promise<Result> {
  const { signal, runtime } = visit;
  const { workflow_id, tenant_id, thread_id, ...known } = intake;
  const { plan_id, intent, submission } = known;
  const { id: parentId, trace_id: traceId } = signal;
  const isChild = intake.parent !== undefined;
  const running = { workflow_id, tenant_id, principal: refOf(intent.actor), isChild };
  const by = { source: oodaRef("act"), traceId, parentId };
  const ids = { workflow_id, intent_id: intent.intent_id, plan_id, correlation_id: traceId };
  const complexity = signal.tags["complexity"] ?? "simple";
  try {
    const waits = waitIn(await sendQuestion(runtime, t7.register, running, by));
    const now = runtime.clock.now();
    const debounced = intent.queue?.debounce && (await debounceOf(store, { ...intake, now }));
    const facts = {
      ...{ ...known, pipeline: String(pipeline), complexity },
      ...(waits !== null && { in_flight: waits }),
      ...(debounced != null && { debounced }),
    };
    const mailbox = executor.begin({ ...ids, tenant_id, thread_id }, intent.type, parentId);
    await mailbox.command((re) => ({ type: "begin", facts, re }));
  } catch (thrown) {
    // The first request under this key has the workflow, in whichever process; it may have arrived while this one
    // waited.
    const first = await recallFirst(store, { tenant_id, principal: intent.actor, submission });
    // A child is not found in another's workflow: its parent asks again.
    const isFull = thrown instanceof KernelErrorException && thrown.error.code === "T7_QUEUE_FULL" && !isChild;
    const known = first ?? (isFull ? await recallSingleton(store, tenant_id, intent) : null);
    if (known === null) throw thrown;
    return answer(visit, "SubmitResponse", known);
  }
  return answer(visit, "SubmitResponse", acceptedOf(ids));
}

/** Returns the wait for a place with which a registered workflow begins; null if it has one. */
function waitIn(registered: Result): InFlightWait | null {
  const isAnswered = consume(registered, () => undefined).length > 0;
  return isAnswered ? (finalOf(t7.register, registered).waits ?? null) : null;
}

/** Returns the command of a person at a gate; null if the activation carries none. */
function gateCommandOf(
  { auth, decision, withdrawal, delegation, note }: Activation,
  signalId: string,
): GateCommand | null {
  if (decision !== undefined) return { kind: "decision", request: decision, auth };
  if (withdrawal !== undefined) return { kind: "withdrawal", request: withdrawal, auth };
  if (delegation !== undefined) return { kind: "delegation", request: delegation, auth };
  return note === undefined ? null : { kind: "note", request: note, auth, note_id: signalId };
}

const command =
  (wanted: Command) =>
  (re: number): Input => ({ type: "commanded", command: wanted, re });

/** Records a refused request as one event on a separate stream; there is no workflow. */
async function rejectIntent(
  writer: LedgerWriter,
  { error, intent_type, ...ids }: RejectedIntent,
  { signal, runtime }: Visit,
): Promise<Result> {
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
