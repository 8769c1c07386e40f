/**
 * Children and their parents, held against what happened.
 *
 * 1.  A run of a step begins one child.
 * 2.  A step that waits for a child goes on once, with the end that the child has come to.
 * 3.  A workflow that has ended leaves no child running that it waited for, and none begins anything below it any more.
 * 4.  What has ended is known to the parent: at the end of the story no step waits for a child that has ended.
 * 5.  Of the items of a list no more run a child at once than the list allows.
 */
import { foldWorkflow } from "../../machines/fold.ts";
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import { isTerminal, parkedSteps, type WorkflowRecord } from "../../src/contract/workflow.ts";
import type { OutsideWorld } from "./outside-world.ts";

type Records = Map<string, WorkflowRecord | null>;

export function judgeChildren({ durable, records: last }: OutsideWorld): readonly string[] {
  const records: Records = new Map();
  const keys = new Set<string>();
  const failures: string[] = [];
  for (const { event } of durable) {
    const { workflow_id: id } = event;
    if (id === null) continue;
    const why =
      judgeBegun(event, keys) ??
      judgeAtOnce(event, records) ??
      judgeResumed(event, records) ??
      judgeBelow(event, records) ??
      judgeSkipped(event, records);
    if (why !== null) failures.push(`${why} (${event.event_type} of ${event.step_id} in ${id} at ${event.sequence})`);
    records.set(id, foldWorkflow(records.get(id) ?? null, event));
    failures.push(...judgeEnded(event, records));
  }
  return [...failures, ...judgeLast(last)];
}

function judgeBegun(event: LedgerEvent, keys: Set<string>): string | null {
  if (event.event_type !== "INTENT_RECEIVED") return null;
  const { parent, submission } = payloadOf(event, "INTENT_RECEIVED");
  if (parent === undefined) return null;
  const key = submission?.key ?? "";
  if (keys.has(key)) return `child: ${key} was begun twice`;
  keys.add(key);
  return key.startsWith(`run:${parent.workflow_id}:${parent.step_id}:`) ? null : `child: begun under ${key}`;
}

/** A child that a person has retried by itself goes on beside those of the list. */
function judgeAtOnce(event: LedgerEvent, records: Records): string | null {
  if (event.event_type !== "INTENT_RECEIVED") return null;
  const { parent } = payloadOf(event, "INTENT_RECEIVED");
  const above = records.get(parent?.workflow_id ?? "");
  const ownerOf = (stepId = ""): string | undefined => above?.steps.get(stepId)?.added?.of;
  const owner = ownerOf(parent?.step_id);
  if (parent === undefined || above == null || owner === undefined) return null;
  const beside = [...records.values()].filter(
    (one) =>
      one?.parent?.workflow_id === parent.workflow_id &&
      ownerOf(one.parent.step_id) === owner &&
      one.run === 1 &&
      !isTerminal(one.state),
  ).length;
  const most = above.steps.get(owner)?.step.each?.concurrency ?? 1;
  return beside < most ? null : `at once: a child of ${owner} is begun beside ${beside} others, of ${most}`;
}

function judgeResumed(event: LedgerEvent, records: Records): string | null {
  if (event.event_type !== "STEP_RESUMED") return null;
  const resumed = payloadOf(event, "STEP_RESUMED");
  if (resumed.by !== "workflow" || resumed.end === null) return null;
  const { workflow_id, state, sequence } = resumed.end;
  const child = records.get(workflow_id);
  if (child == null) return `end: ${workflow_id} has not begun`;
  // A failed child may have been retried since.
  const isKnown = child.state === state || (child.sequence > sequence && state === "failed");
  return isKnown ? null : `end: ${workflow_id} is told as ${state}, and is ${child.state}`;
}

const begins: ReadonlySet<string> = new Set(["PLAN_CREATED", "WORKFLOW_STARTED", "STEP_STARTED"]);

/** A child begins nothing below a parent that had ended before the child was accepted. */
function judgeBelow(event: LedgerEvent, records: Records): string | null {
  const record = records.get(event.workflow_id ?? "");
  if (record?.parent == null || record.parent.detached === true || !begins.has(event.event_type)) return null;
  // Whoever retries a child whose parent waits for nothing any more has it go on.
  if (record.run > 1) return null;
  const parent = records.get(record.parent.workflow_id);
  return parent?.state === "cancelled" ? `below: its parent ${parent.workflow_id} was cancelled` : null;
}

/** A step is not skipped while the child goes on that it waits for. */
function judgeSkipped(event: LedgerEvent, records: Records): string | null {
  const step = records.get(event.workflow_id ?? "")?.steps.get(event.step_id ?? "");
  if (event.event_type !== "STEP_SKIPPED" || step?.phase !== "parked" || step.parked?.source !== "workflow")
    return null;
  const child = records.get(step.parked.key);
  return child == null || isTerminal(child.state) ? null : `left: its child ${child.workflow_id} is ${child.state}`;
}

function judgeEnded(event: LedgerEvent, records: Records): readonly string[] {
  const record = records.get(event.workflow_id ?? "");
  if (record == null || !["WORKFLOW_CANCELLED", "WORKFLOW_FAILED", "WORKFLOW_COMPLETED"].includes(event.event_type))
    return [];
  const running = [...records.values()].filter(
    (one) =>
      one?.parent?.workflow_id === record.workflow_id &&
      one.parent.detached !== true &&
      isLive(one) &&
      isOf(record, one),
  );
  return running.map(
    (one) => `left: ${record.workflow_id} is ${record.state}, and its child ${one?.workflow_id} is ${one?.state}`,
  );
}

/** One that was accepted and has begun nothing finds its parent gone. */
const isLive = ({ state }: WorkflowRecord): boolean => !isTerminal(state) && state !== "accepted";

/** Returns whether a child is that of the last run of its step, and no person has retried it by itself. */
const isOf = (record: WorkflowRecord, { workflow_id, parent, run }: WorkflowRecord): boolean => {
  const known = record.steps.get(parent?.step_id ?? "")?.child;
  return run === 1 && (known?.workflow_id === workflow_id ? known.end === null : true);
};

function judgeLast(records: OutsideWorld["records"]): readonly string[] {
  return [...records.values()].flatMap((record) =>
    (record === null ? [] : parkedSteps(record)).flatMap(({ step, parked }) => {
      const child = parked?.source === "workflow" ? records.get(parked.key) : null;
      return child == null || !isTerminal(child.state)
        ? []
        : [`woken: ${step.step_id} of ${record?.workflow_id} waits for ${child.workflow_id}, which is ${child.state}`];
    }),
  );
}
