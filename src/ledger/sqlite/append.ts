/**
 * Appends a batch of turns with their index changes: one transaction, one receipt per entry, in the batch's order.
 *
 * Owns: the writes of an entry. This is the hot path. Whether it may be written is decided in decide-append.ts.
 * Never: reads a turn's bytes, or writes anything for a refused entry.
 * INV-1  An entry is checked wholly before its first write; a refusal needs no undo.
 */

import { isOpenGate } from "../../contract/gate.ts";
import type { Append, AppendIndexes, AppendReceipt } from "../../ports/ledger-store.ts";
import { type Columns, gateColumns, idText, payerOf, threadText } from "../tables/columns.ts";
import {
  frees,
  holderAfter,
  refuseAppend,
  refuseCharges,
  refuseKeys,
  type StreamHead,
  type Workflow,
} from "../tables/decide-append.ts";
import { BatchCharges } from "./batch-charges.ts";
import { type Connection, writeAll } from "./transaction.ts";

/** Tenant and thread texts whose counters the batch moves, with their last position. */
type Touched = Map<string, { readonly tenant: string; readonly thread: string; readonly position: number }>;

/** What is written once for a batch. */
interface Batch {
  readonly touched: Touched;
  readonly charges: BatchCharges;
}

export function appendBatch(connection: Connection, batch: readonly Append[]): readonly AppendReceipt[] {
  if (batch.length === 0) return [];
  const append = (): readonly AppendReceipt[] => {
    const whole: Batch = { touched: new Map(), charges: new BatchCharges(connection) };
    const receipts = batch.map((entry) => appendEntry(connection, entry, whole));
    for (const { tenant, thread, position } of whole.touched.values())
      connection.statements.bump.run(tenant, thread, position);
    whole.charges.write();
    return receipts;
  };
  const isLazy = batch.every(({ lazy }) => lazy === true);
  const receipts = writeAll(connection, append, isLazy);
  connection.durability.committed(Math.max(0, ...receipts.map((receipt) => (receipt.ok ? receipt.position : 0))));
  return receipts;
}

function appendEntry(connection: Connection, entry: Append, { touched, charges }: Batch): AppendReceipt {
  const { row, indexes, claim } = entry;
  const tenant = idText(entry.tenant_id);
  const head = readHead(connection, row.stream);
  const holderOf = (key: string) => findHolder(connection, tenant, key);
  const standingOf = (payer: string, counter: string) => charges.standingOf(payer, counter);
  const refusal =
    refuseAppend(entry, tenant, head) ?? refuseKeys(entry, holderOf) ?? refuseCharges(entry, tenant, standingOf);
  if (refusal !== null) return refusal;
  const position = insertTurn(connection, entry, tenant);
  const workflow = writeWorkflow(connection, entry, head?.workflow ?? null);
  connection.heads.set(row.stream, { last: row.last_sequence, hash: row.hash, tenant, workflow });
  if (indexes !== undefined) writeIndexes(connection, { row, indexes, tenant, position });
  for (const charge of indexes?.charges ?? []) charges.add(payerOf(tenant, charge), charge.counter, charge.amounts);
  touch(touched, { tenant, thread: workflow?.thread ?? null, position, indexes });
  return { ok: true, position, epoch: claim === undefined ? null : (workflow?.epoch ?? null) };
}

function readHead({ statements, heads }: Connection, stream: string): StreamHead | undefined {
  const kept = heads.get(stream);
  if (kept !== undefined) return kept;
  const columns = statements.streamHead.get(stream);
  return columns === undefined ? undefined : toStreamHead(columns);
}

function toStreamHead(columns: Columns): StreamHead {
  const workflow = {
    thread: columns["thread_id"] as string | null,
    owner: columns["owner"] as string | null,
    epoch: columns["epoch"] as number,
  };
  return {
    last: columns["last_sequence"] as number,
    hash: columns["hash"] as string,
    tenant: columns["tenant_id"] as string,
    workflow: columns["workflow_id"] === null ? null : workflow,
  };
}

const findHolder = ({ statements }: Connection, tenant: string, key: string): string | undefined =>
  statements.findKey.get(tenant, JSON.stringify(key))?.["workflow_id"] as string | undefined;

function insertTurn({ statements }: Connection, { row }: Append, tenant: string): number {
  const { lastInsertRowid } = statements.insertTurn.run(
    row.stream,
    row.first_sequence,
    row.last_sequence,
    row.envelope,
    row.body,
    row.body_hash,
    row.prev_hash,
    row.hash,
    tenant,
  );
  return Number(lastInsertRowid);
}

/** Inserts or updates the workflow's row when the entry asks for it; returns what the head cache must know. */
function writeWorkflow(connection: Connection, entry: Append, workflow: Workflow | null): Workflow | null {
  const { indexes, claim } = entry;
  if (indexes?.create !== undefined) return insertWorkflow(connection, entry);
  if (workflow === null) return null;
  const isPlain = claim === undefined && !frees(entry) && indexes?.state === undefined && indexes?.due_at === undefined;
  if (isPlain) {
    if (indexes?.percent !== undefined)
      connection.statements.updatePercent.run(entry.now, indexes.percent, entry.row.stream);
    return workflow;
  }
  const after = { ...workflow, ...holderAfter(entry, workflow) };
  updateWorkflow(connection, entry, after);
  return after;
}

function updateWorkflow({ statements }: Connection, { now, row, indexes }: Append, after: Workflow): void {
  const due = indexes?.due_at;
  const { owner, epoch } = after;
  const isDueGiven = due === undefined ? 0 : 1;
  statements.updateWorkflow.run(
    now,
    indexes?.state ?? null,
    isDueGiven,
    due ?? null,
    owner,
    epoch,
    indexes?.percent ?? null,
    row.stream,
  );
}

function insertWorkflow({ statements }: Connection, entry: Append): Workflow {
  const { create, state, percent, due_at } = entry.indexes!;
  const head = create!;
  const thread = head.thread_id === null ? null : idText(head.thread_id);
  const holder = holderAfter(entry);
  statements.insertWorkflow.run(
    head.workflow_id,
    idText(head.tenant_id),
    thread,
    idText(head.principal_id),
    head.intent_id,
    head.intent_type,
    head.correlation_id,
    state ?? head.state,
    head.created_at,
    head.updated_at,
    due_at === undefined ? head.due_at : due_at,
    holder.owner,
    holder.epoch,
    head.principal_type,
    head.title,
    percent ?? head.percent,
  );
  return { thread, ...holder };
}

interface IndexWrite {
  readonly row: Append["row"];
  readonly indexes: AppendIndexes;
  readonly tenant: string;
  readonly position: number;
}

function writeIndexes(connection: Connection, write: IndexWrite): void {
  const { gates, keys, memory, documents } = write.indexes;
  if (gates !== undefined) writeGates(connection, write, gates);
  if (keys !== undefined) writeKeys(connection, write, keys);
  if (memory !== undefined) writeMemory(connection, write, memory);
  if (documents !== undefined) writeDocuments(connection, write, documents);
}

function writeGates(
  { statements }: Connection,
  { tenant }: IndexWrite,
  gates: NonNullable<AppendIndexes["gates"]>,
): void {
  for (const gate of gates) {
    const { workflow_id, gate_id } = gate;
    if (isOpenGate(gate)) {
      const { operator, due_at, listed } = gateColumns(gate);
      statements.upsertGate.run(workflow_id, gate_id, tenant, JSON.stringify(gate), operator, due_at, listed);
    } else statements.deleteGate.run(workflow_id, gate_id);
  }
}

function writeKeys(
  { statements }: Connection,
  { tenant, row }: IndexWrite,
  keys: NonNullable<AppendIndexes["keys"]>,
): void {
  for (const { key, action_id } of keys) statements.insertKey.run(tenant, JSON.stringify(key), row.stream, action_id);
}

function writeMemory(
  { statements }: Connection,
  { tenant, position }: IndexWrite,
  memory: NonNullable<AppendIndexes["memory"]>,
): void {
  memory.forEach((record, ordinal) => {
    const thread = threadText(record.thread_id);
    const key = JSON.stringify(record.key);
    statements.upsertMemory.run(tenant, thread, key, position, ordinal, JSON.stringify(record));
  });
}

function writeDocuments(
  { statements }: Connection,
  { tenant }: IndexWrite,
  documents: NonNullable<AppendIndexes["documents"]>,
): void {
  for (const record of documents)
    statements.upsertDocument.run(tenant, idText(record.document_id), JSON.stringify(record));
}

interface Touch {
  readonly tenant: string;
  readonly thread: string | null;
  readonly position: number;
  readonly indexes: AppendIndexes | undefined;
}

// Collected per batch: a thread that is written to by many entries costs one statement.
function touch(touched: Touched, { tenant, thread, position, indexes }: Touch): void {
  if (thread !== null) touched.set(`${tenant} ${thread}`, { tenant, thread, position });
  if (indexes?.memory?.length || indexes?.documents?.length) touched.set(tenant, { tenant, thread: "", position });
}
