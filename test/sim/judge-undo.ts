/**
 * Compensation, held against what happened.
 *
 * 1.  What is to be undone is what has succeeded behind the last pivot and has an undo, or ran a child that has done
 *     something of that kind: the last to succeed first, each call once, and none of another workflow that has not left
 *     its work.
 * 2.  An undo begins in that order, one at a time, once the workflow says that it undoes, and never again after it has
 *     succeeded. What comes before it is undone, or a person has said what holds.
 * 3.  A workflow that fails, is refused, or is cancelled with undo leaves nothing that it could undo; its end says how
 *     much is undone.
 * 4.  Nothing of a parent is undone before the children that it waits for have ended.
 */
import { isDeepStrictEqual } from "node:util";
import { foldWorkflow } from "../../machines/fold.ts";
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import { gateIdOf } from "../../src/contract/gate.ts";
import { isTerminal, type StepRecord, type WorkflowRecord } from "../../src/contract/workflow.ts";
import type { OutsideWorld } from "./outside-world.ts";
import type { Story } from "./story.ts";
import { isUndoing, undoneBy } from "./story-undo.ts";

/** A workflow as it was before an event, and its steps in the order in which they last succeeded. */
interface Before {
  readonly record: WorkflowRecord;
  readonly ended: readonly string[];
}

type Known = ReadonlyMap<string, Before>;

export function judgeUndo(story: Story, world: OutsideWorld): readonly string[] {
  if (![...story.steps, ...story.childSteps].some(({ undo }) => undo !== undefined)) return [];
  const known = new Map<string, Before>();
  const failures: string[] = [];
  for (const { event } of world.durable) {
    const { workflow_id: id } = event;
    if (id === null) continue;
    const before = known.get(id);
    const why = before === undefined ? null : judgeEvent(event, before, known);
    if (why !== null) failures.push(`${why} (${event.event_type} of ${event.step_id} in ${id} at ${event.sequence})`);
    const record = foldWorkflow(before?.record ?? null, event);
    if (record === null) continue;
    known.set(id, { record, ended: endedAfter(before?.ended ?? [], event) });
    if (event.event_type === "WORKFLOW_COMPENSATING") world.mark("undoes");
    if (record.compensated !== null && record.finished_at === event.timestamp)
      world.mark(`undone ${record.compensated}`);
  }
  return failures;
}

function endedAfter(ended: readonly string[], { event_type, step_id }: LedgerEvent): readonly string[] {
  if (event_type !== "STEP_SUCCEEDED" || step_id === null) return ended;
  return [...ended.filter((id) => id !== step_id), step_id];
}

function judgeEvent(event: LedgerEvent, before: Before, known: Known): string | null {
  const { record } = before;
  switch (event.event_type) {
    case "WORKFLOW_COMPENSATING": {
      const { steps } = payloadOf(event, "WORKFLOW_COMPENSATING");
      const expected = undoableIn(before, known);
      return isDeepStrictEqual(steps, expected) ? null : `undo: ${steps} and not ${expected} are to be undone`;
    }
    case "WORKFLOW_ROLLING_BACK": {
      const { steps } = payloadOf(event, "WORKFLOW_ROLLING_BACK");
      const expected = undoableIn(before, known).filter((id) => resolutionOf(record, id) !== "undone");
      if (!isTerminal(record.state)) return `undo: it is rolled back while it is ${record.state}`;
      return isDeepStrictEqual(steps, expected) ? null : `undo: ${steps} and not ${expected} are to be rolled back`;
    }
    case "STEP_STARTED":
      return isUndoing(event.step_id ?? "") ? judgeBegin(String(event.step_id), record, known) : null;
    case "WORKFLOW_FAILED":
      return (
        judgeLeft(before, known, true) ?? judgeCount(record, known, payloadOf(event, "WORKFLOW_FAILED").compensated)
      );
    case "WORKFLOW_CANCELLED": {
      const { error, compensated } = payloadOf(event, "WORKFLOW_CANCELLED");
      const isAsked = error !== null || record.cancelling?.undo === true;
      return judgeLeft(before, known, isAsked) ?? judgeCount(record, known, compensated);
    }
    default:
      return null;
  }
}

/** Returns what is to be undone, as the steps have ended. */
function undoableIn({ record: { steps }, ended }: Before, known: Known): readonly string[] {
  const calls = new Set<string>();
  const found: string[] = [];
  for (const id of ended.toReversed()) {
    const of = steps.get(id) as StepRecord;
    const { step, action_id } = of;
    if (step.pivot === true) break;
    if (isUndoing(id) || !(step.kind === "run" ? hasUndoableChild(of, known) : hasUndo(of))) continue;
    if (action_id !== null && calls.has(action_id)) continue;
    if (action_id !== null) calls.add(action_id);
    found.push(id);
  }
  return found;
}

const hasUndo = ({ step, answered_by, takes_over }: StepRecord): boolean =>
  step.undo !== undefined && (answered_by === null || takes_over);

/** Returns whether the child that a step ran has completed, and has done something that can be undone. */
function hasUndoableChild({ child }: StepRecord, known: Known): boolean {
  const ended = known.get(child?.end?.workflow_id ?? "");
  return ended !== undefined && child?.end?.state === "completed" && undoableIn(ended, known).length > 0;
}

/** Returns what a step's undo has come to: it is undone or stays as a person has said; null if neither is known. */
function resolutionOf({ steps, gates, compensating }: WorkflowRecord, of: string): "undone" | "left" | null {
  const tries = [...steps.values()].filter(({ added }) => added?.as === "undo" && added.of === of);
  // A rollback tries anew what people had left as it was.
  const last = tries.slice(compensating?.attempts?.[of] ?? 0).at(-1);
  if (last === undefined) return null;
  if (last.state === "succeeded") return "undone";
  const asked = [...steps.values()].find(({ added }) => added?.as === "question" && added.of === last.step.step_id);
  if (asked === undefined || asked.state === "queued" || asked.state === "running") return null;
  const { resolution } = (gates.get(gateIdOf(asked.step.step_id))?.decision?.answer ?? {}) as {
    readonly resolution?: string;
  };
  if (asked.state !== "succeeded" || resolution === "leave") return "left";
  return resolution === "done" ? "undone" : null;
}

function judgeBegin(id: string, record: WorkflowRecord, known: Known): string | null {
  const order = record.compensating?.steps;
  if (order === undefined) return "undo: it begins before the workflow says that it undoes";
  const of = undoneBy(id, (one) => order.includes(one));
  if (of === undefined) return "undo: it is of no step that is to be undone";
  if (resolutionOf(record, of) !== null) return `undo: ${of} is undone again`;
  const open = order.slice(0, order.indexOf(of)).find((one) => resolutionOf(record, one) === null);
  if (open !== undefined) return `undo: ${of} comes before ${open}`;
  const others = [...record.steps.values()].filter(({ state, step }) => state === "running" && step.step_id !== id);
  if (others.length > 0) return `undo: it begins beside ${others.map(({ step }) => step.step_id)}`;
  const child = [...known.values()].find(
    // One that has ended may be retried by itself, whatever becomes of its parent.
    ({ record: { parent, state, run } }) =>
      parent?.workflow_id === record.workflow_id && parent.detached !== true && !isTerminal(state) && run === 1,
  );
  return child === undefined ? null : `undo: its child ${child.record.workflow_id} is ${child.record.state}`;
}

/** Nothing that could be undone is left without a word. */
function judgeLeft(before: Before, known: Known, isAsked: boolean): string | null {
  const { compensating } = before.record;
  if (compensating === null) {
    const left = isAsked ? undoableIn(before, known) : [];
    return left.length === 0 ? null : `undo: ${left} are left`;
  }
  const open = compensating.steps.find((id) => resolutionOf(before.record, id) === null);
  return open === undefined ? null : `undo: ${open} is neither undone nor left by a person`;
}

function judgeCount(record: WorkflowRecord, known: Known, said: string | undefined): string | null {
  const { compensating } = record;
  if (compensating === null) return said === undefined ? null : `undo: it says ${said}, and nothing was undone`;
  const parts = compensating.steps.map((id) => partOf(record, known, id));
  const [first = "all"] = parts;
  const told = parts.every((part) => part === first) ? first : "partly";
  return told === said ? null : `undo: it says ${said}, and of ${compensating.steps} are undone: ${parts}`;
}

/** Returns how much of what a step has done is undone; of one that ran a child, what its child says. */
function partOf(record: WorkflowRecord, known: Known, id: string): "all" | "partly" | "none" {
  const { step, child } = record.steps.get(id) as StepRecord;
  if (resolutionOf(record, id) !== "undone") return "none";
  const isRolledBack = [...record.steps.values()].some(
    ({ added, state }) => added?.as === "undo" && added.of === id && state === "succeeded",
  );
  const part = known.get(child?.end?.workflow_id ?? "")?.record.compensated;
  return step.kind === "run" && isRolledBack ? (part ?? "none") : "all";
}
