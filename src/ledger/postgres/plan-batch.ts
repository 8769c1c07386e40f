/**
 * What a batch writes, decided from where its streams stand. Pure: rows come in, rows go out.
 *
 * Owns: the entries' order (each is judged on what the ones before it left), and one row of each table a key, as the last
 *       entry that is written leaves it.
 * Never: asks the database.
 * INV-1  A refused entry leaves nothing; whether it is refused says tables/decide-append.ts.
 * INV-2  Who got his transaction's id before another one that was committed first is late: his rows would come before what
 *        they rest on, and the whole batch is tried again.
 */
import { addCharge, type Charge, noCharge } from "../../contract/budget.ts";
import { sha256 } from "../../contract/digest.ts";
import { type Gate, isOpenGate } from "../../contract/gate.ts";
import type { Append, AppendIndexes, AppendReceipt } from "../../ports/ledger-store.ts";
import { type Columns, gateColumns, idText, payerOf, threadText, toCharge } from "../tables/columns.ts";
import {
  frees,
  holderAfter,
  refuseAppend,
  refuseCharges,
  refuseKeys,
  type StreamHead,
} from "../tables/decide-append.ts";
import type { Value } from "./query.ts";

/** What the first round trip has read, and locked. */
export interface Standing {
  readonly position: number;
  readonly streams: readonly Columns[];
  readonly workflows: readonly Columns[];
  /** Holders of keys that the batch did not bring. */
  readonly keys: readonly Columns[];
  /** Of counters that may not pass a ceiling. */
  readonly counters: readonly Columns[];
}

type Row = readonly Value[];

/** Rows to be written, by what is done with them. */
export interface BatchPlan {
  readonly receipts: readonly AppendReceipt[];
  readonly turns: readonly Row[];
  readonly newStreams: readonly Row[];
  readonly movedStreams: readonly Row[];
  readonly newWorkflows: readonly Row[];
  readonly changedWorkflows: readonly Row[];
  readonly gates: readonly Row[];
  readonly closedGates: readonly Row[];
  /** Of each key that the batch holds now: tenant, digest, key, workflow, action. */
  readonly keys: readonly Row[];
  readonly charges: readonly { readonly key: readonly [string, string]; readonly amounts: Charge }[];
  readonly memory: readonly Row[];
  readonly documents: readonly Row[];
  readonly counters: readonly Row[];
}

/** The longest text that an index takes as it is. */
const maxIndexed = 1000;

export const digestOf = (text: string): string => (text.length > maxIndexed ? sha256(text) : text);

const keyOf = (...parts: readonly string[]): string => parts.join("\n");

/** @returns null where the batch came too late to its transaction's id. */
export function planBatch(batch: readonly Append[], standing: Standing): BatchPlan | null {
  const isLate = [...standing.streams, ...standing.keys].some((row) => (row["position"] as number) > standing.position);
  return isLate ? null : new Planning(standing).plan(batch);
}

type WorkflowRow = Record<(typeof headNames)[number], Value>;

const headNames = [
  "workflow_id",
  "tenant_id",
  "thread_id",
  "principal_id",
  "intent_id",
  "intent_type",
  "correlation_id",
  "state",
  "created_at",
  "updated_at",
  "due_at",
  "owner",
  "epoch",
  "principal_type",
  "title",
  "percent",
] as const;

class Planning {
  readonly #heads = new Map<string, StreamHead>();
  readonly #workflows = new Map<string, WorkflowRow>();
  readonly #holders = new Map<string, string>();
  readonly #standing: ReadonlyMap<string, Charge>;
  readonly #known: ReadonlySet<string>;
  readonly #created = new Set<string>();
  readonly #changed = new Set<string>();
  readonly #turns: Row[] = [];
  readonly #moved = new Map<string, Row>();
  readonly #gates = new Map<string, { readonly gate: Gate; readonly tenant: string }>();
  readonly #keys = new Map<string, Row>();
  readonly #charges = new Map<string, BatchPlan["charges"][number]>();
  readonly #memory = new Map<string, Row>();
  readonly #documents = new Map<string, Row>();
  readonly #counters = new Map<string, Row>();
  #position: number;

  constructor({ position, streams, workflows, keys, counters }: Standing) {
    this.#position = position;
    this.#standing = new Map(
      counters.map((row) => [keyOf(row["tenant_id"] as string, row["counter"] as string), toCharge(row)]),
    );
    for (const row of workflows) this.#workflows.set(row["workflow_id"] as string, row as WorkflowRow);
    for (const row of streams) this.#heads.set(row["stream"] as string, this.#headOf(row));
    for (const row of keys)
      this.#holders.set(keyOf(row["tenant_id"] as string, row["key"] as string), row["workflow_id"] as string);
    this.#known = new Set(this.#heads.keys());
  }

  plan(batch: readonly Append[]): BatchPlan {
    const receipts = batch.map((entry) => this.#take(entry));
    const sorted = (rows: ReadonlyMap<string, Row>) => [...rows].sort(byKey).map(([, row]) => row);
    const streams = sorted(this.#moved);
    const heads = (ids: Iterable<string>) => [...ids].sort().map((id) => headRow(this.#workflows.get(id)!));
    const isKnown = ([stream]: Row) => this.#known.has(stream as string);
    const gates = [...this.#gates].sort(byKey).map(([, each]) => each);
    return {
      receipts,
      turns: this.#turns,
      newStreams: streams.filter((row) => !isKnown(row)),
      movedStreams: streams.filter(isKnown),
      newWorkflows: heads(this.#created),
      changedWorkflows: heads([...this.#changed].filter((id) => !this.#created.has(id))),
      gates: gates.filter(({ gate }) => isOpenGate(gate)).map(gateRow),
      closedGates: gates
        .filter(({ gate }) => !isOpenGate(gate))
        .map(({ gate: { workflow_id, gate_id } }) => [workflow_id, gate_id]),
      keys: [...this.#keys.values()],
      charges: [...this.#charges].sort(byKey).map(([, charge]) => charge),
      memory: sorted(this.#memory),
      documents: sorted(this.#documents),
      counters: sorted(this.#counters),
    };
  }

  #headOf(row: Columns): StreamHead {
    const workflow = this.#workflows.get(row["stream"] as string);
    return {
      last: row["last_sequence"] as number,
      hash: row["hash"] as string,
      tenant: row["tenant_id"] as string,
      workflow: workflow === undefined ? null : stateOf(workflow),
    };
  }

  #take(entry: Append): AppendReceipt {
    const { row, indexes, claim } = entry;
    const tenant = idText(entry.tenant_id);
    const holderOf = (key: string) => this.#holders.get(keyOf(tenant, JSON.stringify(key)));
    const refusal =
      refuseAppend(entry, tenant, this.#heads.get(row.stream)) ??
      refuseKeys(entry, holderOf) ??
      refuseCharges(entry, tenant, (...place) => this.#standingOf(keyOf(...place)));
    if (refusal !== null) return refusal;
    const position = this.#position;
    this.#position += 1;
    const { stream, first_sequence, last_sequence, envelope, body, body_hash, prev_hash, hash } = row;
    const bytes = [envelope, body, body_hash, prev_hash, hash];
    this.#turns.push([position, stream, first_sequence, last_sequence, tenant, ...bytes]);
    this.#moved.set(stream, [stream, tenant, last_sequence, hash, position]);
    this.#writeWorkflow(entry, tenant);
    const workflow = this.#workflows.get(stream);
    const state = workflow === undefined ? null : stateOf(workflow);
    this.#heads.set(stream, { last: last_sequence, hash, tenant, workflow: state });
    if (indexes !== undefined) this.#writeIndexes({ stream, tenant, position, indexes });
    if (state !== null && state.thread !== null) this.#touch(tenant, state.thread, position);
    return { ok: true, position, epoch: claim === undefined ? null : (state?.epoch ?? null) };
  }

  #standingOf(name: string): Charge {
    const standing = this.#standing.get(name) ?? noCharge;
    const added = this.#charges.get(name)?.amounts;
    return added === undefined ? standing : addCharge(standing, added);
  }

  #writeWorkflow(entry: Append, tenant: string): void {
    const { row, indexes, now } = entry;
    const created = indexes?.create;
    if (created !== undefined) {
      this.#created.add(row.stream);
      const { workflow_id, intent_id, intent_type, correlation_id, principal_type, created_at, updated_at } = created;
      const ids = { workflow_id, tenant_id: tenant, intent_id, intent_type, correlation_id, principal_type };
      this.#workflows.set(row.stream, {
        ...ids,
        thread_id: created.thread_id === null ? null : idText(created.thread_id),
        principal_id: idText(created.principal_id),
        title: idText(created.title),
        ...changed({ state: created.state, due_at: created.due_at, percent: created.percent }, indexes),
        ...holderAfter(entry),
        created_at,
        updated_at,
      });
      return;
    }
    const before = this.#workflows.get(row.stream);
    if (before === undefined || !changesWorkflow(entry)) return;
    this.#changed.add(row.stream);
    const { owner, epoch } = holderAfter(entry, stateOf(before));
    this.#workflows.set(row.stream, { ...before, ...changed(before, indexes), owner, epoch, updated_at: now });
  }

  #writeIndexes(write: IndexWrite): void {
    const { tenant, stream, position, indexes } = write;
    const { gates = [], keys = [], charges = [], memory = [], documents = [] } = indexes;
    for (const gate of gates) this.#gates.set(keyOf(gate.workflow_id, gate.gate_id), { gate, tenant });
    for (const { key, action_id } of keys) this.#writeKey([tenant, JSON.stringify(key), stream, action_id]);
    for (const charge of charges) {
      const key = [payerOf(tenant, charge), charge.counter] as const;
      const name = keyOf(...key);
      const before = this.#charges.get(name)?.amounts;
      const sum = before === undefined ? charge.amounts : addCharge(before, charge.amounts);
      this.#charges.set(name, { key, amounts: sum });
    }
    memory.forEach((record, ordinal) => {
      const [thread, key] = [threadText(record.thread_id), JSON.stringify(record.key)];
      const place = [tenant, thread, digestOf(key), key] as const;
      this.#memory.set(keyOf(...place), [...place, position, ordinal, JSON.stringify(record)]);
    });
    for (const record of documents) {
      const id = idText(record.document_id);
      this.#documents.set(keyOf(tenant, id), [tenant, id, position, JSON.stringify(record)]);
    }
    if (memory.length + documents.length > 0) this.#touch(tenant, "", position);
  }

  /** The first holder stays. */
  #writeKey([tenant, key, stream, action]: readonly [string, string, string, string]): void {
    const name = keyOf(tenant, key);
    if (this.#holders.has(name)) return;
    this.#holders.set(name, stream);
    this.#keys.set(name, [tenant, digestOf(key), key, stream, action]);
  }

  #touch(tenant: string, thread: string, position: number): void {
    const name = keyOf(tenant, thread);
    const changes = (this.#counters.get(name)?.[3] as number | undefined) ?? 0;
    this.#counters.set(name, [tenant, thread, position, changes + 1]);
  }
}

interface IndexWrite {
  readonly stream: string;
  readonly tenant: string;
  readonly position: number;
  readonly indexes: AppendIndexes;
}

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a < b ? -1 : a > b ? 1 : 0;

const stateOf = ({ thread_id, owner, epoch }: WorkflowRow) => ({
  thread: thread_id as string | null,
  owner: owner as string | null,
  epoch: epoch as number,
});

/** What of a workflow's row an entry says anew. */
function changed(
  before: Pick<WorkflowRow, "state" | "due_at" | "percent">,
  { state, due_at, percent }: AppendIndexes = {},
) {
  return {
    state: state ?? before.state,
    due_at: due_at === undefined ? before.due_at : due_at,
    percent: percent ?? before.percent,
  };
}

function changesWorkflow(entry: Append): boolean {
  const { claim, indexes: { state, due_at, percent } = {} } = entry;
  return [claim, state, due_at, percent].some((change) => change !== undefined) || frees(entry);
}

const headRow = (row: WorkflowRow): Row => headNames.map((name) => row[name]) as Row;

function gateRow({ gate, tenant }: { readonly gate: Gate; readonly tenant: string }): Row {
  const { operator, due_at, listed } = gateColumns(gate);
  return [gate.workflow_id, gate.gate_id, tenant, JSON.stringify(gate), operator, due_at, listed];
}
