/** The kernel's public interface. Names are fixed; records are snake_case, functions and options camelCase. */
import type { Observable } from "rxjs";
import type { MachineDefinition } from "../../machines/definitions.ts";
import type { SignatureCheck } from "../adapters/verify-signatures.ts";
import type { ActionRecord } from "../contract/action.ts";
import type { InputRequest, InputResponse } from "../contract/added-input.ts";
import type { AssistantDelta } from "../contract/assistant-delta.ts";
import type { AuditEntry } from "../contract/audit.ts";
import type { Caller } from "../contract/auth-context.ts";
import type { CapabilityDefinition } from "../contract/capability.ts";
import type { ChainBreak } from "../contract/chain.ts";
import type { RollbackRequest, RollbackResponse } from "../contract/compensation.ts";
import type { DocumentRecord, MemoryRecord } from "../contract/context-bundle.ts";
import type { DoctorFinding, DoctorQuestion, DoctorReport } from "../contract/doctor-report.ts";
import type { LedgerEvent } from "../contract/event.ts";
import type { Explanation } from "../contract/explanation.ts";
import type { FederatedChange, FederatedSyncReport, SyncRequest } from "../contract/federation.ts";
import type { AtSequence, FeedOptions, Follow } from "../contract/follow.ts";
import type { ForkRequest, ForkResponse } from "../contract/fork.ts";
import type { DelegationRequest, Gate, GateRequest, GateResponse, WithdrawalRequest } from "../contract/gate.ts";
import type { GateNoteRequest } from "../contract/gate-conversation.ts";
import type { GateDecisions, GateDecisionsResponse } from "../contract/gate-decisions.ts";
import type { SubmitOptions, SubmitRequest, SubmitResponse } from "../contract/intent.ts";
import type { GateFilter, WorkflowFilter } from "../contract/list-filter.ts";
import type { ListedGate } from "../contract/listed-gate.ts";
import type { ItemFilter, ItemPage } from "../contract/listed-item.ts";
import type { Operator, OperatorMetadata } from "../contract/operator.ts";
import type { OutcomesResponse } from "../contract/outcome.ts";
import type { PauseRequest, PauseResponse, ResumeRequest, ResumeResponse } from "../contract/pause.ts";
import type { KernelProgress } from "../contract/progress.ts";
import type { EmitRequest, EmitResponse } from "../contract/received-event.ts";
import type { Replay } from "../contract/replay.ts";
import type { Result } from "../contract/result.ts";
import type { CancelRequest, CancelResponse, RetryRequest, RetryResponse } from "../contract/retry.ts";
import type {
  ScheduleAnswer,
  ScheduleBackfill,
  ScheduleCommand,
  ScheduleDeleted,
  ScheduleFilter,
  ScheduleHistory,
  SchedulePause,
  ScheduleQuestion,
  ScheduleRequest,
  ScheduleTriggered,
  ScheduleView,
} from "../contract/schedule.ts";
import type { Signal } from "../contract/signal.ts";
import type { RequestTrace } from "../contract/trace.ts";
import type { TurnRow } from "../contract/turn.ts";
import type { TokenUrlRequest, TokenUrlResponse, WaitAnswer, WaitAnswered } from "../contract/wait-token.ts";
import type { WhatIfFinding, WhatIfReport } from "../contract/whatif-report.ts";
import type { WorkflowState } from "../contract/workflow-state.ts";
import type { Listed, WorkflowSummary } from "../contract/workflow-summary.ts";
import type { BusItem, Tier } from "../engine/actors/bus.ts";
import type { Supervision } from "../engine/actors/supervision.ts";
import type { FeedUpdate } from "../engine/follow/tenant-feed.ts";
import type { Numbered } from "../engine/follow/workflow-tails.ts";
import type { DeliveryCounts } from "../ports/delivery-store.ts";
import type { LedgerLag } from "../ports/ledger-store.ts";
import type { CapabilityClient } from "./capability-client.ts";
import type { KernelTokens } from "./kernel-tokens.ts";
import type { WhatIf } from "./policies.ts";
import type { TenantCalls } from "./tenant-calls.ts";

/** The three streams of a workflow, with the type of their items. */
export interface Channels {
  /** Every fact. */
  readonly events: LedgerEvent;
  /** The progress of the workflow. */
  readonly progress: KernelProgress;
  /** Text for people. */
  readonly assistant: AssistantDelta;
}

export type { AtSequence, FeedOptions, FeedUpdate, Follow, GateFilter, Numbered, WorkflowFilter };

/** The result of a check of the ledger. */
export interface Verification {
  /** Whether nothing was found. */
  readonly ok: boolean;
  /** Rows checked. */
  readonly checked: number;
  /** The first break of each stream, and entries of indexes that the log does not give. */
  readonly broken: readonly ChainBreak[];
}

/** A running kernel. Methods reject with KernelErrorException. Calls without a caller are the embedding host's own. */
export interface Kernel extends AsyncDisposable, TenantCalls {
  /**
   * Takes a request; resolves once it is in the ledger, before work on it begins. Where no place is free it waits for
   * one, until `options.signal` aborts; after `limits.submitWaitMs` its workflow is accepted and waits on.
   * @throws T7_SPAWN_INSUFFICIENT_RESOURCES, T7_SPAWN_SHARE_EXCEEDED, T7_SPAWN_ABANDONED.
   */
  submit(request: SubmitRequest, options?: SubmitOptions): Promise<SubmitResponse>;
  /**
   * Decides a gate in the name of a person; resolves once the decision is in the ledger. Repeating it returns the same
   * answer.
   */
  decideGate(workflowId: string, request: GateRequest): Promise<GateResponse>;
  /**
   * Decides up to 500 gates in the name of a person, each by the digest of what it showed and each with its own answer;
   * a decision that is refused refuses no other. Resolves once all of them are answered.
   */
  decideGates(request: GateDecisions): Promise<GateDecisionsResponse>;
  /** Withdraws a vote of the principal, or one given in their seat, while the gate is open. */
  withdrawVote(workflowId: string, request: WithdrawalRequest): Promise<GateResponse>;
  /** Lends one's seat at a gate to somebody else until `expires_at`; their vote then counts as one's own. */
  delegateGate(workflowId: string, request: DelegationRequest): Promise<GateResponse>;
  /**
   * Notes something at an open gate without deciding it: a comment or a question, who looks after it, until when the
   * caller does not want to see it, whether the caller is told of all that happens at it.
   */
  noteGate(workflowId: string, request: GateNoteRequest): Promise<GateResponse>;
  /** Runs failed steps again, or steps anew, or all of it as a linked workflow: see `mode`. */
  retry(workflowId: string, request: RetryRequest): Promise<RetryResponse>;
  /**
   * Receives an event from outside, for the steps that wait for it: one of them takes it, or it is kept for
   * `limits.eventTtlMs`. The same event again gets the same answer. @throws T4_EVENT_INVALID, T4_EVENT_ID_REUSED.
   */
  emit(request: EmitRequest): Promise<EmitResponse>;
  /** Adds a message to a workflow that takes them, as agents do. @throws T4_INPUT_NOT_TAKEN, T4_WORKFLOW_CONFLICT. */
  addInput(workflowId: string, request: InputRequest): Promise<InputResponse>;
  /** Returns the one-time address of a wait with `token: true`. @throws T4_WAIT_TOKEN_NONE. */
  tokenUrl(workflowId: string, request: TokenUrlRequest): Promise<TokenUrlResponse>;
  /**
   * Answers a wait at its one-time address, for a sender who is not known here; the same answer is received again.
   * @throws T4_WAIT_TOKEN_UNKNOWN, T4_WAIT_TOKEN_USED, T4_WAIT_TOKEN_OVER, T4_EVENT_INVALID.
   */
  answerWait(answer: WaitAnswer): Promise<WaitAnswered>;
  /**
   * Begins a workflow that takes over what another one has done, up to a step or an event, and goes on from there: no
   * call before the fork is made again, and the calls behind it have new keys. @throws T4_FORK_INVALID for a point that
   * cannot be forked at, T4_SEQUENCE_NOT_FOUND, and as `submit`.
   */
  fork(workflowId: string, request: ForkRequest): Promise<ForkResponse>;
  /** Ends a workflow early, as `cancelled`; calls under way receive the abort signal. */
  cancel(workflowId: string, request: CancelRequest): Promise<CancelResponse>;
  /**
   * Rolls back a workflow that has ended: what its steps and children had done is undone, as their plans state, and it
   * ends as `cancelled`. Repeating it returns the state that the first order led to. @throws T4_WORKFLOW_CONFLICT for a
   * workflow that has not ended, or has left nothing that can be undone.
   */
  rollback(workflowId: string, request: RollbackRequest): Promise<RollbackResponse>;
  /**
   * Pauses a workflow: calls under way end, and nothing new begins until it is resumed. Gates stay open and decidable.
   * Repeating it returns the same answer. @throws T4_WORKFLOW_CONFLICT for a workflow that has ended.
   */
  pause(workflowId: string, request: PauseRequest): Promise<PauseResponse>;
  /** Ends the pause of a workflow, which goes on; what fell due meanwhile happens now. Idempotent, as `pause` is. */
  resume(workflowId: string, request: ResumeRequest): Promise<ResumeResponse>;
  /**
   * Makes a schedule, or changes the one of this name; resolves once it is in the ledger. Its work begins on behalf of
   * the principal. @throws T7_SCHEDULE_INVALID, T1_NORMALIZE_UNKNOWN_INTENT, T1_NORMALIZE_INPUTS_INVALID.
   */
  setSchedule(request: ScheduleRequest): Promise<ScheduleAnswer>;
  /** Pauses a schedule; what it began goes on. @throws T7_SCHEDULE_NOT_FOUND. */
  pauseSchedule(request: SchedulePause): Promise<ScheduleAnswer>;
  /** Resumes a schedule with the next instant; those of the pause are left out. @throws T7_SCHEDULE_NOT_FOUND. */
  resumeSchedule(request: ScheduleCommand): Promise<ScheduleAnswer>;
  /**
   * Begins the work of a schedule now, whether or not it is paused; resolves once that was accepted or refused, or
   * waits for its turn. @throws T7_SCHEDULE_NOT_FOUND, T7_SCHEDULE_OVERLAP.
   */
  triggerSchedule(request: ScheduleCommand): Promise<ScheduleTriggered>;
  /**
   * Begins the instants of a span in the past, one after another; one that had begun work stands for that work.
   * @throws T7_SCHEDULE_NOT_FOUND, T7_SCHEDULE_BACKFILL.
   */
  backfillSchedule(request: ScheduleBackfill): Promise<ScheduleAnswer>;
  /** Deletes a schedule; its history and what it began stay. @throws T7_SCHEDULE_NOT_FOUND. */
  deleteSchedule(request: ScheduleCommand): Promise<ScheduleDeleted>;
  /** Lists schedules of a tenant in the order of their names; the embedding host names the tenant in the filter. */
  schedules(filter?: ScheduleFilter, caller?: Caller): Promise<readonly ScheduleView[]>;
  /** Returns a schedule with a page of its history, newest first. @throws T7_SCHEDULE_NOT_FOUND. */
  schedule(question: ScheduleQuestion, caller?: Caller): Promise<ScheduleHistory>;
  /**
   * Returns one workflow, whole. @throws T4_WORKFLOW_NOT_FOUND, T4_SEQUENCE_NOT_FOUND for a sequence beyond the ledger.
   */
  workflow(workflowId: string, caller?: Caller, options?: AtSequence): Promise<WorkflowState>;
  /** Summaries, newest first; a whole workflow: `workflow`. @throws T0_VALIDATION_SCHEMA_MISMATCH, T0_LIST_TOO_WIDE. */
  workflows(filter?: WorkflowFilter, caller?: Caller): Promise<Listed<WorkflowSummary>>;
  /**
   * Lists open gates, those of the newest workflow first. Over many workflows long parts are cut, marked by
   * `truncated`.
   * @throws T0_VALIDATION_SCHEMA_MISMATCH, T0_LIST_TOO_WIDE; with `mine` T5_AUTHZ_FORBIDDEN for a caller who may decide
   * nothing.
   */
  gates(filter?: GateFilter, caller?: Caller): Promise<Listed<ListedGate>>;
  /** Returns one gate, whole, open or not. @throws T4_WORKFLOW_NOT_FOUND, T5_GATE_NOT_FOUND. */
  gate(workflowId: string, gateId: string, caller?: Caller): Promise<Gate>;
  /**
   * Returns a page of the items of its lists and the rounds of its steps, in their order, with output or error.
   * @throws T0_VALIDATION_SCHEMA_MISMATCH for a step or a cursor that there is not.
   */
  items(workflowId: string, filter?: ItemFilter, caller?: Caller): Promise<ItemPage>;
  /** Returns the outcomes of its steps, each version, and which are final. */
  outcomes(workflowId: string, caller?: Caller): Promise<OutcomesResponse>;
  /** Returns the calls of its operators, one per key, with payload, result, tokens and cost. */
  actions(workflowId: string, caller?: Caller): Promise<readonly ActionRecord[]>;
  /** Its facts, from the ledger, then live. */
  events(workflowId: string, options?: Follow, caller?: Caller): AsyncGenerator<LedgerEvent, void, void>;
  /** Yields the progress as events change it. */
  progress(workflowId: string, options?: Follow, caller?: Caller): AsyncGenerator<KernelProgress, void, void>;
  /** Yields text for people who follow the workflow. */
  assistant(workflowId: string, options?: Follow, caller?: Caller): AsyncGenerator<AssistantDelta, void, void>;
  /**
   * Yields the items of one of the three streams with their cursors, so that a disconnected reader can continue. An
   * event gives at most one item of a stream.
   */
  channel<C extends keyof Channels>(
    name: C,
    workflowId: string,
    options?: Follow,
    caller?: Caller,
  ): AsyncGenerator<Numbered<Channels[C]>, void, void>;
  /**
   * Yields the changes of workflows and gates of the caller's tenant, one item per turn; without a cursor, the open
   * ones come first. Continuing after an item's position leaves nothing out and repeats nothing. Never ends by itself.
   */
  feed(options?: FeedOptions, caller?: Caller): AsyncGenerator<FeedUpdate, void, void>;
  /** Rejects unless T5 grants the caller this scope; for edges, whose reads have no command that checks it. */
  authorize(caller: Caller, scope: string): Promise<void>;
  /**
   * Resolves when the workflow has ended, is paused, or waits for a person. `options.signal` ends the wait, which then
   * rejects with its reason; the workflow goes on.
   */
  settled(workflowId: string, options?: Pick<Follow, "signal">): Promise<WorkflowState>;
  /** Takes up a workflow from the ledger alone and drives it; resolves when it is parked or has ended. */
  execute(workflowId: string): Promise<WorkflowState>;
  /** Returns the course of each step, attempt by attempt. */
  trace(workflowId: string, caller?: Caller): Promise<RequestTrace>;
  /** Explains the workflow; with a sequence as it was then, as `workflow` does. */
  explain(workflowId: string, caller?: Caller, options?: AtSequence): Promise<Explanation>;
  /**
   * Yields past decisions that another policy set would have taken otherwise; the return value counts. Appends nothing.
   */
  whatIf(asked: WhatIf, caller?: Caller): AsyncGenerator<WhatIfFinding, WhatIfReport, void>;
  /**
   * Yields unfinished workflows that cannot run with the registered packages, each with its obstacles and remedies; the
   * return value counts. Only reads.
   */
  doctor(asked?: DoctorQuestion, caller?: Caller): AsyncGenerator<DoctorFinding, DoctorReport, void>;
  /** Returns the outcome of each decision of policy and of people, from the ledger alone. */
  audit(workflowId: string, caller?: Caller): Promise<readonly AuditEntry[]>;
  /**
   * Yields the workflow's rows, audit entries and evaluation reports as JSON Lines (without line ends), for
   * `verifyEvidence`. `reports` brings further reports that the ledger does not keep.
   */
  evidence(
    workflowId: string,
    caller?: Caller,
    options?: {
      /** Evaluation reports that the ledger does not keep. */
      readonly reports?: readonly unknown[];
    },
  ): AsyncGenerator<string, void, void>;
  /**
   * Keeps an evaluation report, any JSON, beside the workflow; a caller needs the scope `evaluation:write`. Gives its
   * id.
   */
  attachReport(workflowId: string, report: unknown, caller?: Caller): Promise<string>;
  /**
   * Verifies the hash chain and the signed approvals; with keys, also that the keys belong to those who signed. For the
   * whole ledger, also that its indexes agree with the log. A caller verifies workflows of their tenant.
   */
  verify(workflowId?: string, check?: SignatureCheck, caller?: Caller): Promise<Verification>;
  /**
   * Replays the workflow from its ledger alone, with the inputs and answers that its rows record: nothing is run, asked
   * or written, and this kernel's packages, policies and limits are not used. Rejects for a broken chain. `whatIf`
   * answers whether other policies would decide differently.
   */
  replay(workflowId: string, caller?: Caller): Promise<Replay>;
  /**
   * Yields the workflow's rows as the ledger has them. A file for `verifyEvidence` is made by `evidence`, which names
   * its own end.
   */
  export(workflowId: string, caller?: Caller): AsyncGenerator<TurnRow, void, void>;
  /** Records of documents outside of workflows; each returns the event's id. */
  readonly documents: {
    /** Records a document; gives the event's id. */
    readonly record: (record: DocumentRecord) => Promise<string>;
  };
  /** The tokens of workflows: those scheduled, admitted, refused and done, and their usage. */
  readonly tokens: KernelTokens;
  /** Memory outside of workflows. */
  readonly memory: {
    /**
     * Gives the event's id. A record of no thread that names a capability is replicated: it gets origin and version.
     */
    readonly write: (record: MemoryRecord) => Promise<string>;
    /** Merges changes of other replicas; a caller needs the scope `memory:sync`. */
    readonly sync: (request: SyncRequest, caller?: Caller) => Promise<FederatedSyncReport>;
    /** Returns the newest replicated records of a tenant (1000 by default), as changes to send to other replicas. */
    readonly changes: (
      query: { readonly tenant_id: string | number; readonly limit?: number },
      caller?: Caller,
    ) => Promise<readonly FederatedChange[]>;
  };
  /** Returns the kernel for workflows of one package, with its types: inputs, outcomes, gates and edits. */
  of<C extends CapabilityDefinition>(capability: C): CapabilityClient<C>;
  /**
   * Registers a capability; registering the same definition again has no effect. @throws for another of the same name
   * and version.
   */
  registerCapability(capability: CapabilityDefinition): void;
  /** Registers an operator as `registerCapability` does; returns the metadata as they are kept. */
  registerOperator(operator: Operator): OperatorMetadata;
  /** Returns all registered capabilities, in each version. */
  capabilities(): readonly CapabilityDefinition[];
  /** Returns an operator; without a version the newest; null if none is registered. */
  findOperator(name: string, version?: string): Operator | null;
  /** Returns the lifecycles as plain data, as Stately's editor imports them. */
  machines(): readonly MachineDefinition[];
  /** Returns a capability; without a version the newest. @throws T1_NORMALIZE_UNKNOWN_INTENT. */
  getCapability(intentType: string, version?: string): CapabilityDefinition;
  /** Returns the numbers of notices that each notifier of this ledger has still to deliver, and has given up. */
  deliveries(): Promise<readonly DeliveryCounts[]>;
  /** Delivers the notices that a notifier has given up; returns their number. */
  redeliver(notifier: string): Promise<number>;
  /** The Signals between tiers, for observers. */
  readonly bus: {
    /** Each Signal that a tier was given. */
    readonly signals: Observable<Signal>;
    /** The same with the answers. */
    readonly items: Observable<BusItem>;
  };
  /** Sends a COMMAND or any Signal to a tier and gives its Result. */
  ask(tier: Tier, signal: Signal): Promise<Result>;
  /**
   * Resolves if requests are accepted and turns can be written; for load balancers and probes. @throws
   * KernelErrorException T0_KERNEL_STOPPED, T0_LEDGER_* the reason why it cannot serve, within `limits.checkTimeoutMs`.
   */
  ready(): Promise<void>;
  /** Returns how far streams and feeds are behind the ledger; zeros if commits show at once. */
  lag(): Promise<LedgerLag>;
  /**
   * Returns how much of the ledger begins nothing: workflows that wait for a place in a queue (`queued`), paused ones,
   * the halts that hold, and the workflows and single steps that these hold.
   */
  holds(): Promise<Readonly<Record<"queued" | "paused" | "halts" | "workflows" | "steps", number>>>;
  /** Returns live counts, for hosts that watch their process. */
  vitals(): {
    readonly workflows: number;
    readonly actors: number;
    readonly listeners: number;
    readonly timers: number;
    readonly waiting: number;
    /** Places taken, of `limits.maxInFlight`. */
    readonly places: number;
    /** Submits and accepted workflows that wait for a place. */
    readonly submits: number;
    /**
     * The time since the last heartbeat to the ledger, in ms; at `limits.leaseMs` others take over this kernel's
     * workflows.
     */
    readonly lease_age: number;
  };
  /** The actor system, as XState's tools know it. */
  readonly system: Supervision["root"]["system"];
  /** Returns the lifecycle states that the live actors hold; null for a workflow that is not awake. */
  lifecycles(workflowId: string): {
    readonly workflow: unknown;
    readonly steps: Readonly<Record<string, unknown>>;
    readonly gates: Readonly<Record<string, unknown>>;
  } | null;
  /** Accepts no more requests, lets calls end for `drainMs` (5,000 by default), and closes the ledger. */
  stop(options?: {
    /** The time that calls under way have to end; 5,000 ms by default. */
    readonly drainMs?: number;
  }): Promise<void>;
}
