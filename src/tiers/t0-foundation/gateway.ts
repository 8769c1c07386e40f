/**
 * The gateway: turns a caller's request into Signals.
 *
 * Owns: the shape and the size of requests, the ids of a new workflow, and turning Results into answers.
 * Never: executes, fetches, calls a model, interprets content.
 * 1.  A caller's request is copied as plain JSON once, before any other code reads it; nothing reads the original.
 * 2.  Once tenant and principal are known, a refused request leaves INTENT_REJECTED and nothing else; before that it is
 *     only logged.
 */

import type { z } from "zod";
import { InputRequest, type InputResponse } from "../../contract/added-input.ts";
import { type AuthContext, type Caller, commandScopes, tenantOf } from "../../contract/auth-context.ts";
import { RollbackRequest, type RollbackResponse } from "../../contract/compensation.ts";
import { KernelErrorException, raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { type FederatedSyncReport, requireFewChanges, SyncRequest } from "../../contract/federation.ts";
import { ForkRequest, type ParsedForkRequest } from "../../contract/fork.ts";
import {
  DelegationRequest,
  GateRequest,
  type GateResponse,
  type ParsedDelegationRequest,
  type ParsedGateRequest,
  WithdrawalRequest,
} from "../../contract/gate.ts";
import { GateNoteRequest, type ParsedGateNote } from "../../contract/gate-conversation.ts";
import { GateDecisions, type GateDecisionsResponse } from "../../contract/gate-decisions.ts";
import { WorkflowId } from "../../contract/ids.ts";
import type { BegunIntake } from "../../contract/intake.ts";
import {
  type ParsedSubmitRequest,
  requestKey,
  type ScheduleOrigin,
  type Submission,
  SubmitRequest,
  type SubmitResponse,
} from "../../contract/intent.ts";
import type { Message } from "../../contract/messages/message.ts";
import type { ChildRequest } from "../../contract/messages/t0.ts";
import { type Perceived, t1 } from "../../contract/messages/t1.ts";
import { t4 } from "../../contract/messages/t4.ts";
import { type AuthorizeQuestion, t5, type WorkflowRequest } from "../../contract/messages/t5.ts";
import { t7 } from "../../contract/messages/t7.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { PauseRequest, type PauseResponse, ResumeRequest, type ResumeResponse } from "../../contract/pause.ts";
import { EmitRequest, type ParsedEmitRequest } from "../../contract/received-event.ts";
import {
  CancelRequest,
  type CancelResponse,
  type ParsedOrderRequest,
  type ParsedRetryRequest,
  RetryRequest,
  type RetryResponse,
} from "../../contract/retry.ts";
import { TokenUrlRequest, WaitAnswer } from "../../contract/wait-token.ts";
import { workflowNotFound } from "../../contract/workflow.ts";
import { askTier, finalOf, sendQuestion } from "../../engine/actors/ask-tier.ts";
import { dataOf, type Runtime } from "../../engine/actors/runtime.ts";
import { admit, copy, readCopy } from "./admit-request.ts";
import { decideGates } from "./decide-gates.ts";
import { type Begun, JoinedSubmits } from "./join-submits.ts";
import type { ChildOrigin, ForkLineage, Lineage, SubmitMore } from "./lineage.ts";
import { requireOneStart, startOf } from "./start-time.ts";
import { type Admitted, submissionOf } from "./submission.ts";

const gatewayRef = Object.freeze(moduleRef(0, "gateway", "submit"));
const user = Object.freeze({ source_type: "user" });
const askedBy = (traceId: string) => ({ source: gatewayRef, traceId, tags: user });

export interface Gateway {
  /** `signal` aborts when the caller does not want it any more. */
  readonly submit: (request: unknown, more?: SubmitMore) => Promise<SubmitResponse>;
  readonly decideGate: (workflowId: string, request: unknown) => Promise<GateResponse>;
  /** Each decision has its own answer. */
  readonly decideGates: (request: unknown) => Promise<GateDecisionsResponse>;
  readonly withdrawVote: (workflowId: string, request: unknown) => Promise<GateResponse>;
  readonly delegateGate: (workflowId: string, request: unknown) => Promise<GateResponse>;
  readonly noteGate: (workflowId: string, request: unknown) => Promise<GateResponse>;
  readonly retry: (workflowId: string, request: unknown) => Promise<RetryResponse>;
  readonly cancel: (workflowId: string, request: unknown) => Promise<CancelResponse>;
  readonly rollback: (workflowId: string, request: unknown) => Promise<RollbackResponse>;
  readonly pause: (workflowId: string, request: unknown) => Promise<PauseResponse>;
  readonly resume: (workflowId: string, request: unknown) => Promise<ResumeResponse>;
  readonly addInput: (workflowId: string, request: unknown) => Promise<InputResponse>;
  /** Reads an order to fork a workflow. @throws KernelErrorException as submit. */
  readonly admitFork: (request: unknown) => Promise<ParsedForkRequest>;
  /** Reads an event from outside. @throws KernelErrorException as submit; T5_AUTHZ_FORBIDDEN without the scope. */
  readonly admitEvent: (request: unknown) => Promise<ParsedEmitRequest>;
  /** Reads a request for the one-time address of a wait. @throws KernelErrorException as submit. */
  readonly admitTokenUrl: (request: unknown) => Promise<z.output<typeof TokenUrlRequest>>;
  /** Reads an answer to a wait, which comes from nobody who is known here. @throws KernelErrorException as submit. */
  readonly admitWaitAnswer: (request: unknown) => Promise<z.output<typeof WaitAnswer>>;
  /** Changes of other replicas for a tenant's memory; the embedding host itself names no caller. */
  readonly sync: (request: unknown, caller?: Caller) => Promise<FederatedSyncReport>;
  /** Rejects a caller who lacks the scope; the embedding host itself, which names no caller, has all scopes (null). */
  readonly authorize: (caller: Caller | undefined, needs: string) => Promise<AuthContext | null>;
}

/** Returns the one open gate of a workflow. @throws KernelErrorException if there are none, or several. */
export type FindOpenGate = (workflowId: string, caller: Caller) => Promise<string>;

export function createGateway(runtime: Runtime, findOpenGate: FindOpenGate): Gateway {
  const atGate = <Request extends GateWish>(asked: RequestAtGate<Request>): Promise<GateResponse> =>
    commandGate(runtime, findOpenGate, asked);
  const ordering =
    <Request extends ParsedRetryRequest | ParsedOrderRequest, Answer>(
      schema: z.ZodType<Request>,
      message: Message<WorkflowRequest, unknown, Answer>,
    ) =>
    async (workflowId: string, raw: unknown): Promise<Answer> =>
      command(runtime, workflowId, { request: admit(runtime, schema, raw), message });
  const joined = new JoinedSubmits<SubmitResponse>();
  const decide = (workflowId: string, request: ParsedGateRequest): Promise<GateResponse> =>
    atGate({ workflowId, message: t5.decideGate, request });
  const requireGrant = ({ principal, tenant_id }: Caller, needs: string): Promise<AuthContext> =>
    authorize(
      runtime,
      { principal, tenant_id, scope: null, intent_hint: null, needs },
      runtime.ids.next("correlation"),
    );
  return {
    submit: (request, more = {}) => submit({ runtime, joined }, request, more),
    decideGate: async (workflowId, raw) => decide(workflowId, admit(runtime, GateRequest, raw)),
    async decideGates(raw) {
      const request = admit(runtime, GateDecisions, raw);
      await requireGrant(request, "gate:approve");
      return decideGates(request, decide);
    },
    withdrawVote: async (workflowId, raw) =>
      atGate({ workflowId, message: t5.withdrawVote, request: admit(runtime, WithdrawalRequest, raw) }),
    delegateGate: async (workflowId, raw) =>
      atGate({ workflowId, message: t5.delegateGate, request: admit(runtime, DelegationRequest, raw) }),
    noteGate: async (workflowId, raw) =>
      atGate({ workflowId, message: t5.noteGate, request: requireNote(admit(runtime, GateNoteRequest, raw)) }),
    retry: ordering(RetryRequest, t5.retry),
    cancel: ordering(CancelRequest, t5.cancel),
    rollback: ordering(RollbackRequest, t5.rollback),
    pause: ordering(PauseRequest, t5.pause),
    resume: ordering(ResumeRequest, t5.resume),
    addInput: ordering(InputRequest, t5.addInput),
    admitTokenUrl: async (raw) => admit(runtime, TokenUrlRequest, raw),
    admitWaitAnswer: async (raw) => admit(runtime, WaitAnswer, raw),
    admitFork: async (raw) => admit(runtime, ForkRequest, raw),
    async admitEvent(raw) {
      const request = admit(runtime, EmitRequest, raw);
      const { principal, tenant_id } = request;
      const question = { principal, tenant_id, scope: null, intent_hint: null, needs: commandScopes.emit };
      await authorize(runtime, question, runtime.ids.next("correlation"));
      return request;
    },
    sync: (request, caller) => sync(runtime, admit(runtime, SyncRequest, request), caller),
    async authorize(caller, needs) {
      const tenant_id = tenantOf(caller);
      return caller === undefined || tenant_id === undefined
        ? null
        : requireGrant({ principal: caller.principal, tenant_id }, needs);
    },
  };
}

/** Begins a child: a submit by the workflow that its parent belongs to. @throws what a submit is refused with. */
export function beginChild(submitting: Submitting, question: ChildRequest): Promise<SubmitResponse> {
  const { request, repeats, ...child } = question;
  const { correlation_id, requesters } = child;
  const lineage = repeats === null ? {} : { lineage: { ...repeats, correlation_id, requesters } };
  return submit(submitting, request, { child, ...lineage });
}

async function submit(
  { runtime, joined }: Submitting,
  raw: unknown,
  { lineage, fork, child, schedule, signal }: SubmitMore,
): Promise<SubmitResponse> {
  const { request, plain } = admitSubmit(runtime, raw);
  requireOneStart(request);
  const ids = {
    workflow_id: runtime.ids.next("workflow"),
    intent_id: lineage?.intent_id ?? runtime.ids.next("intent"),
    plan_id: runtime.ids.next("plan"),
    correlation_id: (lineage ?? child)?.correlation_id ?? runtime.ids.next("correlation"),
  };
  const auth = await identify(runtime, request, ids.correlation_id).catch((thrown: unknown) =>
    rejectIntent(runtime, { request, ids, thrown }),
  );
  const submission = submissionOf({ request, plain, lineage, fork, child });
  const entry = { request, auth, ids, lineage, fork, child, schedule, submission };
  return joined.join(joinedName(entry), signal, () => begin(runtime, entry));
}

export interface Submitting {
  readonly runtime: Runtime;
  readonly joined: JoinedSubmits<SubmitResponse>;
}

/** Returns the name of a request among those that are joined: one key of one principal and one content have one. */
const joinedName = ({ request: { tenant_id, principal }, ids, schedule, submission }: Entry): string =>
  submission === null
    ? ids.workflow_id
    : JSON.stringify([tenant_id, requestKey(principal, submission, schedule), submission.digest]);

function begin(runtime: Runtime, entry: Entry): Begun<SubmitResponse> {
  const { workflow_id, correlation_id } = entry.ids;
  const answer = recallOrEnter(runtime, entry);
  const tell = (message: typeof t7.abandon): void =>
    void sendQuestion(runtime, message, { workflow_id }, askedBy(correlation_id));
  return {
    answer,
    abandon() {
      tell(t7.abandon);
      // A workflow that never asks for its place is remembered until it is released.
      answer.then(
        (given) => given.workflow_id === workflow_id || tell(t7.release),
        () => tell(t7.release),
      );
    },
  };
}

async function recallOrEnter(runtime: Runtime, entry: Entry): Promise<SubmitResponse> {
  const { request, ids, schedule, submission } = entry;
  try {
    const first =
      submission === null ? null : await recall(runtime, request, { submission, schedule, trace: ids.correlation_id });
    return first ?? (await enter(runtime, entry));
  } catch (thrown) {
    return rejectIntent(runtime, { request, ids, thrown });
  }
}

/** Returns the earlier answer to the key, from this process or another. */
async function recall(
  runtime: Runtime,
  { tenant_id, principal }: ParsedSubmitRequest,
  { trace, ...asked }: Pick<Entry, "schedule"> & { readonly submission: Submission; readonly trace: string },
): Promise<SubmitResponse | null> {
  const query = { tenant_id, principal, ...asked };
  return (await askTier(runtime, t4.recallSubmission, query, askedBy(trace))).first;
}

function admitSubmit(runtime: Runtime, raw: unknown): Admitted {
  try {
    const plain = copy(runtime, raw);
    return { request: readCopy(runtime, SubmitRequest, plain), plain };
  } catch (thrown) {
    // Its message names the keys that came, and these may be anything.
    const { code } = (thrown as KernelErrorException).error;
    runtime.logger.warn({ code }, "request refused before its caller was known");
    throw thrown;
  }
}

interface Ids {
  readonly workflow_id: string;
  readonly intent_id: string;
  readonly plan_id: string;
  readonly correlation_id: string;
}

function identify(runtime: Runtime, request: ParsedSubmitRequest, traceId: string): Promise<AuthContext> {
  const { principal, tenant_id, scope, intent_hint } = request;
  const intentType = intent_hint?.intent_type ?? null;
  return authorize(runtime, { principal, tenant_id, scope, intent_hint: intentType, needs: "intent:submit" }, traceId);
}

/** Asks T5 for the caller's identity and whether they have the scope (ATH-07). */
const authorize = (runtime: Runtime, question: AuthorizeQuestion, traceId: string): Promise<AuthContext> =>
  askTier(runtime, t5.authorize, question, askedBy(traceId));

interface Entry {
  readonly request: ParsedSubmitRequest;
  readonly auth: AuthContext;
  readonly ids: Ids;
  readonly lineage: Lineage | undefined;
  readonly fork: ForkLineage | undefined;
  readonly child: ChildOrigin | undefined;
  readonly schedule: ScheduleOrigin | undefined;
  readonly submission: Submission | null;
}

/** Admits a request. A message is perceived first; then the request is normalised and routed: T1 → T6 → T5 → T4. */
async function enter(runtime: Runtime, entry: Entry): Promise<SubmitResponse> {
  const { request, auth, ids, lineage, fork, child, schedule, submission } = entry;
  const { correlation_id, workflow_id, plan_id, intent_id } = ids;
  const spoken =
    request.input.text === ""
      ? null
      : runtime.signals.createTextSignal(request.input.text, gatewayRef, correlation_id, user);
  const perceived =
    spoken === null
      ? null
      : dataOf<Perceived>(await runtime.ask(1, spoken), (error) =>
          runtime.logger.warn({ error }, "perceived with low confidence"),
        );
  const again: Partial<Lineage> = lineage ?? {};
  const { regenerated_from = null, draft_version = 1, regenerate = [], spent_calls = [] } = again;
  const { feedback, kept_drafts } = again;
  const { requesters } = lineage ?? fork ?? child ?? {};
  const begun: BegunIntake = {
    auth,
    workflow_id,
    plan_id,
    regenerated_from,
    draft_version,
    ...(regenerate.length === 0 ? {} : { regenerate }),
    ...(kept_drafts === undefined ? {} : { kept_drafts }),
    ...(requesters === undefined ? {} : { requesters }),
    ...(feedback === undefined ? {} : { feedback }),
    ...(spent_calls.length === 0 ? {} : { spent_calls }),
    ...(submission === null ? {} : { submission }),
    ...startOf(request, runtime.clock.now()),
    ...(child === undefined ? {} : { parent: child.parent }),
    ...(fork === undefined ? {} : { fork: fork.taken }),
  };
  const question = { ...begun, request, perceived, intent_id, ...(schedule !== undefined && { schedule }) };
  const by = { ...askedBy(correlation_id), parentId: spoken?.id ?? null };
  return finalOf(t1.normalize, await sendQuestion(runtime, t1.normalize, question, by));
}

interface Refused {
  readonly request: ParsedSubmitRequest;
  readonly ids: Ids;
  readonly thrown: unknown;
}

/** Appends INTENT_REJECTED for a refused request; a full queue or a stopped kernel leaves no trace. */
async function rejectIntent(runtime: Runtime, { request, ids, thrown }: Refused): Promise<never> {
  if (!(thrown instanceof KernelErrorException)) throw thrown;
  const { error } = thrown;
  if (error.category !== "resource" && error.code !== "T0_KERNEL_STOPPED" && !error.code.startsWith("T0_LEDGER")) {
    const { tenant_id, thread_id, intent_hint } = request;
    const { correlation_id, ...own } = ids;
    const data = { ...own, tenant_id, thread_id, intent_type: intent_hint?.intent_type ?? null, error };
    const by = { source: gatewayRef, traceId: correlation_id };
    const result = await sendQuestion(runtime, t4.rejectIntent, data, by);
    if (result.status === "error") runtime.logger.error({ error: result.error }, "a rejection could not be recorded");
  }
  throw thrown;
}

/** Merges changes: T5 decides who may and which changes, T2 merges them. */
async function sync(runtime: Runtime, request: SyncRequest, caller: Caller | undefined): Promise<FederatedSyncReport> {
  requireFewChanges(request, runtime.limits);
  const data = { ...request, caller: caller ?? null };
  return askTier(runtime, t5.judgeChanges, data, askedBy(runtime.ids.next("correlation")));
}

type GateWish = ParsedGateRequest | WithdrawalRequest | ParsedDelegationRequest | ParsedGateNote;

/** Refuses a note that says nothing. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
function requireNote(request: ParsedGateNote): ParsedGateNote {
  const { comment, assign, snooze, watch } = request;
  if ([comment, assign, snooze, watch].some((one) => one !== undefined)) return request;
  const message = "a note has at least one of comment, assign, snooze and watch";
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, gatewayRef));
}

interface RequestAtGate<Request extends GateWish> {
  readonly workflowId: string;
  readonly message: Message<WorkflowRequest<Request>, unknown, GateResponse>;
  readonly request: Request;
}

/**
 * Sends a command to a gate. A request that names no gate is for the one that is open at its arrival, and for no other
 * when it is judged.
 */
async function commandGate<Request extends GateWish>(
  runtime: Runtime,
  findOpenGate: FindOpenGate,
  { workflowId, message, request }: RequestAtGate<Request>,
): Promise<GateResponse> {
  requireWorkflowId(workflowId);
  const isNamed =
    request.gate_id !== undefined || ("decision" in request && request.payload.payload_digest !== undefined);
  const { tenant_id, principal } = request;
  const gate = isNamed ? {} : { gate_id: await findOpenGate(workflowId, { tenant_id, principal }) };
  return command(runtime, workflowId, { request: { ...request, ...gate }, message });
}

function requireWorkflowId(workflowId: string): void {
  if (!WorkflowId.safeParse(workflowId).success) raise(workflowNotFound(String(workflowId), gatewayRef));
}

/** Sends a command to T5 for authority first, with a trace of its own. */
async function command<Request extends GateWish | ParsedRetryRequest | ParsedOrderRequest, Answer>(
  runtime: Runtime,
  workflowId: string,
  {
    request,
    message,
  }: { readonly request: Request; readonly message: Message<WorkflowRequest<Request>, unknown, Answer> },
): Promise<Answer> {
  requireWorkflowId(workflowId);
  const question = { workflow_id: workflowId, request };
  return askTier(runtime, message, question, askedBy(runtime.ids.next("correlation")));
}
