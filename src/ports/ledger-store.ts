/**
 * The ledger port: where turns are kept. The event log is primary; heads, open gates, keys, memory and documents are
 * indexes written in the same transaction as the turn that changes them.
 *
 * 1.  `append` is one transaction for the whole batch. Each entry is applied wholly or refused wholly; a refused
 *        entry does not fail its neighbours. It resolves after the commit is durable; after a mere commit where all of
 *        its entries are `lazy`.
 * 2.  Positions rise, in a stream and in the log; they are not dense. Once a row is shown none appears before it.
 * 3.  Every read that takes a tenant returns that tenant's records only.
 * 4.  Failures reject with KernelErrorException (T0_LEDGER_*), never with a driver's error.
 */

import type { Ceiling, Charge } from "../contract/budget.ts";
import type { ParsedDocumentRecord, ParsedMemoryRecord } from "../contract/context-bundle.ts";
import type { Gate } from "../contract/gate.ts";
import type { CutGate } from "../contract/listed-gate.ts";
import type { WorkflowStateName } from "../contract/progress.ts";
import type { TurnRow } from "../contract/turn.ts";

type Id = string | number;

/**
 * Who owns a workflow's turns; `epoch` rises with each claim and fences appends of earlier owners. It stands as long as
 * its owner is alive, as `beat` says.
 */
export interface Lease {
  readonly owner: string;
  readonly epoch: number;
}

/** The index row of a workflow. */
export interface WorkflowHead {
  readonly workflow_id: string;
  readonly tenant_id: Id;
  readonly thread_id: Id | null;
  readonly principal_id: Id;
  readonly principal_type: string;
  /** The title of the work in lists. */
  readonly title: string;
  /** How much of the plan is done. */
  readonly percent: number;
  readonly intent_id: string;
  readonly intent_type: string;
  readonly correlation_id: string;
  readonly state: WorkflowStateName;
  readonly created_at: number;
  readonly updated_at: number;
  /** The instant at which something of a resting workflow falls due (a retry, a gate's expiry); epoch ms. */
  readonly due_at: number | null;
  /** The process that holds the workflow; one that has died holds it until somebody looks. */
  readonly owner: string | null;
  readonly epoch: number;
}

/** A workflow that was taken up, as it stands now, and the lease it was taken with. */
export interface TakenUp {
  readonly head: WorkflowHead;
  readonly lease: Lease;
}

/**
 * Why a workflow is taken up: `abandoned` is unfinished and parked at no gate, `due` rests and has something due. Neither
 * is what waits for a later time.
 */
export type TakeUpKind = "abandoned" | "due";

/** An amount that is added to a counter: the tenant's own, or one that all tenants of the ledger share. */
export interface IndexedCharge {
  readonly counter: string;
  readonly ofAll?: true;
  readonly amounts: Charge;
  readonly within?: Ceiling;
}

/** The changes that an append makes to the indexes, beside adding its row. */
export interface AppendIndexes {
  /** The workflow is new: insert its head, held as `claim` says when given (epoch 1). */
  readonly create?: Omit<WorkflowHead, "owner" | "epoch">;
  readonly state?: WorkflowStateName;
  readonly percent?: number;
  readonly due_at?: number | null;
  /** Give the lease up with this append. */
  readonly release?: boolean;
  /** Gates whose record changed; those that are neither open nor suspended leave the index. */
  readonly gates?: readonly Gate[];
  /**
   * Keys that other workflows must find, and the action (of a submit key: the intent) they stand for. The first holder
   * stays; an entry with a `unique` key that another workflow holds is refused (`taken`).
   */
  readonly keys?: readonly { readonly key: string; readonly action_id: string; readonly unique?: boolean }[];
  /**
   * Added to budget counters; amounts may be negative (a settlement below what was reserved). An entry is refused (`spent`)
   * where amounts that are to stay `within` a ceiling would pass it, with what stands before the entry.
   */
  readonly charges?: readonly IndexedCharge[];
  readonly memory?: readonly ParsedMemoryRecord[];
  readonly documents?: readonly ParsedDocumentRecord[];
}

/** One row with its index entries, and the sequence that it expects. */
export interface Append {
  readonly tenant_id: Id;
  readonly row: TurnRow;
  /** Epoch ms of the turn. */
  readonly now: number;
  /** The writer's lease. Absent for the append of a process that does not own the workflow (a decision). */
  readonly lease?: Lease;
  /** The owner who takes the lease in this same transaction; the entry is refused (`fenced`) if another holds it. */
  readonly claim?: string;
  readonly indexes?: AppendIndexes;
  /** Nothing outside rests on it yet: until the next durable append, or `sync`, it may be lost with the machine. */
  readonly lazy?: true;
}

/**
 * `clash`: the stream is not where the writer thought; `fenced`: the writer's lease is gone; `missing`: no such workflow;
 * `taken`: another workflow holds a key that was to be unique; `spent`: a charge would pass its ceiling.
 */
export type AppendReceipt =
  | { readonly ok: true; readonly position: number; readonly epoch: number | null }
  | { readonly ok: false; readonly reason: "clash" | "fenced" | "missing" | "taken" | "spent" };

/** A filter of workflows, by what indexes hold. */
export interface HeadFilter {
  readonly tenant_id?: Id;
  readonly states?: readonly WorkflowStateName[];
  readonly thread_id?: Id;
  readonly intent_type?: string;
  readonly intent_id?: string;
  /** Return heads after this workflow id (ids sort by creation). */
  readonly after?: string;
  readonly limit?: number;
}

/** The place of a workflow in a list, which is ordered by both. */
export interface HeadPlace {
  readonly created_at: number;
  readonly workflow_id: string;
}

/**
 * The selection of a list of workflows. `since` is the first instant that is in, `until` the first that is not; epoch
 * ms.
 */
export interface HeadSelection {
  readonly tenant_id?: Id;
  readonly states?: readonly WorkflowStateName[];
  readonly thread_id?: Id;
  readonly intent_type?: string;
  readonly principal_id?: Id;
  readonly since?: number;
  readonly until?: number;
}

/** A page of a list that is newest first: what comes after a place, or before one. */
export interface Paged<Place> {
  readonly after?: Place;
  /** Without `after`: the `limit` items nearest to it, still newest first. */
  readonly before?: Place;
  readonly limit: number;
}

/** A page of workflows. */
export type HeadPage = HeadSelection & Paged<HeadPlace>;

/** `text`, in lower case, is part of the title, the intent type or the id, whatever their case. */
export interface HeadSearch extends HeadSelection, Paged<HeadPlace> {
  readonly text: string;
  readonly scan: number;
}

/** The result of a search, and where it goes on. */
export interface HeadsFound {
  readonly heads: readonly ListedHead[];
  /** Up to where was looked; null at the list's end. */
  readonly next: HeadPlace | null;
}

/** A head with how many gates of its workflow are open. */
export interface ListedHead extends WorkflowHead {
  readonly open_gates: number;
}

export interface GatePlace {
  readonly workflow_id: string;
  readonly gate_id: string;
}

/** The selection of a list of open gates. `due_before` is epoch ms; a gate that is never due is not before any time. */
export interface GateSelection {
  readonly tenant_id?: Id;
  readonly workflow_id?: string;
  readonly operator?: string;
  readonly due_before?: number;
}

/** A page of waiting gates. */
export type GatePageFilter = GateSelection & Paged<GatePlace>;

/** A row with its place in the whole log. */
export interface PositionedRow {
  readonly position: number;
  readonly row: TurnRow;
}

/** A selection of records of memory. */
export interface MemoryQuery {
  readonly tenant_id: Id;
  readonly thread_id?: Id | null;
  readonly keys?: readonly string[];
  readonly limit: number;
}

/** A record of memory as it is stored. */
export interface StoredMemory extends ParsedMemoryRecord {
  readonly position: number;
}

/** A table of indexes, with all columns that the log tells; `key` names those that tell its rows apart. */
export interface IndexTable {
  readonly name: string;
  readonly key: readonly string[];
  readonly rows: readonly Readonly<Record<string, string | number | null>>[];
}

/** The content of the indexes when the log's last row is at `position`. */
export interface StoredIndexes {
  readonly position: number;
  readonly tables: readonly IndexTable[];
}

/** The news that a store that several processes share tells without being asked. */
export interface LedgerUpdates {
  /** Another process has committed to these streams; none are named where they are too many. */
  readonly committed: (streams: readonly string[]) => void;
  /**
   * A process is gone, and what it held is free: told to one of those that are left. Of oneself: to be asked by `beat`.
   */
  readonly gone: (owner: string) => void;
}

/** How far what `tail` shows lies behind what was committed, in a store that others than kernels keep back. */
export interface LedgerLag {
  /** Rows that are committed and not shown yet. */
  readonly rows: number;
  /** How many transactions began since the oldest that has not ended. */
  readonly transactions: number;
  /** How long ago that one began, in ms, as far as this process may see it; 0 where none is under way. */
  readonly oldest_ms: number;
}

/** A store of turns with its indexes; `ledgerStoreSuite` says what one must do. */
export interface LedgerStore {
  /** A name for messages, such as a file's base name. */
  readonly name: string;
  /** Opens the store, creating it if it is not there; called once before anything else. */
  open(): Promise<void>;
  /** Appends entries in one transaction; each gets a receipt, or the refusal of its own. */
  append(batch: readonly Append[]): Promise<readonly AppendReceipt[]>;
  /** Makes durable what was appended before, by whomever; cheap where it is. Without it each append is durable. */
  readonly sync?: () => Promise<void>;
  /** Rows of one stream with a last sequence above `after`, in order. */
  read(stream: string, after?: number, limit?: number): Promise<readonly TurnRow[]>;
  /** The newest row of a stream, or null. */
  last(stream: string): Promise<TurnRow | null>;
  /**
   * Rows of all streams above a position, in position order: how a process notices what others wrote. It may show a row
   * a while after its append.
   */
  tail(position: number, limit: number): Promise<readonly PositionedRow[]>;
  /** The highest position that `tail` shows; a cheap call. */
  position(): Promise<number>;
  /**
   * Another number once anybody but this store has written where it lies; a cheap call. Without it nobody can tell, and what
   * was read once is not believed later.
   */
  readonly dataVersion?: () => Promise<number>;
  /**
   * Whether turns can be written now, asked without writing one. @throws KernelErrorException what keeps them from it.
   */
  readonly check?: () => Promise<void>;
  /** Returns what keeps followers back; a cheap call. A store without it shows what is committed at once. */
  readonly lag?: () => Promise<LedgerLag>;
  /** The row of a workflow's index; null where there is no such workflow. */
  head(workflowId: string): Promise<WorkflowHead | null>;
  /** In the order of ids. */
  heads(filter: HeadFilter): Promise<readonly WorkflowHead[]>;
  /** Newest first, by an index for each selection within a tenant. */
  listHeads(page: HeadPage): Promise<readonly ListedHead[]>;
  /** Counts the workflows of a selection. */
  countHeads(selection: HeadSelection): Promise<number>;
  /**
   * Of the next `scan` heads of a list, at most `limit` that are about the text. A store without it is read through.
   */
  readonly searchHeads?: (page: HeadSearch) => Promise<HeadsFound>;
  /**
   * Says that an owner is alive, until `now + ttlMs`; first called before it claims anything. False where nobody knew of it:
   * whatever it held before is free, all of it. @throws T0_LEDGER_LOCKED where another process lives under this name.
   */
  beat(owner: string, now: number, ttlMs: number): Promise<boolean>;
  /** Takes the lease if nobody who is alive at `now` holds it, or if `owner` holds it already; null if another does. */
  claim(workflowId: string, owner: string, now: number): Promise<Lease | null>;
  /**
   * Takes what nobody who is alive at `now` holds and what is not waiting for a later time; earliest first. No two owners
   * are given the same.
   */
  takeUp(kind: TakeUpKind, owner: string, now: number, limit: number): Promise<readonly TakenUp[]>;
  /** Gives a lease up; does nothing where it is not held any more. */
  release(workflowId: string, lease: Lease): Promise<void>;
  /** Returns the workflows that an owner holds, whether or not it works on them. */
  held(owner: string): Promise<readonly { readonly workflow_id: string; readonly epoch: number }[]>;
  /**
   * Tells a process of the others until the store is closed, and them of its end. Without it, commits show at the next
   * look, and what a dead process held is free when its last beat has run out. @throws T0_LEDGER_LOCKED where an owner of
   * this name is alive.
   */
  readonly follow?: (owner: string, updates: LedgerUpdates) => Promise<void>;
  /** The earliest due time of workflows that rest and that nobody holds, or null. */
  nextDue(): Promise<number | null>;
  /** Open gates, whole, in the order of workflow and gate id. */
  gates(filter: {
    readonly tenant_id?: Id;
    readonly workflow_id?: string;
    readonly after?: string;
    readonly limit?: number;
  }): Promise<readonly Gate[]>;
  /** Open gates as `listGate` cuts them; those of the newest workflow first, of one workflow by gate id. */
  listGates(page: GatePageFilter): Promise<readonly CutGate[]>;
  /** Counts the gates of a selection. */
  countGates(selection: GateSelection): Promise<number>;
  /** Returns the workflow that holds a key shared between workflows, and what the key stands for. */
  findKey(tenantId: Id, key: string): Promise<{ readonly workflow_id: string; readonly action_id: string } | null>;
  /**
   * Returns the counters of a tenant, or (null) those of all, in the order asked; zero for one that was never charged.
   */
  charges(tenantId: Id | null, counters: readonly string[]): Promise<readonly Charge[]>;
  /** All budget counters of a tenant, by name. */
  chargesOf(tenantId: Id): Promise<readonly { readonly counter: string; readonly amounts: Charge }[]>;
  /** Newest entry of each key, newest first. */
  memory(query: MemoryQuery): Promise<readonly StoredMemory[]>;
  /** The documents of a tenant with these ids, as far as there are any. */
  documents(tenantId: Id, documentIds: readonly Id[]): Promise<readonly ParsedDocumentRecord[]>;
  /** A value that changes with every write to the tenant's memory or documents or the thread's workflows. */
  version(tenantId: Id, threadId: Id | null): Promise<number>;
  /** The indexes as they stand. A store that has it has them verified against its log. */
  readonly indexes?: () => Promise<StoredIndexes>;
  /** Closes the store; nothing is called after it. */
  close(): Promise<void>;
}
