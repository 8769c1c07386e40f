/**
 * The kernel as its users hold it. Names are fixed; records are snake_case, functions and options camelCase.
 */
import type { Observable } from "rxjs";
import type { MachineDefinition } from "../../machines/definitions.ts";
import type { SignatureCheck } from "../adapters/verify-signatures.ts";
import type { ActionRecord } from "../contract/action.ts";
import type { AssistantDelta } from "../contract/assistant-delta.ts";
import type { AuditEntry } from "../contract/audit.ts";
import type { Caller } from "../contract/auth-context.ts";
import type { BudgetStanding, Charge } from "../contract/budget.ts";
import type { CapabilityDefinition } from "../contract/capability.ts";
import type { ChainBreak } from "../contract/chain.ts";
import type { DocumentRecord, MemoryRecord } from "../contract/context-bundle.ts";
import type { DoctorFinding, DoctorQuestion, DoctorReport } from "../contract/doctor-report.ts";
import type { LedgerEvent } from "../contract/event.ts";
import type { Explanation } from "../contract/explanation.ts";
import type { FederatedChange, FederatedSyncReport, SyncRequest } from "../contract/federation.ts";
import type { AtSequence, FeedOptions, Follow } from "../contract/follow.ts";
import type { DelegationRequest, Gate, GateRequest, GateResponse, WithdrawalRequest } from "../contract/gate.ts";
import type { SubmitRequest, SubmitResponse } from "../contract/intent.ts";
import type { GateFilter, WorkflowFilter } from "../contract/list-filter.ts";
import type { ListedGate } from "../contract/listed-gate.ts";
import type { Operator, OperatorMetadata } from "../contract/operator.ts";
import type { OutcomesResponse } from "../contract/outcome.ts";
import type { KernelProgress } from "../contract/progress.ts";
import type { Replay } from "../contract/replay.ts";
import type { Result } from "../contract/result.ts";
import type { CancelRequest, CancelResponse, RetryRequest, RetryResponse } from "../contract/retry.ts";
import type { Signal } from "../contract/signal.ts";
import type { CapabilityEntry, GovernorUsage, TokenEvent } from "../contract/token.ts";
import type { RequestTrace } from "../contract/trace.ts";
import type { TurnRow } from "../contract/turn.ts";
import type { WhatIfFinding, WhatIfReport } from "../contract/whatif-report.ts";
import type { WorkflowState } from "../contract/workflow-state.ts";
import type { Listed, WorkflowSummary } from "../contract/workflow-summary.ts";
import type { BusItem, Tier } from "../engine/actors/bus.ts";
import type { Supervision } from "../engine/actors/supervision.ts";
import type { ToldItem } from "../engine/follow/tenant-feed.ts";
import type { Numbered } from "../engine/follow/workflow-tails.ts";
import type { DeliveryCounts } from "../ports/delivery-store.ts";
import type { LedgerLag } from "../ports/ledger-store.ts";
import type { CapabilityClient } from "./capability-client.ts";
import type { WhatIf } from "./policies.ts";

/** The three streams of a workflow, and what each tells. */
export interface Channels {
  /** Every fact. */
  readonly events: LedgerEvent;
  /** How far it is. */
  readonly progress: KernelProgress;
  /** Text for people. */
  readonly assistant: AssistantDelta;
}

export type { AtSequence, FeedOptions, Follow, GateFilter, Numbered, ToldItem, WorkflowFilter };

/** The result of a check of the ledger. */
export interface Verification {
  /** Nothing was found. */
  readonly ok: boolean;
  /** Rows checked. */
  readonly checked: number;
  /** The first break of each stream, and entries of indexes that the log does not give. */
  readonly broken: readonly ChainBreak[];
}

/** The token view: projections of the ledger, with the ceilings of this kernel. */
export interface KernelTokens {
  /** The events of its tokens, in order. */
  readonly events: (workflowId: string, caller?: Caller) => Promise<readonly TokenEvent[]>;
  /** The same, one event a line. */
  readonly toJsonl: (workflowId: string, caller?: Caller) => Promise<string>;
  /** Registered names with their handles and ceilings; with a workflow, what it has used of each. */
  readonly capabilities: (workflowId?: string, caller?: Caller) => Promise<readonly CapabilityEntry[]>;
  /** The amounts that its calls have asked for in all, and the ceilings. */
  readonly governor: (workflowId: string, caller?: Caller) => Promise<GovernorUsage>;
  /** The state of the budgets over workflows, by counter. */
  readonly charges: (
    tenantId: string | number,
    caller?: Caller,
  ) => Promise<readonly { readonly counter: string; readonly amounts: Charge }[]>;
  /** The ceilings over workflows that are configured, and how near to them their counters are now. */
  readonly budgets: (tenantId: string | number, caller?: Caller) => Promise<readonly BudgetStanding[]>;
}

/** A running kernel. Methods reject with KernelErrorException. Calls without a caller are the embedding host's own. */
export interface Kernel extends AsyncDisposable {
  /** Takes a request; resolves once it is in the ledger, before work on it begins. */
  submit(request: SubmitRequest): Promise<SubmitResponse>;
  /** A person's decision on a gate; resolves once it is in the ledger. The same again gets the same answer. */
  decideGate(workflowId: string, request: GateRequest): Promise<GateResponse>;
  /** Takes back one's vote, or the one given in one's place, while the gate is open. */
  withdrawVote(workflowId: string, request: WithdrawalRequest): Promise<GateResponse>;
  /** Lends one's seat at a gate to somebody else until `expires_at`; their vote then counts as one's own. */
  delegateGate(workflowId: string, request: DelegationRequest): Promise<GateResponse>;
  /** Runs failed steps again, or steps anew, or all of it as a linked workflow: see `mode`. */
  retry(workflowId: string, request: RetryRequest): Promise<RetryResponse>;
  /** Ends a workflow early, as `cancelled`; calls under way are told by their signal. */
  cancel(workflowId: string, request: CancelRequest): Promise<CancelResponse>;
  /**
   * One workflow, whole. @throws T4_WORKFLOW_NOT_FOUND, T4_SEQUENCE_NOT_FOUND for an instant that the ledger has not
   * come to.
   */
  workflow(workflowId: string, caller?: Caller, options?: AtSequence): Promise<WorkflowState>;
  /** Summaries, newest first; a whole workflow: `workflow`. @throws T0_VALIDATION_SCHEMA_MISMATCH, T0_LIST_TOO_WIDE. */
  workflows(filter?: WorkflowFilter, caller?: Caller): Promise<Listed<WorkflowSummary>>;
  /**
   * Open gates, those of the newest workflow first. Over many workflows long parts are cut, and `truncated` says so.
   * @throws T0_VALIDATION_SCHEMA_MISMATCH, T0_LIST_TOO_WIDE; with `mine` T5_AUTHZ_FORBIDDEN for who may decide nothing.
   */
  gates(filter?: GateFilter, caller?: Caller): Promise<Listed<ListedGate>>;
  /** One gate, whole, open or not. @throws T4_WORKFLOW_NOT_FOUND, T5_GATE_NOT_FOUND. */
  gate(workflowId: string, gateId: string, caller?: Caller): Promise<Gate>;
  /** Returns the outcomes of its steps, each version, and which are final. */
  outcomes(workflowId: string, caller?: Caller): Promise<OutcomesResponse>;
  /** The calls of its operators, one a key, with payload, result, tokens and cost. */
  actions(workflowId: string, caller?: Caller): Promise<readonly ActionRecord[]>;
  /** Its facts, from the ledger, then live. */
  events(workflowId: string, options?: Follow, caller?: Caller): AsyncGenerator<LedgerEvent, void, void>;
  /** Returns how far it is, as events say so. */
  progress(workflowId: string, options?: Follow, caller?: Caller): AsyncGenerator<KernelProgress, void, void>;
  /** Text for whoever follows it. */
  assistant(workflowId: string, options?: Follow, caller?: Caller): AsyncGenerator<AssistantDelta, void, void>;
  /**
   * The same three, numbered, so that a reader who was cut off can go on. An event gives at most one item of a channel.
   */
  channel<C extends keyof Channels>(
    name: C,
    workflowId: string,
    options?: Follow,
    caller?: Caller,
  ): AsyncGenerator<Numbered<Channels[C]>, void, void>;
  /**
   * What changes in the workflows and gates of the caller's tenant, one item a turn; without a cursor, what is open now
   * comes first. Going on after an item's position leaves nothing out and repeats nothing. Never ends by itself.
   */
  feed(options?: FeedOptions, caller?: Caller): AsyncGenerator<ToldItem, void, void>;
  /** Rejects unless T5 grants the caller this scope; for edges, whose reads have no command that asks. */
  authorize(caller: Caller, scope: string): Promise<void>;
  /** Resolves when the workflow has ended or waits for a person. */
  settled(workflowId: string): Promise<WorkflowState>;
  /** Takes a workflow up from the ledger alone and lets it go on; resolves when it rests. */
  execute(workflowId: string): Promise<WorkflowState>;
  /** Returns what each step did, attempt by attempt. */
  trace(workflowId: string, caller?: Caller): Promise<RequestTrace>;
  /** As it was at that sequence, as `workflow` does. */
  explain(workflowId: string, caller?: Caller, options?: AtSequence): Promise<Explanation>;
  /** Past decisions that another policy set would have taken otherwise; the return value counts. Appends nothing. */
  whatIf(asked: WhatIf, caller?: Caller): AsyncGenerator<WhatIfFinding, WhatIfReport, void>;
  /**
   * Workflows that have not ended and that what is registered here cannot run, each with what stands in its way and what
   * can be done; the return value counts. Only reads.
   */
  doctor(asked?: DoctorQuestion, caller?: Caller): AsyncGenerator<DoctorFinding, DoctorReport, void>;
  /** Returns how each decision of policy and of people came out, from the ledger alone. */
  audit(workflowId: string, caller?: Caller): Promise<readonly AuditEntry[]>;
  /**
   * The workflow's rows, audit entries and evaluation reports as JSON Lines (without line ends), for `verifyEvidence`.
   * `reports` brings further reports that the ledger does not keep.
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
   * The hash chain and the signed approvals; with keys, also that those signed whose keys they are. Of the whole ledger,
   * also that its indexes say what the log does. A caller verifies workflows of their tenant.
   */
  verify(workflowId?: string, check?: SignatureCheck, caller?: Caller): Promise<Verification>;
  /**
   * Replays the workflow from its ledger alone, with the inputs and answers that its rows record: nothing is run, asked or
   * written, and this kernel's packages, policies and limits play no part. Rejects for a broken chain. Whether other policies
   * would decide differently is answered by `whatIf`.
   */
  replay(workflowId: string, caller?: Caller): Promise<Replay>;
  /**
   * The workflow's rows as they lie in the ledger. A file for `verifyEvidence` is made of `evidence`, which names its
   * own end.
   */
  export(workflowId: string, caller?: Caller): AsyncGenerator<TurnRow, void, void>;
  /** Records of documents outside of workflows; each returns the event's id. */
  readonly documents: {
    /** Records a document; gives the event's id. */
    readonly record: (record: DocumentRecord) => Promise<string>;
  };
  /** The tokens of workflows: what was scheduled, admitted, refused and done, and what it used. */
  readonly tokens: KernelTokens;
  /** Memory outside of workflows. */
  readonly memory: {
    /**
     * Gives the event's id. A record of no thread that names a capability is replicated: it gets origin and version.
     */
    readonly write: (record: MemoryRecord) => Promise<string>;
    /** Merges changes of other replicas; a caller needs the scope `memory:sync`. */
    readonly sync: (request: SyncRequest, caller?: Caller) => Promise<FederatedSyncReport>;
    /** The newest replicated records of a tenant (1000 where nothing is said), as changes to send to other replicas. */
    readonly changes: (
      query: { readonly tenant_id: string | number; readonly limit?: number },
      caller?: Caller,
    ) => Promise<readonly FederatedChange[]>;
  };
  /** The same kernel for workflows of one package, with its types: inputs, outcomes, gates and edits. */
  of<C extends CapabilityDefinition>(capability: C): CapabilityClient<C>;
  /** A definition that is there already is no second one. @throws for another of the same name and version. */
  registerCapability(capability: CapabilityDefinition): void;
  /** As `registerCapability`; gives the metadata as they are kept. */
  registerOperator(operator: Operator): OperatorMetadata;
  /** All that is registered, each version of it. */
  capabilities(): readonly CapabilityDefinition[];
  /** Without a version the newest; null where none is registered. */
  findOperator(name: string, version?: string): Operator | null;
  /** The lifecycles as plain data, as Stately's editor imports them. */
  machines(): readonly MachineDefinition[];
  /** Without a version the newest. @throws T1_NORMALIZE_UNKNOWN_INTENT. */
  getCapability(intentType: string, version?: string): CapabilityDefinition;
  /** Returns how many notices each notifier of this ledger has still to tell, and has given up. */
  deliveries(): Promise<readonly DeliveryCounts[]>;
  /** Tells the notices that a notifier has given up; returns how many. */
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
   * Resolves where requests are taken and turns can be written; for whoever sends requests here or elsewhere. @throws
   * KernelErrorException T0_KERNEL_STOPPED, T0_LEDGER_* what keeps it from serving, within `limits.checkTimeoutMs`.
   */
  ready(): Promise<void>;
  /** Returns how far streams and feeds lie behind the ledger; zeros where it shows at once what is committed. */
  lag(): Promise<LedgerLag>;
  /** Live counts, for hosts that watch their process. */
  vitals(): {
    readonly workflows: number;
    readonly actors: number;
    readonly listeners: number;
    readonly timers: number;
    readonly waiting: number;
    /** Submits that wait for a place (`limits.maxInFlight`). */
    readonly submits: number;
    /**
     * How long ago the ledger was told that this kernel lives, in ms; at `limits.leaseMs` others take over what it
     * holds.
     */
    readonly lease_age: number;
  };
  /** The actor system, as XState's tools know it. */
  readonly system: Supervision["root"]["system"];
  /** Lifecycle states as the live actors hold them; null for a workflow that is not awake. */
  lifecycles(workflowId: string): {
    readonly workflow: unknown;
    readonly steps: Readonly<Record<string, unknown>>;
    readonly gates: Readonly<Record<string, unknown>>;
  } | null;
  /** Takes no more requests, lets calls end for `drainMs` (5,000 where nothing is said), and closes the ledger. */
  stop(options?: {
    /** How long calls under way may take to end; 5,000 ms by default. */
    readonly drainMs?: number;
  }): Promise<void>;
}
