/**
 * Plans the writes of a batch for every store that keeps tables. Pure: the standing of streams, keys and counters comes
 * in, rows go out.
 *
 * Owns: the order of the entries (each is judged on what the entries before it left), and one row of each table a key,
 * as the last entry leaves it. The rows of a table are sorted by key, so that two transactions lock in one order.
 * Never: asks a database.
 * 1.  A refused entry leaves nothing; decide-append.ts says whether it is refused.
 */
import { addCharge, type Charge } from "../../contract/budget.ts";
import { isOpenGate } from "../../contract/gate.ts";
import { searchTextOf } from "../../contract/search-text.ts";
import type { Append, AppendIndexes, AppendReceipt, Hold } from "../../ports/ledger-store.ts";
import { gateRow, grantRow, idText, type PlannedGate, payerOf, standInRow, threadText } from "./columns.ts";
import {
  frees,
  holderAfter,
  refuseAppend,
  refuseCharges,
  refuseHalted,
  refuseKeys,
  type StreamHead,
  type Workflow,
} from "./decide-append.ts";
import { decisionRow } from "./decision-queries.ts";
import { type LineReader, PlannedQueues } from "./plan-queues.ts";
import { PlannedSchedules } from "./plan-schedules.ts";

/** The state of the tables before the batch. */
export interface Standing {
  /** The position of the first row that is written. */
  readonly position: number;
  readonly headOf: (stream: string) => StreamHead | undefined;
  /** Returns the workflow that holds a key. `tenant` and `key` are texts, as the tables keep them. */
  readonly holderOf: (tenant: string, key: string) => string | undefined;
  /** Returns the total of a counter whose charges have a ceiling. */
  readonly totalOf: (payer: string, counter: string) => Charge;
  /** Returns the position of a tenant's newest change of halts; 0 before the first. */
  readonly haltsAt: (tenant: string) => number;
  readonly lineOf: LineReader;
}

export type Cell = string | number | null;
export type Row = readonly Cell[];

/** The change of a workflow's row. A state or percentage of null, and a due time of undefined, stay as they are. */
export interface WorkflowChange {
  readonly workflow_id: string;
  readonly updated_at: number;
  readonly state: string | null;
  /** Written where the state is. */
  readonly compensated: string | null;
  readonly percent: number | null;
  readonly due_at: number | null | undefined;
  readonly owner: string | null;
  readonly epoch: number;
  /** Only the percentage and the time of the update change. */
  readonly isProgress: boolean;
}

/** The rows to be written. The cells of a row are in the order of the columns named here. */
export interface BatchPlan {
  readonly receipts: readonly AppendReceipt[];
  /** position, stream, first_sequence, last_sequence, tenant_id, envelope, body, body_hash, prev_hash, hash */
  readonly turns: readonly Row[];
  /** The streams that go on, each with its head after the batch and the position of its last row. */
  readonly streams: readonly MovedStream[];
  /** The columns of `workflowColumns`. */
  readonly newWorkflows: readonly Row[];
  readonly changedWorkflows: readonly WorkflowChange[];
  /** The columns of `gateColumns`. */
  readonly gates: readonly Row[];
  /** The workflows whose holds are written anew, with the columns workflow_id, step_id, holder, tenant_id. */
  readonly holds: readonly { readonly workflow_id: string; readonly rows: readonly Row[] }[];
  /** workflow_id, tenant_id, line, place, rank, since, concurrency, rate_limit, rate_per */
  readonly queueEntries: readonly Row[];
  /** line_from, line_to, tenant_id, name, position, concurrency, rate_limit, rate_per, record */
  readonly limits: readonly Row[];
  /** line, at, until, workflow_id: places that were taken in lines with a rate, each counted until then. */
  readonly admissions: readonly Row[];
  /** The workflows that leave their queues. */
  readonly endedEntries: readonly string[];
  /** workflow_id, gate_id */
  readonly closedGates: readonly Row[];
  /** tenant_id, key, workflow_id, action_id. A key that is held already stays with its holder. */
  readonly keys: readonly (readonly [tenant: string, key: string, workflow: string, action: string])[];
  readonly charges: readonly { readonly payer: string; readonly counter: string; readonly amounts: Charge }[];
  /** halt_id, tenant_id, position, record, lifted: halts that were set. */
  readonly halts: readonly Row[];
  /** halt_id, position: halts that were lifted. */
  readonly lifted: readonly Row[];
  /** grant_id, tenant_id, operator, covers, record: grants that were given. */
  readonly grants: readonly Row[];
  /** grant_id: grants that were revoked. */
  readonly revoked: readonly Row[];
  /** stand_in_id, tenant_id, author, deputy, from_at, until_at, record: orders that name stand-ins. */
  readonly standIns: readonly Row[];
  /** stand_in_id: orders that were ended. */
  readonly endedStandIns: readonly Row[];
  /** tenant_id, thread_id, key, position, ordinal, record */
  readonly memory: readonly (readonly [tenant: string, thread: string, key: string, ...Cell[]])[];
  /** tenant_id, document_id, position, record */
  readonly documents: readonly (readonly [tenant: string, document: string, position: number, record: string])[];
  /** workflow_id, step_id, tenant_id, source, name, key, since */
  readonly waits: readonly Row[];
  /** workflow_id, step_id */
  readonly endedWaits: readonly Row[];
  /** tenant_id, event_id, name, key, record, expires_at, position */
  readonly events: readonly Row[];
  /** tenant_id, event_id, taken_by */
  readonly takenEvents: readonly Row[];
  /** tenant_id, name, intent_type, due_at, awaits, definition, standing */
  readonly schedules: readonly Row[];
  /** tenant_id, name, due_at, awaits, standing: of a schedule whose definition stays */
  readonly movedSchedules: readonly Row[];
  /** tenant_id, name */
  readonly deletedSchedules: readonly Row[];
  /** tenant_id, name, sequence, at, record */
  readonly scheduleEntries: readonly Row[];
  /** The columns of `decisionColumns`. */
  readonly decisions: readonly Row[];
  /** tenant_id, thread_id, position, and the number of changes */
  readonly counters: readonly (readonly [tenant: string, thread: string, position: number, changes: number])[];
}

export interface MovedStream {
  readonly stream: string;
  readonly head: StreamHead;
  readonly position: number;
  readonly isNew: boolean;
}

type NewWorkflow = Record<(typeof workflowColumns)[number], Cell>;

export const workflowColumns = [
  ...(["workflow_id", "tenant_id", "thread_id", "principal_id", "intent_id", "intent_type"] as const),
  ...(["correlation_id", "state", "created_at", "updated_at", "due_at", "owner", "epoch"] as const),
  ...(["principal_type", "title", "percent", "schedule", "compensated", "search"] as const),
] as const;

export const planBatch = (batch: readonly Append[], standing: Standing): BatchPlan =>
  new Planning(standing).plan(batch);

const keyOf = (...parts: readonly string[]): string => parts.join("\n");

class Planning {
  readonly #standing: Standing;
  readonly #turns: Row[] = [];
  readonly #streams = new Map<string, MovedStream>();
  readonly #created = new Map<string, NewWorkflow>();
  readonly #changed = new Map<string, WorkflowChange>();
  readonly #gates = new Map<string, PlannedGate>();
  readonly #holds = new Map<string, BatchPlan["holds"][number]>();
  readonly #keys = new Map<string, BatchPlan["keys"][number]>();
  readonly #charges = new Map<string, BatchPlan["charges"][number]>();
  readonly #halts: Row[] = [];
  readonly #lifted: Row[] = [];
  readonly #grants: Row[] = [];
  readonly #revoked: Row[] = [];
  readonly #standIns: Row[] = [];
  readonly #endedStandIns: Row[] = [];
  /** The tenants whose halts the batch has changed, each with the position of the change. */
  readonly #haltsAt = new Map<string, number>();
  readonly #memory = new Map<string, BatchPlan["memory"][number]>();
  readonly #documents = new Map<string, BatchPlan["documents"][number]>();
  readonly #schedules = new PlannedSchedules();
  readonly #decisions: Row[] = [];
  readonly #queues = new PlannedQueues();
  readonly #counters = new Map<string, BatchPlan["counters"][number]>();
  readonly #waits = new Map<string, { readonly place: Row; readonly rest: Row | null }>();
  readonly #events = new Map<string, Row>();
  readonly #taken = new Map<string, Row>();

  constructor(standing: Standing) {
    this.#standing = standing;
  }

  plan(batch: readonly Append[]): BatchPlan {
    const receipts = batch.map((entry) => this.#take(entry));
    const gates = sorted(this.#gates);
    return {
      receipts,
      turns: this.#turns,
      streams: sorted(this.#streams),
      newWorkflows: sorted(this.#created).map((row) => workflowColumns.map((name) => row[name])),
      changedWorkflows: sorted(this.#changed),
      gates: gates.filter(({ gate }) => isOpenGate(gate)).map(gateRow),
      closedGates: gates
        .filter(({ gate }) => !isOpenGate(gate))
        .map(({ gate: { workflow_id, gate_id } }) => [workflow_id, gate_id]),
      holds: sorted(this.#holds),
      keys: [...this.#keys.values()],
      charges: sorted(this.#charges),
      halts: this.#halts,
      lifted: this.#lifted,
      grants: this.#grants,
      revoked: this.#revoked,
      standIns: this.#standIns,
      endedStandIns: this.#endedStandIns,
      memory: sorted(this.#memory),
      documents: sorted(this.#documents),
      counters: sorted(this.#counters),
      decisions: this.#decisions,
      ...this.#plannedWaits(),
      ...this.#schedules.rows(),
      ...this.#queues.rows(),
    };
  }

  #take(entry: Append): AppendReceipt {
    const { row, indexes, claim } = entry;
    const { stream, first_sequence, last_sequence, envelope, body, body_hash, prev_hash, hash } = row;
    const tenant = idText(entry.tenant_id);
    const before = this.#streams.get(stream)?.head ?? this.#standing.headOf(stream);
    const refusal =
      refuseAppend(entry, tenant, before) ??
      refuseKeys(entry, (key) => this.#holderOf(tenant, JSON.stringify(key))) ??
      refuseHalted(entry, () => this.#haltsAt.get(tenant) ?? this.#standing.haltsAt(tenant)) ??
      this.#queues.refuse(entry, tenant, this.#standing.lineOf) ??
      refuseCharges(entry, tenant, (payer, counter) => this.#totalOf(payer, counter));
    if (refusal !== null) return refusal;
    const position = this.#standing.position + this.#turns.length;
    const bytes = [envelope, body, body_hash, prev_hash, hash];
    this.#turns.push([position, stream, first_sequence, last_sequence, tenant, ...bytes]);
    const workflow = this.#writeWorkflow(entry, tenant, before?.workflow ?? null);
    const isNew = this.#streams.get(stream)?.isNew ?? before === undefined;
    this.#streams.set(stream, { stream, head: { last: last_sequence, hash, tenant, workflow }, position, isNew });
    if (indexes !== undefined) this.#writeIndexes({ stream, tenant, position, indexes });
    this.#queues.take(entry, this.#standing.lineOf);
    for (const order of indexes?.limits ?? []) this.#queues.limit(tenant, position, order);
    for (const change of indexes?.schedules ?? []) this.#schedules.take(entry, tenant, change);
    for (const one of indexes?.decisions ?? []) this.#decisions.push(decisionRow(entry, tenant, one));
    if (workflow !== null && workflow.thread !== null) this.#touch(tenant, workflow.thread, position);
    return { ok: true, position, epoch: claim === undefined ? null : (workflow?.epoch ?? null) };
  }

  /** Returns the holder of a key. A key that was held before the batch stays with its holder. */
  #holderOf(tenant: string, key: string): string | undefined {
    return this.#standing.holderOf(tenant, key) ?? this.#keys.get(keyOf(tenant, key))?.[2];
  }

  #totalOf(payer: string, counter: string): Charge {
    const total = this.#standing.totalOf(payer, counter);
    const added = this.#charges.get(keyOf(payer, counter))?.amounts;
    return added === undefined ? total : addCharge(total, added);
  }

  /** Returns the workflow as it stands after the entry. */
  #writeWorkflow(entry: Append, tenant: string, before: Workflow | null): Workflow | null {
    if (entry.indexes?.create !== undefined) return this.#createWorkflow(entry, entry.indexes.create, tenant);
    if (before === null || !changesWorkflow(entry)) return before;
    const { stream } = entry.row;
    const change = changeOf(entry, before);
    const created = this.#created.get(stream);
    if (created !== undefined) this.#created.set(stream, { ...created, ...givenBy(change) });
    else this.#changed.set(stream, mergeChanges(this.#changed.get(stream), change));
    return { ...before, owner: change.owner, epoch: change.epoch };
  }

  #createWorkflow(entry: Append, create: NonNullable<AppendIndexes["create"]>, tenant: string): Workflow {
    const { indexes: { state, compensated = null, percent, due_at } = {} } = entry;
    const thread = create.thread_id === null ? null : idText(create.thread_id);
    const holder = holderAfter(entry);
    this.#created.set(entry.row.stream, {
      ...create,
      tenant_id: tenant,
      thread_id: thread,
      principal_id: idText(create.principal_id),
      search: searchTextOf([create.title, create.intent_type, create.workflow_id]),
      state: state ?? create.state,
      compensated: state === undefined ? create.compensated : compensated,
      percent: percent ?? create.percent,
      due_at: due_at === undefined ? create.due_at : due_at,
      ...holder,
    });
    return { thread, ...holder };
  }

  #writeIndexes(write: IndexWrite): void {
    const { tenant, stream, position, indexes } = write;
    this.#writeWaits(write);
    const {
      gates = [],
      work,
      holds,
      keys = [],
      charges = [],
      halts = [],
      lifted = [],
      grants = [],
      revoked = [],
      memory = [],
      documents = [],
    } = indexes;
    for (const gate of gates) this.#gates.set(keyOf(gate.workflow_id, gate.gate_id), { gate, tenant, work });
    if (holds !== undefined) this.#holds.set(stream, { workflow_id: stream, rows: holdRows(holds, stream, tenant) });
    for (const { key, action_id } of keys) {
      const [text, name] = [JSON.stringify(key), keyOf(tenant, JSON.stringify(key))];
      // The first holder stays.
      if (!this.#keys.has(name)) this.#keys.set(name, [tenant, text, stream, action_id]);
    }
    for (const charge of charges) {
      const [payer, { counter }] = [payerOf(tenant, charge), charge];
      const before = this.#charges.get(keyOf(payer, counter))?.amounts;
      const amounts = before === undefined ? charge.amounts : addCharge(before, charge.amounts);
      this.#charges.set(keyOf(payer, counter), { payer, counter, amounts });
    }
    for (const halt of halts) this.#halts.push([halt.halt_id, tenant, position, JSON.stringify(halt), 0]);
    for (const grant of grants) this.#grants.push(grantRow(grant, tenant));
    for (const id of revoked) this.#revoked.push([id]);
    for (const order of indexes.standIns ?? []) this.#standIns.push(standInRow(order, tenant));
    for (const id of indexes.endedStandIns ?? []) this.#endedStandIns.push([id]);
    for (const id of lifted) this.#lifted.push([id, position]);
    if (halts.length + lifted.length > 0) this.#haltsAt.set(tenant, position);
    memory.forEach((record, ordinal) => {
      const place = [tenant, threadText(record.thread_id), JSON.stringify(record.key)] as const;
      this.#memory.set(keyOf(...place), [...place, position, ordinal, JSON.stringify(record)]);
    });
    for (const record of documents) {
      const id = idText(record.document_id);
      this.#documents.set(keyOf(tenant, id), [tenant, id, position, JSON.stringify(record)]);
    }
    if (memory.length + documents.length > 0) this.#touch(tenant, "", position);
  }

  #writeWaits({ tenant, stream, position, indexes }: IndexWrite): void {
    for (const { step_id, wait } of indexes.waits ?? []) {
      const rest = wait === null ? null : [tenant, wait.source, wait.name, JSON.stringify(wait.key), wait.since];
      this.#waits.set(keyOf(stream, step_id), { place: [stream, step_id], rest });
    }
    for (const event of indexes.events ?? []) {
      const { event_id, name, key, expires_at } = event;
      const row = [name, JSON.stringify(key), JSON.stringify(event), Date.parse(expires_at), position];
      this.#events.set(keyOf(tenant, event_id), [tenant, event_id, ...row]);
    }
    for (const id of indexes.taken ?? []) this.#taken.set(keyOf(tenant, id), [tenant, id, stream]);
  }

  #plannedWaits(): Pick<BatchPlan, "waits" | "endedWaits" | "events" | "takenEvents"> {
    const waits = sorted(this.#waits);
    return {
      waits: waits.flatMap(({ place, rest }) => (rest === null ? [] : [[...place, ...rest]])),
      endedWaits: waits.filter(({ rest }) => rest === null).map(({ place }) => place),
      events: sorted(this.#events),
      takenEvents: sorted(this.#taken),
    };
  }

  #touch(tenant: string, thread: string, position: number): void {
    const name = keyOf(tenant, thread);
    const changes = this.#counters.get(name)?.[3] ?? 0;
    this.#counters.set(name, [tenant, thread, position, changes + 1]);
  }
}

interface IndexWrite {
  readonly stream: string;
  readonly tenant: string;
  readonly position: number;
  readonly indexes: AppendIndexes;
}

function sorted<T>(rows: ReadonlyMap<string, T>): readonly T[] {
  if (rows.size < 2) return [...rows.values()];
  return [...rows].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, row]) => row);
}

function changesWorkflow(entry: Append): boolean {
  const { claim, indexes: { state, due_at, percent } = {} } = entry;
  return [claim, state, due_at, percent].some((change) => change !== undefined) || frees(entry);
}

function changeOf(entry: Append, before: Workflow): WorkflowChange {
  const { row, now, claim, indexes: { state, compensated = null, percent, due_at } = {} } = entry;
  const isProgress = claim === undefined && !frees(entry) && state === undefined && due_at === undefined;
  const given = { state: state ?? null, compensated, percent: percent ?? null, due_at, isProgress };
  return { workflow_id: row.stream, updated_at: now, ...given, ...holderAfter(entry, before) };
}

/** Returns the columns that a change gives a value. */
function givenBy(change: WorkflowChange): Partial<NewWorkflow> {
  const { updated_at, state, compensated, percent, due_at, owner, epoch } = change;
  return {
    ...{ updated_at, owner, epoch },
    ...(state !== null && { state, compensated }),
    ...(percent !== null && { percent }),
    ...(due_at !== undefined && { due_at }),
  };
}

const mergeChanges = (before: WorkflowChange | undefined, change: WorkflowChange): WorkflowChange =>
  before === undefined
    ? change
    : ({ ...before, ...givenBy(change), isProgress: before.isProgress && change.isProgress } as WorkflowChange);

/** Returns the rows of holds. The workflow as a whole has the empty step id, which no step has. */
const holdRows = (holds: readonly Hold[], workflowId: string, tenant: string): readonly Row[] =>
  holds.map(({ step_id, by }) => [workflowId, step_id ?? "", by, tenant]);
