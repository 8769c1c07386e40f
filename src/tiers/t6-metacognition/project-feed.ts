/**
 * The feed items of a workflow: its state after a turn, and the changes of its gates in the turn.
 *
 * 1.  A turn that changes neither state, nor steps, nor gates gives no item, unless its events are requested.
 */

import type { FeedGate, FeedWorkflow } from "../../contract/feed.ts";
import { type Gate, isOpenGate, rolesAsked } from "../../contract/gate.ts";
import { instantText } from "../../contract/instant.ts";
import { plannedSteps, type WorkflowRecord } from "../../contract/workflow.ts";
import type { FeedTurn } from "../../engine/follow/feed-fold.ts";
import type { WorkflowHead } from "../../ports/ledger-store.ts";
import { progressOf } from "./project-progress.ts";

/** The state of a workflow before a turn, kept because records are changed in place. */
export interface FeedMark {
  readonly state: string;
  readonly paused: boolean;
  readonly progress: string;
  readonly gates: ReadonlyMap<string, Gate>;
}

export const markFeed = (record: WorkflowRecord | null): FeedMark | null =>
  record === null
    ? null
    : {
        state: record.state,
        paused: record.paused !== null,
        progress: JSON.stringify(countSteps(record)),
        gates: new Map(record.gates),
      };

/** Returns the item of a turn; null if it changed nothing that the feed reports and events are not requested. */
export function feedAfter(
  record: WorkflowRecord,
  { before, position, isAlwaysReported }: FeedTurn<FeedMark | null>,
): FeedWorkflow | null {
  const progress = countSteps(record);
  const gates = changedGates(record.gates, before?.gates ?? new Map());
  const paused = record.paused !== null;
  const isAsBefore = before?.state === record.state && before.paused === paused;
  const isSame = isAsBefore && before.progress === JSON.stringify(progress);
  if (isSame && gates.length === 0 && !isAlwaysReported) return null;
  const { tenant_id, workflow_id, thread_id, correlation_id, intent, state, accepted_at, updated_at } = record;
  return {
    type: "workflow",
    position,
    tenant_id,
    workflow_id,
    thread_id,
    correlation_id,
    intent_id: intent.intent_id,
    intent_type: intent.type,
    principal_id: intent.actor.id,
    state,
    paused,
    created_at: accepted_at,
    updated_at,
    progress,
    gates,
  };
}

/** Returns the item of a workflow in a snapshot, from the indexes alone. */
export function feedOfHead(head: WorkflowHead, gates: readonly Gate[]): FeedWorkflow {
  const { tenant_id, workflow_id, thread_id, correlation_id, intent_id, intent_type, principal_id, state } = head;
  return {
    type: "workflow",
    position: null,
    tenant_id,
    workflow_id,
    thread_id,
    correlation_id,
    intent_id,
    intent_type,
    principal_id,
    state,
    paused: null,
    created_at: instantText(head.created_at),
    updated_at: instantText(head.updated_at),
    progress: null,
    gates: gates.map((gate) => briefGate(gate, "opened")),
  };
}

function countSteps(record: WorkflowRecord): NonNullable<FeedWorkflow["progress"]> {
  const states = [...plannedSteps(record)].map((step) => step.state);
  const count = (wanted: string): number => states.filter((state) => state === wanted).length;
  return {
    percent: progressOf(record).percent,
    steps: states.length,
    running: count("running"),
    succeeded: count("succeeded"),
    failed: count("failed"),
  };
}

function changedGates(now: ReadonlyMap<string, Gate>, before: ReadonlyMap<string, Gate>): FeedGate[] {
  return [...now].flatMap(([id, gate]) => {
    const change = changeOf(gate, before.get(id));
    return change === null ? [] : [briefGate(gate, change)];
  });
}

function changeOf(gate: Gate, before: Gate | undefined): FeedGate["change"] | null {
  if (gate === before) return null;
  const wasOpen = before !== undefined && isOpenGate(before);
  if (isOpenGate(gate)) return wasOpen ? "changed" : "opened";
  return wasOpen || before === undefined ? "closed" : null;
}

const briefGate = (gate: Gate, change: FeedGate["change"]): FeedGate => ({
  change,
  gate_id: gate.gate_id,
  step_id: gate.step_id,
  kind: gate.kind,
  status: gate.status,
  title: gate.title,
  operator: gate.operator,
  risk_level: gate.risk_level,
  roles: rolesAsked(gate),
  opened_at: gate.opened_at,
  due_at: gate.due_at,
  // Gates of an older kernel lack votes.
  votes: gate.votes?.length ?? 0,
});
