/**
 * The ledger port: the store of turns. The event log is primary; heads, open gates, keys, memory and documents are
 * indexes written in the same transaction as the turn that changes them.
 *
 * 1.  `append` is one transaction for the whole batch. Each entry is applied wholly or refused wholly; a refused entry
 *     does not fail its neighbours. It resolves after the commit is durable; after a mere commit where all of its
 *     entries are `lazy`.
 * 2.  Positions rise, in a stream and in the log; they are not dense. Once a row is shown none appears before it.
 * 3.  Every read that takes a tenant returns that tenant's records only.
 * 4.  Failures reject with KernelErrorException (T0_LEDGER_*), never with a driver's error.
 */

import type { Ceiling, Charge } from "../contract/budget.ts";
import type { Compensated } from "../contract/compensation.ts";
import type { ParsedDocumentRecord, ParsedMemoryRecord } from "../contract/context-bundle.ts";
import type { Gate } from "../contract/gate.ts";
import type { Halt, StoredHalt } from "../contract/halt.ts";
import type { CutGate } from "../contract/listed-gate.ts";
import type { WorkflowStateName } from "../contract/progress.ts";
import type { StoredQueueLimits } from "../contract/queue-limits.ts";
import type { ReceivedEvent } from "../contract/received-event.ts";
import type { TurnRow } from "../contract/turn.ts";
import type { DecisionIndex, IndexedDecision } from "./decision-index.ts";
import type { GatePageFilter, GateSelection, GateWork } from "./gate-page.ts";
import type { GrantChanges, GrantIndex } from "./grant-index.ts";
import type { QueueEntry, QueueIndex } from "./queue-index.ts";
import type { IndexedSchedule, ScheduleIndex } from "./schedule-index.ts";
import type { StandInChanges, StandInIndex } from "./stand-in-index.ts";
import type { IndexedWait, WaitStore } from "./wait-store.ts";
import type { WorkflowHead } from "./workflow-head.ts";

export type { WorkflowHead } from "./workflow-head.ts";

type Id = string | number;

/**
 * The right to write a workflow's turns; `epoch` rises with each claim and fences appends of earlier owners. It is
 * valid while its owner is alive, as `heartbeat` reports.
 */
export interface Lease {
  readonly owner: string;
  readonly epoch: number;
}

/** A workflow that was taken up, in its present state, and the lease it was taken with. */
export interface TakenUp {
  readonly head: WorkflowHead;
  readonly lease: Lease;
}

/**
 * The reason for taking up a workflow: `abandoned` is unfinished and parked at no gate, `due` is parked and has a due
 * time that has come, `freed` is held by a halt that was lifted, `queued` may take a place in its queue.
 */
export type TakeUpKind = "abandoned" | "due" | "freed" | "queued";

/** An amount that is added to a counter: the tenant's own, or one that all tenants of the ledger share. */
export interface IndexedCharge {
  readonly counter: string;
  readonly ofAll?: true;
  readonly amounts: Charge;
  readonly within?: Ceiling;
}

/** The holder of a workflow that a person has paused. */
export const heldByPause = "pause";
/** A workflow (null), or one step of it, that begins nothing: by a person's pause, or by the halt with that id. */
export interface Hold {
  readonly step_id: string | null;
  readonly by: string;
}

/** The holds of one holder: of workflows as a whole, and of single steps of others. */
export interface HoldCount {
  readonly holder: string;
  readonly workflows: number;
  readonly steps: number;
}

/** The changes that an append makes to the indexes, beside adding its row. */
export interface AppendIndexes extends GrantChanges, StandInChanges {
  /** Creates the workflow: inserts its head, held as `claim` states if given (epoch 1). */
  readonly create?: Omit<WorkflowHead, "owner" | "epoch">;
  readonly state?: WorkflowStateName;
  /** The part of the work that is undone in `state`, and only beside it; null if that was not begun. */
  readonly compensated?: Compensated | null;
  readonly percent?: number;
  readonly due_at?: number | null;
  /** Give the lease up with this append. */
  readonly release?: boolean;
  /** Decisions of people that the row records. */
  readonly decisions?: readonly IndexedDecision[];
  /** Gates whose record changed; those that are neither open nor suspended leave the index. */
  readonly gates?: readonly Gate[];
  /** The work that the gates belong to; absent where no gate changes. */
  readonly work?: GateWork;
  /** The holds of the workflow from now on, in place of those that the index has. */
  readonly holds?: readonly Hold[];
  /** The entry of the workflow in its queue from now on; null if it has none. */
  readonly queue?: QueueEntry | null;
  /**
   * Keys that other workflows must find, and the action (for a submit key: the intent) they stand for. The first holder
   * stays; an entry with a `unique` key that another workflow holds is refused (`taken`).
   */
  readonly keys?: readonly { readonly key: string; readonly action_id: string; readonly unique?: boolean }[];
  /**
   * Charges that are added to budget counters; amounts may be negative (a settlement below the reservation). An entry
   * is refused (`spent`) if amounts that are to stay `within` a ceiling would exceed it with the counter before it.
   */
  readonly charges?: readonly IndexedCharge[];
  /** Halts that were set, the ids of those that were lifted, and orders on the limits of queues. */
  readonly halts?: readonly Halt[];
  readonly lifted?: readonly string[];
  readonly limits?: readonly StoredQueueLimits[];
  readonly memory?: readonly ParsedMemoryRecord[];
  readonly documents?: readonly ParsedDocumentRecord[];
  /** Waits of the workflow's steps that began, or (null) ended. */
  readonly waits?: readonly { readonly step_id: string; readonly wait: IndexedWait | null }[];
  /** Events from outside that the tenant received. */
  readonly events?: readonly ReceivedEvent[];
  /** The ids of events that steps of the workflow have taken from others. */
  readonly taken?: readonly string[];
  /** Changes of the tenant's schedules, in the order of their events. */
  readonly schedules?: readonly IndexedSchedule[];
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
  /**
   * The position of the tenant's newest change of halts that the row was decided on (0: none); absent if it does not
   * rest on halts. The entry is refused (`halted`) if there is another.
   */
  readonly halts_at?: number;
  /** Nothing outside depends on it yet: until the next durable append, or `sync`, a power cut may lose it. */
  readonly lazy?: true;
}

/**
 * `clash`: the stream is not at the position that the writer expected; `fenced`: the writer's lease is gone; `missing`:
 * no such workflow; `taken`: another workflow holds a unique key; `spent`: a charge would exceed its ceiling;
 * `halted`: halts of the tenant were set or lifted since the row was decided; `full`: no place is free in the queue.
 */
export type AppendReceipt =
  | { readonly ok: true; readonly position: number; readonly epoch: number | null }
  | { readonly ok: false; readonly reason: "clash" | "fenced" | "missing" | "taken" | "spent" | "halted" | "full" };

/** A filter of workflows, by what indexes hold. */
export interface HeadFilter {
  readonly tenant_id?: Id;
  readonly states?: readonly WorkflowStateName[];
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
  readonly workflow_id?: string;
  readonly states?: readonly WorkflowStateName[];
  readonly thread_id?: Id;
  readonly intent_type?: string;
  readonly schedule?: string;
  readonly principal_id?: Id;
  readonly since?: number;
  readonly until?: number;
  /** A part of the title, the intent type or the id, as `foldCase` returns it. */
  readonly text?: string;
}

/** A page of a list in its order: the items after a place, or before one. */
export interface Paged<Place> {
  readonly after?: Place;
  /** Without `after`: the `limit` items nearest to it, still in the order of the list. */
  readonly before?: Place;
  readonly limit: number;
}

/** A page of workflows, the newest first by default. */
export type HeadPage = HeadSelection & Paged<HeadPlace> & { readonly sort?: "newest" | "oldest" };

/** A search that examines at most `scan` heads. */
export type HeadSearch = HeadPage & {
  readonly text: string;
  readonly scan: number;
};

/** The result of a search, and the place at which it continues. */
export interface HeadsFound {
  readonly heads: readonly ListedHead[];
  /** Up to where was looked; null at the list's end. */
  readonly next: HeadPlace | null;
}

/** A head with how many gates of its workflow are open, and what holds it or any of it. */
export interface ListedHead extends WorkflowHead {
  readonly open_gates: number;
  readonly paused: boolean;
  readonly queued: boolean;
  readonly held_by: readonly string[];
}

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

/** A table of indexes, with all columns that the log determines; `key` names its primary key. */
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

/** The notifications of a store that several processes share. */
export interface LedgerUpdates {
  /** Another process has committed to these streams; none are named where they are too many. */
  readonly committed: (streams: readonly string[]) => void;
  /**
   * A process is gone, and its workflows are free: one of the others is notified. If it names this process,
   * `heartbeat` answers it.
   */
  readonly gone: (owner: string) => void;
}

/** The delay of `tail` behind the commits, in a store in which other programs can cause one. */
export interface LedgerLag {
  /** Rows that are committed and not shown yet. */
  readonly rows: number;
  /** The number of transactions that began since the oldest unfinished one. */
  readonly transactions: number;
  /** The age of that transaction, in ms, as far as this process may see it; 0 if none is under way. */
  readonly oldest_ms: number;
}

/** A store of turns with its indexes; `ledgerStoreSuite` tests the required behaviour. */
export interface LedgerStore extends WaitStore, ScheduleIndex, QueueIndex, GrantIndex, StandInIndex, DecisionIndex {
  /** A name for messages, such as a file's base name. */
  readonly name: string;
  /** Opens the store, creating it if it is not there; called once before anything else. */
  open(): Promise<void>;
  /** Appends entries in one transaction; each gets a receipt, or the refusal of its own. */
  append(batch: readonly Append[]): Promise<readonly AppendReceipt[]>;
  /** Makes all earlier appends durable, of any process; cheap if they are. Without it each append is durable. */
  readonly sync?: () => Promise<void>;
  /** Rows of one stream with a last sequence above `after`, in order. */
  read(stream: string, after?: number, limit?: number): Promise<readonly TurnRow[]>;
  /** Returns the newest row of a stream, or null. */
  last(stream: string): Promise<TurnRow | null>;
  /**
   * Returns rows of all streams above a position, in position order: processes find the rows of others by it. It may
   * show a row a while after its append.
   */
  tail(position: number, limit: number): Promise<readonly PositionedRow[]>;
  /** Returns the highest position that `tail` shows; a cheap call. */
  position(): Promise<number>;
  /**
   * Returns a number that changes once anybody but this store has written; a cheap call. Without it, earlier reads are
   * not used again.
   */
  readonly dataVersion?: () => Promise<number>;
  /** Checks whether turns can be written now, without writing one. @throws KernelErrorException the reason why not. */
  readonly check?: () => Promise<void>;
  /** Returns the delay of followers; a cheap call. A store without it shows commits at once. */
  readonly lag?: () => Promise<LedgerLag>;
  /** Returns the row of a workflow's index; null if there is no such workflow. */
  head(workflowId: string): Promise<WorkflowHead | null>;
  /** Returns heads in the order of ids. */
  heads(filter: HeadFilter): Promise<readonly WorkflowHead[]>;
  /** Lists heads newest first, by an index for each selection within a tenant. */
  listHeads(page: HeadPage): Promise<readonly ListedHead[]>;
  /** Counts the workflows of a selection. */
  countHeads(selection: HeadSelection): Promise<number>;
  /** Returns, of the next `scan` heads of a list, at most `limit` that match the text; without it all are read. */
  readonly searchHeads?: (page: HeadSearch) => Promise<HeadsFound>;
  /**
   * Renews an owner until `now + ttlMs`; first called before it claims anything. False if the owner was unknown: all
   * that it held before is free. @throws T0_LEDGER_LOCKED if another process lives under this name.
   */
  heartbeat(owner: string, now: number, ttlMs: number): Promise<boolean>;
  /** Takes the lease unless another owner that is alive at `now` holds it; null then. */
  claim(workflowId: string, owner: string, now: number): Promise<Lease | null>;
  /**
   * Takes workflows that no owner alive at `now` holds and that do not wait for a later time; earliest first. No two
   * owners get the same. Those of the intent types in `elsewhere` are left.
   */
  takeUp(
    kind: TakeUpKind,
    owner: string,
    now: number,
    limit: number,
    elsewhere?: readonly string[],
  ): Promise<readonly TakenUp[]>;
  /** Gives a lease up; does nothing if it is no longer held. */
  release(workflowId: string, lease: Lease): Promise<void>;
  /** Returns the workflows that an owner holds, whether or not it works on them. */
  held(owner: string): Promise<readonly { readonly workflow_id: string; readonly epoch: number }[]>;
  /**
   * Notifies a process of the others until the store is closed, and them of its end. Without it, commits show at the
   * next look, and a dead process's workflows are free when its last heartbeat has expired. @throws T0_LEDGER_LOCKED if
   * an owner of this name is alive.
   */
  readonly follow?: (owner: string, updates: LedgerUpdates) => Promise<void>;
  /** Returns the earliest due time of parked workflows that nobody holds, except those of types in `elsewhere`. */
  nextDue(elsewhere?: readonly string[]): Promise<number | null>;
  /** Returns open gates, whole, in the order of workflow and gate id. */
  gates(filter: {
    readonly tenant_id?: Id;
    readonly workflow_id?: string;
    readonly after?: string;
    readonly limit?: number;
  }): Promise<readonly Gate[]>;
  /**
   * Returns open gates as `listGate` cuts them, in the order of the page; without one, those of the newest workflow
   * first, of one workflow by gate id.
   */
  listGates(page: GatePageFilter): Promise<readonly CutGate[]>;
  /** Counts the gates of a selection. */
  countGates(selection: GateSelection): Promise<number>;
  /**
   * Returns the different texts of `seatText` in a selection, at most `limit`. For a tenant alone, and a limit of
   * `fewSeats` and one more, a store looks for each by itself: the cost does not depend on the number of gates.
   */
  listSeats(selection: GateSelection, limit: number): Promise<readonly string[]>;
  /** Returns all halts of all tenants that were ever set, in the order of their positions; a cheap call. */
  halts(): Promise<readonly StoredHalt[]>;
  /** Returns, for each holder of a tenant (of all tenants without one), how much it holds, by the holder's name. */
  countHolds(tenantId?: Id): Promise<readonly HoldCount[]>;
  /** Returns the workflow that holds a key shared between workflows, and what the key stands for. */
  findKey(tenantId: Id, key: string): Promise<{ readonly workflow_id: string; readonly action_id: string } | null>;
  /** Returns counters of a tenant, or (null) those of all, in the order asked; zero for one never charged. */
  charges(tenantId: Id | null, counters: readonly string[]): Promise<readonly Charge[]>;
  /** Returns all budget counters of a tenant, by name. */
  chargesOf(tenantId: Id): Promise<readonly { readonly counter: string; readonly amounts: Charge }[]>;
  /** Returns the newest entry of each key, newest first. */
  memory(query: MemoryQuery): Promise<readonly StoredMemory[]>;
  /** Returns the documents of a tenant with these ids, as far as there are any. */
  documents(tenantId: Id, documentIds: readonly Id[]): Promise<readonly ParsedDocumentRecord[]>;
  /** Returns a value that changes with every write to the tenant's memory or documents or the thread's workflows. */
  version(tenantId: Id, threadId: Id | null): Promise<number>;
  /** Returns the stored indexes. A store that has it has them verified against its log. */
  readonly indexes?: () => Promise<StoredIndexes>;
  /** Closes the store; nothing is called after it. */
  close(): Promise<void>;
}
