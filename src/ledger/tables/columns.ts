/**
 * The mapping between a table's columns and the port's records.
 *
 * Owns: the text form of ids and keys, and the record of a head and of a turn.
 * Never: parses a turn; its envelope and body are bytes here.
 * 1.  idText is injective: JSON text distinguishes 1 from "1", and escapes characters that UTF-8 could not hold.
 */

import { type Charge, noCharge } from "../../contract/budget.ts";
import type { Compensated } from "../../contract/compensation.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { Gate } from "../../contract/gate.ts";
import { seatText } from "../../contract/gate-seats.ts";
import type { Grant } from "../../contract/grant.ts";
import type { Halt, StoredHalt } from "../../contract/halt.ts";
import { instantText } from "../../contract/instant.ts";
import { listGate } from "../../contract/listed-gate.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { WorkflowStateName } from "../../contract/progress.ts";
import type { ScheduleEntry, StoredSchedule } from "../../contract/schedule.ts";
import { searchTextOf } from "../../contract/search-text.ts";
import { personKey, type StandIn } from "../../contract/stand-in.ts";
import type { TurnRow } from "../../contract/turn.ts";
import type { GateWork } from "../../ports/gate-page.ts";
import type { IndexedCharge, ListedHead, WorkflowHead } from "../../ports/ledger-store.ts";
import type { StandInPageQuery } from "../../ports/stand-in-index.ts";
import type { OverdueWait, StoredEvent, StoredWait, WaitSource } from "../../ports/wait-store.ts";

/** A row as the driver gives it. */
export type Columns = Readonly<Record<string, unknown>>;

type Id = string | number;

export const idText = (id: Id): string => JSON.stringify(id);
/** The tenant's text of counters that all tenants share. */
const everyTenant = "null";
export const payerText = (id: Id | null): string => (id === null ? everyTenant : idText(id));
/** Returns the owner of the counter that a charge of this tenant's entry adds to. */
export const payerOf = (tenant: string, { ofAll }: Pick<IndexedCharge, "ofAll">): string =>
  ofAll === true ? everyTenant : tenant;

/** Parses a cell that holds JSON. @throws KernelErrorException T0_LEDGER_CORRUPT. */
export function parseCell<T>(text: unknown, column: string): T {
  try {
    return JSON.parse(text as string) as T;
  } catch {
    const message = `the ledger is damaged: an index cannot be read at ${column}; verify names the row`;
    return raise(kernelError("T0_LEDGER_CORRUPT", message, readRef, { detail: { column } }));
  }
}

const readRef = moduleRef(0, "ledger", "read");

/**
 * Returns the text of a thread in a primary key, in which NULL would not be unique: '' is no thread and no id's text.
 */
export const threadText = (id: Id | null): string => (id === null ? "" : idText(id));

export function toTurnRow(columns: Columns): TurnRow {
  return Object.freeze({
    stream: columns["stream"] as string,
    first_sequence: columns["first_sequence"] as number,
    last_sequence: columns["last_sequence"] as number,
    envelope: columns["envelope"] as string,
    body: columns["body"] as string | null,
    body_hash: columns["body_hash"] as string,
    prev_hash: columns["prev_hash"] as string,
    hash: columns["hash"] as string,
  });
}

/**
 * Reads a head of a list of workflows to take up: an unreadable head is left out, so that it does not block the others.
 * `verify` reports it.
 */
export function readableHead(read: () => WorkflowHead): readonly WorkflowHead[] {
  try {
    return [read()];
  } catch {
    return [];
  }
}

export function toHead(columns: Columns): WorkflowHead {
  return {
    workflow_id: columns["workflow_id"] as string,
    tenant_id: parseCell(columns["tenant_id"], "tenant_id"),
    thread_id: columns["thread_id"] === null ? null : parseCell(columns["thread_id"], "thread_id"),
    principal_id: parseCell(columns["principal_id"], "principal_id"),
    principal_type: columns["principal_type"] as string,
    title: columns["title"] as string,
    percent: columns["percent"] as number,
    intent_id: columns["intent_id"] as string,
    intent_type: columns["intent_type"] as string,
    correlation_id: columns["correlation_id"] as string,
    state: columns["state"] as WorkflowStateName,
    compensated: columns["compensated"] as Compensated | null,
    created_at: columns["created_at"] as number,
    updated_at: columns["updated_at"] as number,
    schedule: columns["schedule"] as string | null,
    due_at: columns["due_at"] as number | null,
    owner: columns["owner"] as string | null,
    epoch: columns["epoch"] as number,
  };
}

export const toSchedule = (columns: Columns): StoredSchedule => ({
  tenant_id: parseCell(columns["tenant_id"], "tenant_id"),
  name: columns["name"] as string,
  definition: parseCell(columns["definition"], "definition"),
  standing: parseCell(columns["standing"], "standing"),
});

export const toScheduleEntry = (columns: Columns): ScheduleEntry => ({
  sequence: columns["sequence"] as number,
  at: instantText(columns["at"] as number),
  ...parseCell<Pick<ScheduleEntry, "event_type" | "by" | "detail">>(columns["record"], "record"),
});

export const toListedHead = (columns: Columns): ListedHead => ({
  ...toHead(columns),
  open_gates: columns["open_gates"] as number,
  // SQLite has no truth values.
  paused: Boolean(columns["paused"]),
  queued: Boolean(columns["queued"]),
  held_by: parseCell<readonly string[]>(columns["held_by"] ?? "[]", "held_by"),
});

export const toStoredHalt = (columns: Columns): StoredHalt => ({
  ...parseCell<Halt>(columns["record"], "record"),
  tenant_id: parseCell(columns["tenant_id"], "tenant_id"),
  position: columns["position"] as number,
  is_lifted: columns["lifted"] === 1,
});

/** Returns the row of a grant. `covers` is its workflow, or empty if it holds for all work until an instant. */
export const grantRow = (grant: Grant, tenant: string): readonly string[] => [
  grant.grant_id,
  tenant,
  grant.operator,
  grant.until === undefined ? grant.workflow_id : "",
  JSON.stringify(grant),
];

export const toGrant = (columns: Columns): Grant => parseCell<Grant>(columns["record"], "record");

/** Returns the row of an order that names a stand-in. Times are epoch ms. */
export const standInRow = (order: StandIn, tenant: string): readonly (string | number)[] => [
  ...[order.stand_in_id, tenant, personKey(order.by), personKey(order.to)],
  ...[Date.parse(order.from), Date.parse(order.until), JSON.stringify(order)],
];

export const toStandIn = (columns: Columns): StandIn => parseCell<StandIn>(columns["record"], "record");

/** Returns the parameters of a page of stand-ins, in the order of the statements of both stores. */
export const standInPage = (tenantId: string | number, page: StandInPageQuery) => {
  const { now, begunBy = null, person, after = "", limit } = page;
  return [idText(tenantId), now, after, begunBy, person === undefined ? null : personKey(person), limit] as const;
};

/** Returns the value of a counter; zero if it was never charged. */
export function toCharge(columns: Columns | undefined): Charge {
  if (columns === undefined) return noCharge;
  const { tokens, money, invocations, wall_ms } = columns as unknown as Charge;
  return { tokens, money, invocations, wall_ms };
}

/** The columns of the index of gates, in the order of `gateRow`. */
export const gateColumns = [
  ...["workflow_id", "gate_id", "tenant_id", "record", "operator", "due_at", "listed"],
  ...["opened_at", "intent_type", "principal_id", "risk", "above", "seat", "search"],
] as const;

/** The columns that name a gate. */
export const gatePlace: readonly string[] = ["workflow_id", "gate_id", "tenant_id"];

/** Returns the assignments by which a newer row of a gate, of these columns, replaces the one that is there. */
export const gateChanges = (columns: readonly string[]): string =>
  columns
    .filter((column) => !gatePlace.includes(column))
    .map((column) => `${column} = excluded.${column}`)
    .join(", ");

/** A gate to be written, and the work that it belongs to. */
export interface PlannedGate {
  readonly gate: Gate;
  readonly tenant: string;
  readonly work: GateWork | undefined;
}

/** Returns the row of a gate. `above` names the workflows that run its own, each on a line. */
export function gateRow({ gate, tenant, work }: PlannedGate) {
  const { intent_type, title } = work ?? { intent_type: "", title: "" };
  const listed = listGate(gate);
  const asker = gate.requester ?? gate.requesters?.[0];
  return [
    ...[gate.workflow_id, gate.gate_id, tenant, JSON.stringify(gate), gate.operator],
    gate.due_at === null ? null : Date.parse(gate.due_at),
    listed.truncated ? JSON.stringify(listed) : null,
    Date.parse(gate.opened_at),
    intent_type,
    asker == null ? null : idText(asker.id),
    gate.risk_level,
    (gate.path ?? []).map(({ workflow_id }) => workflow_id).join("\n"),
    seatText(gate),
    searchTextOf([listed.title, intent_type, gate.operator, gate.workflow_id, title]),
  ];
}

export const toWait = (columns: Columns): StoredWait => ({
  workflow_id: columns["workflow_id"] as string,
  step_id: columns["step_id"] as string,
  tenant_id: parseCell(columns["tenant_id"], "tenant_id"),
  source: columns["source"] as WaitSource,
  name: columns["name"] as string,
  key: parseCell(columns["key"], "key"),
  since: columns["since"] as number,
});

export const toStoredEvent = (columns: Columns): StoredEvent => ({
  ...parseCell<Omit<StoredEvent, "tenant_id" | "taken_by">>(columns["record"], "record"),
  tenant_id: parseCell(columns["tenant_id"], "tenant_id"),
  taken_by: columns["taken_by"] as string | null,
});

export const toOverdueWait = (columns: Columns): OverdueWait => ({
  workflow_id: columns["workflow_id"] as string,
  tenant_id: parseCell(columns["tenant_id"], "tenant_id"),
  step_id: columns["step_id"] as string,
  source: columns["source"] as WaitSource,
  event_id: columns["event_id"] as string | null,
});
