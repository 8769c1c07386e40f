/**
 * A ledger store of plain rows in JS Maps: the port at its smallest, for tests and as a pattern for a host that keeps
 * its own tables (LED-09).
 *
 * Owns: one list of rows and one Map per index.
 * Never: touches a disk, shares state between two stores, or is meant for production: nothing here is bounded.
 * INV-1  An entry is checked wholly before it changes anything.
 * INV-2  Records go in and come out as JSON text: a caller cannot change what is stored.
 */
import { addCharge, type Charge, fieldBeyond, noCharge } from "../contract/budget.ts";
import { genesisHash } from "../contract/chain.ts";
import type { ParsedDocumentRecord } from "../contract/context-bundle.ts";
import { KernelErrorException } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { type Gate, isOpenGate } from "../contract/gate.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type {
  Append,
  AppendReceipt,
  HeadFilter,
  LedgerStore,
  MemoryQuery,
  PositionedRow,
  StoredMemory,
  TakeUpKind,
  WorkflowHead,
} from "../ports/ledger-store.ts";
import { createLists } from "./memory-row-lists.ts";

type Id = string | number;
type KeyRow = { readonly workflow_id: string; readonly action_id: string };

interface Tables {
  readonly rows: PositionedRow[];
  readonly tenants: Map<string, Id>;
  readonly workflows: Map<string, WorkflowHead>;
  /** Until when each owner is alive. */
  readonly owners: Map<string, number>;
  readonly gates: Map<string, string>;
  readonly keys: Map<string, KeyRow>;
  readonly charges: Map<string, Charge>;
  readonly memory: Map<string, string>;
  readonly documents: Map<string, string>;
  readonly versions: Map<string, number>;
}

const join = (...parts: readonly (Id | null)[]): string => JSON.stringify(parts);
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const isFinished = ({ state }: WorkflowHead): boolean => ["completed", "failed", "cancelled"].includes(state);

/** A new, empty store. */
export function memoryLedger(): LedgerStore {
  const tables: Tables = {
    rows: [],
    tenants: new Map(),
    workflows: new Map(),
    owners: new Map(),
    gates: new Map(),
    keys: new Map(),
    charges: new Map(),
    memory: new Map(),
    documents: new Map(),
    versions: new Map(),
  };
  return {
    name: "memory rows",
    ...createLog(tables),
    ...createLeases(tables),
    ...createQueues(tables),
    ...createIndexes(tables),
    ...createLists(tables),
  };
}

function createLog(
  tables: Tables,
): Pick<LedgerStore, "open" | "close" | "append" | "read" | "last" | "tail" | "position" | "dataVersion"> {
  let isOpen = false;
  return {
    open: async () => {
      isOpen = true;
    },
    close: async () => {
      isOpen = false;
    },
    append: async (batch) => {
      if (!isOpen) throw notOpen();
      return batch.map((entry) => appendEntry(tables, entry));
    },
    read: async (stream, after = 0, limit) =>
      tables.rows
        .map(({ row }) => row)
        .filter((row) => row.stream === stream && row.last_sequence > after)
        .slice(0, limit),
    last: async (stream) => tables.rows.findLast(({ row }) => row.stream === stream)?.row ?? null,
    tail: async (position, limit) => tables.rows.slice(position, position + limit),
    position: async () => tables.rows.length,
    // Rows are frozen, and appended through this store alone.
    dataVersion: async () => 0,
  };
}

function notOpen(): KernelErrorException {
  const source = moduleRef(0, "memory_rows", "append");
  return new KernelErrorException(kernelError("T0_LEDGER_UNAVAILABLE", "ledger memory rows is not open", source));
}

function appendEntry(tables: Tables, entry: Append): AppendReceipt {
  const reason = refuse(tables, entry);
  if (reason !== null) return { ok: false, reason };
  const position = tables.rows.length + 1;
  tables.rows.push({ position, row: Object.freeze({ ...entry.row }) });
  tables.tenants.set(entry.row.stream, entry.tenant_id);
  const head = writeHead(tables, entry);
  writeRecords(tables, entry, position);
  if (head?.thread_id != null) tables.versions.set(join(head.tenant_id, head.thread_id), position);
  return { ok: true, position, epoch: entry.claim === undefined ? null : (head?.epoch ?? null) };
}

type Refusal = Extract<AppendReceipt, { readonly ok: false }>["reason"] | null;

function refuse(tables: Tables, entry: Append): Refusal {
  const { row, lease, claim, indexes = {} } = entry;
  if (!isOfOneTenant(tables, entry)) return "missing";
  const head = tables.workflows.get(row.stream);
  const touchesHead =
    [lease, claim, indexes.state, indexes.percent, indexes.due_at].some((x) => x !== undefined) || indexes.release;
  if (touchesHead && head === undefined && indexes.create === undefined) return "missing";
  if (indexes.create !== undefined && tables.tenants.has(row.stream)) return "clash";
  if (lease !== undefined && (head?.owner !== lease.owner || head.epoch !== lease.epoch)) return "fenced";
  if (claim !== undefined && (head?.owner ?? claim) !== claim) return "fenced";
  const last = tables.rows.findLast((kept) => kept.row.stream === row.stream)?.row;
  const continues =
    row.first_sequence === (last?.last_sequence ?? 0) + 1 && row.prev_hash === (last?.hash ?? genesisHash);
  if (!continues) return "clash";
  if (isTaken(tables, entry)) return "taken";
  return isSpent(tables, entry) ? "spent" : null;
}

function isSpent({ charges: counted }: Tables, { tenant_id, indexes }: Append): boolean {
  const before = new Map<string, Charge>();
  return (indexes?.charges ?? []).some(({ counter, ofAll, amounts, within }) => {
    if (within === undefined) return false;
    const id = join(ofAll === true ? null : tenant_id, counter);
    const charged = before.get(id) ?? counted.get(id) ?? noCharge;
    before.set(id, addCharge(charged, amounts));
    return fieldBeyond(within, { charged, amounts }) !== null;
  });
}

const isTaken = ({ keys: held }: Tables, { tenant_id, row, indexes }: Append): boolean =>
  (indexes?.keys ?? []).some(({ key, unique }) => {
    const holder = held.get(join(tenant_id, key));
    return unique === true && holder !== undefined && holder.workflow_id !== row.stream;
  });

function isOfOneTenant(tables: Tables, { tenant_id, row, indexes = {} }: Append): boolean {
  const { create, gates = [], memory = [], documents = [] } = indexes;
  const owner = create === undefined ? (tables.tenants.get(row.stream) ?? tenant_id) : create.tenant_id;
  if (create !== undefined && create.workflow_id !== row.stream) return false;
  return owner === tenant_id && [...gates, ...memory, ...documents].every((record) => record.tenant_id === tenant_id);
}

function writeHead(tables: Tables, { row, now, lease, claim, indexes = {} }: Append): WorkflowHead | undefined {
  const { create, state, percent, due_at, release } = indexes;
  const before = create === undefined ? tables.workflows.get(row.stream) : { ...create, owner: null, epoch: 0 };
  if (before === undefined) return undefined;
  const frees = release === true && (lease ?? claim) !== undefined;
  const changes = [create, claim, state, percent, due_at].some((change) => change !== undefined) || frees;
  if (!changes) return before;
  const held = claim === undefined ? before : { ...before, owner: claim, epoch: before.epoch + 1 };
  const after: WorkflowHead = {
    ...held,
    ...(frees ? { owner: null } : {}),
    state: state ?? before.state,
    percent: percent ?? before.percent,
    due_at: due_at === undefined ? before.due_at : due_at,
    updated_at: create === undefined ? now : create.updated_at,
  };
  tables.workflows.set(row.stream, after);
  return after;
}

function writeRecords(tables: Tables, { tenant_id, row, indexes = {} }: Append, position: number): void {
  const { gates = [], keys = [], charges = [], memory = [], documents = [] } = indexes;
  for (const gate of gates) {
    const id = join(gate.workflow_id, gate.gate_id);
    if (isOpenGate(gate)) tables.gates.set(id, JSON.stringify(gate));
    else tables.gates.delete(id);
  }
  for (const { key, action_id } of keys) {
    const id = join(tenant_id, key);
    if (!tables.keys.has(id)) tables.keys.set(id, { workflow_id: row.stream, action_id });
  }
  for (const { counter, ofAll, amounts } of charges) {
    const id = join(ofAll === true ? null : tenant_id, counter);
    tables.charges.set(id, addCharge(tables.charges.get(id) ?? noCharge, amounts));
  }
  for (const record of memory) {
    const id = join(tenant_id, record.thread_id, record.key);
    // Deleted first, so that the Map's order is the order of writing.
    tables.memory.delete(id);
    tables.memory.set(id, JSON.stringify({ ...record, position }));
  }
  for (const record of documents) tables.documents.set(join(tenant_id, record.document_id), JSON.stringify(record));
  if (memory.length + documents.length > 0) tables.versions.set(join(tenant_id, null), position);
}

type Leases = "head" | "beat" | "claim" | "takeUp" | "release" | "held";

function createLeases(tables: Tables): Pick<LedgerStore, Leases> {
  const { workflows, owners } = tables;
  const give = (head: WorkflowHead, owner: string | null): WorkflowHead => {
    const given = { ...head, owner, epoch: owner === null ? head.epoch : head.epoch + 1 };
    workflows.set(head.workflow_id, given);
    return given;
  };
  const free = (isGone: (owner: string) => boolean): void => {
    for (const head of [...workflows.values()]) if (head.owner !== null && isGone(head.owner)) give(head, null);
  };
  const freeGone = (now: number): void => {
    for (const [owner, until] of owners) if (until <= now) owners.delete(owner);
    free((owner) => !owners.has(owner));
  };
  return {
    head: async (workflowId) => workflows.get(workflowId) ?? null,
    beat: async (owner, now, ttlMs) => {
      const wasKnown = owners.has(owner);
      if (!wasKnown) free((holder) => holder === owner);
      owners.set(owner, now + ttlMs);
      return wasKnown;
    },
    claim: async (workflowId, owner, now) => {
      freeGone(now);
      const head = workflows.get(workflowId);
      if (head === undefined || (head.owner ?? owner) !== owner) return null;
      return { owner, epoch: give(head, owner).epoch };
    },
    takeUp: async (kind, owner, now, limit) => {
      freeGone(now);
      const found = ready(tables).filter((head) => isToTake(kind, head) && (head.due_at ?? 0) <= now);
      const taken = found.slice(0, limit).map((head) => give(head, owner));
      return taken.map((head) => ({ head, lease: { owner, epoch: head.epoch } }));
    },
    release: async (workflowId, { owner, epoch }) => {
      const head = workflows.get(workflowId);
      if (head?.owner === owner && head.epoch === epoch) give(head, null);
    },
    held: async (owner) =>
      byId(tables)
        .filter((head) => head.owner === owner)
        .map(({ workflow_id, epoch }) => ({ workflow_id, epoch })),
  };
}

const byId = ({ workflows }: Tables): readonly WorkflowHead[] =>
  [...workflows.values()].sort((a, b) => byText(a.workflow_id, b.workflow_id));

/** What nobody holds and is not over, in the order in which it may go on. */
const ready = (tables: Tables): readonly WorkflowHead[] =>
  byId(tables)
    .filter((head) => head.owner === null && !isFinished(head))
    .sort((a, b) => (a.due_at ?? 0) - (b.due_at ?? 0));

const isToTake = (kind: TakeUpKind, { state, due_at }: WorkflowHead): boolean =>
  kind === "due" ? due_at !== null : ["accepted", "planned", "running"].includes(state);

function createQueues(tables: Tables): Pick<LedgerStore, "heads" | "nextDue"> {
  return {
    heads: async (filter) =>
      byId(tables)
        .filter((head) => matches(head, filter))
        .slice(0, filter.limit),
    nextDue: async () => ready(tables).find(({ due_at }) => due_at !== null)?.due_at ?? null,
  };
}

function matches(head: WorkflowHead, { states, after, ...fields }: HeadFilter): boolean {
  const { tenant_id, thread_id, intent_type, intent_id } = fields;
  const wanted = { tenant_id, thread_id, intent_type, intent_id };
  const isEqual = Object.entries(wanted).every(
    ([name, value]) => value === undefined || value === head[name as keyof WorkflowHead],
  );
  return isEqual && (states?.includes(head.state) ?? true) && (after === undefined || head.workflow_id > after);
}

type RecordIndex = "gates" | "findKey" | "charges" | "chargesOf" | "memory" | "documents" | "version";

function createIndexes(tables: Tables): Pick<LedgerStore, RecordIndex> {
  return {
    gates: async (filter) => readGates(tables, filter),
    findKey: async (tenantId, key) => tables.keys.get(join(tenantId, key)) ?? null,
    charges: async (tenantId, counters) =>
      counters.map((counter) => tables.charges.get(join(tenantId, counter)) ?? noCharge),
    chargesOf: async (tenantId) => readCharges(tables, tenantId),
    memory: async (query) => readMemory(tables, query),
    documents: async (tenantId, documentIds) =>
      documentIds
        .map((id) => tables.documents.get(join(tenantId, id)))
        .filter((text) => text !== undefined)
        .map((text) => JSON.parse(text) as ParsedDocumentRecord),
    version: async (tenantId, threadId) =>
      Math.max(tables.versions.get(join(tenantId, null)) ?? 0, tables.versions.get(join(tenantId, threadId)) ?? 0),
  };
}

function readGates({ gates }: Tables, filter: Parameters<LedgerStore["gates"]>[0]): readonly Gate[] {
  const { tenant_id, workflow_id, after = "" } = filter;
  const cursor = after.includes("/") ? after : `${after}/\u{10ffff}`;
  const place = (gate: Gate) => `${gate.workflow_id}/${gate.gate_id}`;
  return [...gates.values()]
    .map((text) => JSON.parse(text) as Gate)
    .filter((gate) => tenant_id === undefined || gate.tenant_id === tenant_id)
    .filter((gate) => workflow_id === undefined || gate.workflow_id === workflow_id)
    .filter((gate) => after === "" || place(gate) > cursor)
    .sort((a, b) => byText(place(a), place(b)))
    .slice(0, filter.limit);
}

function readCharges({ charges }: Tables, tenantId: Id): Awaited<ReturnType<LedgerStore["chargesOf"]>> {
  return [...charges]
    .map(([place, amounts]) => ({ place: JSON.parse(place) as [Id, string], amounts }))
    .filter(({ place: [tenant] }) => tenant === tenantId)
    .map(({ place: [, counter], amounts }) => ({ counter, amounts }))
    .sort((a, b) => byText(a.counter, b.counter));
}

function readMemory({ memory }: Tables, { tenant_id, thread_id, keys, limit }: MemoryQuery): readonly StoredMemory[] {
  const found = [...memory.values()]
    .map((text) => JSON.parse(text) as StoredMemory)
    .reverse()
    .filter((record) => record.tenant_id === tenant_id)
    .filter((record) => thread_id === undefined || record.thread_id === thread_id)
    .filter((record) => keys?.includes(record.key) ?? true);
  return found.filter(({ key }, i) => found.findIndex((other) => other.key === key) === i).slice(0, limit);
}
