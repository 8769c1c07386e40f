/**
 * Turns to put into a ledger store under test: streams that know where they stand, and sample index records.
 *
 * Owns: well-formed rows with a true hash chain and ids of the real length.
 * Never: draws at random or reads a clock; the same calls give the same bytes.
 */

import { genesisHash } from "../contract/chain.ts";
import type { ParsedDocumentRecord, ParsedMemoryRecord } from "../contract/context-bundle.ts";
import { plainGate } from "../contract/events.ts";
import type { Gate } from "../contract/gate.ts";
import { sealTurn, type TurnEvent } from "../contract/turn.ts";
import type { Append, AppendIndexes, WorkflowHead } from "../ports/ledger-store.ts";

type Id = string | number;

/** The end of a stream, as its writer knows it. */
export interface TestStream {
  readonly id: string;
  readonly tenant_id: Id;
  readonly thread_id: Id | null;
  readonly last: number;
  readonly hash: string;
}

/** Makes a stream. `n` distinguishes workflows: ids sort by it. */
export function testStream(
  n: number,
  { tenant_id = "acme", thread_id = null }: { tenant_id?: Id; thread_id?: Id | null } = {},
): TestStream {
  return { id: `wf_${String(n).padStart(26, "0")}`, tenant_id, thread_id, last: 0, hash: genesisHash };
}

export type TurnOptions = Partial<Omit<Append, "row" | "tenant_id">> & {
  /** Events in the turn; one when absent. */
  readonly events?: number;
  /** Put into each event's payload. */
  readonly text?: string;
};

/** Makes the stream's next turn, and the stream after it. */
export function nextTurn(
  stream: TestStream,
  options: TurnOptions = {},
): { readonly entry: Append; readonly after: TestStream } {
  const { events = 1, text = "", now = 1000, ...rest } = options;
  const first = stream.last + 1;
  const envelope = { ...sharedFields(stream), now, first, count: events };
  const row = sealTurn(
    envelope,
    Array.from({ length: events }, (_, i) => testEvent(first + i, text)),
    stream.hash,
  );
  const entry = { tenant_id: stream.tenant_id, row, now, ...rest };
  return { entry, after: { ...stream, last: row.last_sequence, hash: row.hash } };
}

function sharedFields({ id, tenant_id, thread_id }: TestStream) {
  const ids = { intent_id: `int_${id.slice(3)}`, plan_id: `pln_${id.slice(3)}`, correlation_id: `cor_${id.slice(3)}` };
  return { v: 1, stream: id, tenant_id, workflow_id: id, thread_id, ...ids, actor: { type: "system", id: "kernel" } };
}

function testEvent(sequence: number, text: string): TurnEvent {
  const id = `evt_${String(sequence).padStart(26, "0")}`;
  return { id, type: "STEP_STARTED", step: "step", payload: { run: 1, text } };
}

/** Makes the index change that makes the stream a workflow. */
export function createIndex(stream: TestStream, head: Partial<WorkflowHead> = {}): AppendIndexes {
  const { id, tenant_id, thread_id } = stream;
  const { intent_id, correlation_id } = sharedFields(stream);
  const fixed = {
    workflow_id: id,
    tenant_id,
    thread_id,
    principal_id: "ann",
    principal_type: "user",
    title: "a test",
    percent: 0,
    compensated: null,
    schedule: null,
    intent_id,
    intent_type: "test",
    correlation_id,
  };
  const { owner: _owner, epoch: _epoch, ...given } = head;
  return { create: { ...fixed, state: "accepted", created_at: 1000, updated_at: 1000, due_at: null, ...given } };
}

/** Makes the first turn of a workflow. */
export function firstTurn(stream: TestStream, head: Partial<WorkflowHead> = {}, options: TurnOptions = {}) {
  return nextTurn(stream, { ...options, indexes: { ...options.indexes, ...createIndex(stream, head) } });
}

export function testGate(stream: TestStream, step: string, status: Gate["status"] = "open"): Gate {
  return {
    ...plainGate,
    gate_id: `gate-${step}`,
    tenant_id: stream.tenant_id,
    workflow_id: stream.id,
    step_id: step,
    kind: "approval",
    status,
    title: "Send the letter",
    operator: "test",
    reasons: [{ source: "plan", rule: "plan", reason: "the plan asks for a decision" }],
    target: null,
    payload: { to: "Ann", lines: [1, null, true] },
    payload_digest: "0".repeat(64),
    policy_version: "1",
    preview: "Dear Ann",
    diff: null,
    risk_level: "low",
    estimated_cost: 0,
    effect: "none",
    consequences: { approve: "it is sent", reject: "it is not", edit: "it is changed" },
    ui_actions: [],
    roles: null,
    opened_at: "2026-01-01T00:00:00.000Z",
    due_at: null,
    expiry_action: null,
    escalate_to: null,
    decision: null,
  };
}

export function testMemory(stream: TestStream, key: string, value: string): ParsedMemoryRecord {
  const { tenant_id, thread_id, id: workflow_id } = stream;
  return { tenant_id, thread_id, workflow_id, key, type: "fact", value, source: "test", confidence: 1 };
}

export function testDocument(stream: TestStream, document_id: Id, title: string): ParsedDocumentRecord {
  const processed_content = { hash: "0".repeat(64), bytes: 1, summary: "" };
  const shared = { media_type: "text/plain", processed_content, missing_fields: ["date"] };
  return { tenant_id: stream.tenant_id, document_id, workflow_id: stream.id, title, ...shared };
}
