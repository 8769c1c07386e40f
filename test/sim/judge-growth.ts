/**
 * Steps that add steps, held against what happened.
 *
 * 1.  The items of a list are added once, all of them, in their order, each under its key.
 * 2.  No more items have begun and not ended than the list allows at once, and none begins after more have failed than
 *     it tolerates.
 * 3.  The list succeeds if no more have failed than it tolerates, and fails otherwise; none of its items runs then.
 * 4.  Two items share no key. An item that has succeeded is not called again, unless a person has it begin anew.
 * 5.  A round begins after the one before it has succeeded, its pause is over and its condition does not hold; a run of
 *     the step makes no more of them than it may, and it succeeds once its condition holds.
 */
import { isDeepStrictEqual } from "node:util";
import { foldWorkflow } from "../../machines/fold.ts";
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import type { StepRecord, WorkflowRecord } from "../../src/contract/workflow.ts";
import { needsNoCommit } from "./judge-calls.ts";
import type { Called, OutsideWorld } from "./outside-world.ts";
import type { Story } from "./story.ts";
import type { StoryList, StoryRounds } from "./story-growth.ts";
import { findStep } from "./story-plan.ts";

/** A workflow as it was before an event, and when its steps ended and its newest runs began. */
interface Before {
  readonly record: WorkflowRecord;
  /** Step id → epoch ms. */
  readonly ended: Map<string, number>;
  /** Step id → the number of rounds that this run of the step has added. */
  readonly rounds: Map<string, number>;
}

export function judgeGrowth(story: Story, world: OutsideWorld): readonly string[] {
  if (!story.steps.some(({ list, repeats }) => list !== undefined || repeats !== undefined)) return [];
  const known = new Map<string, Before>();
  const failures: string[] = [];
  for (const { event } of world.durable) {
    const { workflow_id: id } = event;
    if (id === null) continue;
    const before = known.get(id);
    const why = before === undefined ? null : judgeEvent(story, event, before);
    if (why !== null) failures.push(`${why} (${event.event_type} of ${event.step_id} in ${id} at ${event.sequence})`);
    const record = foldWorkflow(before?.record ?? null, event);
    if (record === null) continue;
    const { ended = new Map(), rounds = new Map() } = before ?? {};
    known.set(id, { record, ended, rounds });
    keepTimes(event, ended, rounds);
  }
  return [...failures, ...judgeKeys(story, world)];
}

function keepTimes(event: LedgerEvent, ended: Before["ended"], rounds: Before["rounds"]): void {
  const { event_type: type, step_id, timestamp } = event;
  if (ends.has(type)) ended.set(step_id ?? "", Date.parse(timestamp));
  if (type === "STEP_STARTED") rounds.set(step_id ?? "", 0);
  if (type === "STEPS_ADDED") rounds.set(step_id ?? "", (rounds.get(step_id ?? "") ?? 0) + 1);
}

const ends: ReadonlySet<string> = new Set(["STEP_SUCCEEDED", "STEP_FAILED", "STEP_SKIPPED"]);

function judgeEvent(story: Story, event: LedgerEvent, before: Before): string | null {
  const step = before.record.steps.get(event.step_id ?? "");
  const { list, repeats } = step === undefined ? {} : (findStep(story, step.step.step_id) ?? {});
  if (step === undefined || (list === undefined && repeats === undefined)) return null;
  const asked = { event, before, step };
  if (step.added !== null) return event.event_type === "STEP_STARTED" ? judgeBegin(asked, list) : null;
  if (list !== undefined) return judgeList(asked, list);
  return repeats === undefined ? null : judgeRepeat(asked, repeats);
}

interface Asked {
  readonly event: LedgerEvent;
  readonly before: Before;
  readonly step: StepRecord;
}

const addedBy = ({ steps }: WorkflowRecord, of: string): readonly StepRecord[] =>
  [...steps.values()].filter(({ added }) => added?.of === of);

const countOf = (steps: readonly StepRecord[], state: StepRecord["state"]): number =>
  steps.filter((one) => one.state === state).length;

/** The number of failures that a list tolerates. */
function mostFailures({ tolerate, items }: StoryList): number {
  if (tolerate === "all") return items.length;
  return typeof tolerate === "number" ? tolerate : Math.floor((Number.parseInt(tolerate, 10) / 100) * items.length);
}

function judgeBegin({ before: { record }, step: { step, added } }: Asked, list: StoryList | undefined): string | null {
  const others = addedBy(record, added?.of ?? "");
  const running = countOf(others, "running");
  if (running + 1 > (list?.concurrency ?? 1)) return `at once: ${step.step_id} begins beside ${running} others`;
  if (list === undefined) return null;
  return countOf(others, "failed") > mostFailures(list) ? `stopped: ${step.step_id} begins` : null;
}

function judgeList({ event, before: { record }, step: { step } }: Asked, list: StoryList): string | null {
  const items = addedBy(record, step.step_id);
  const { items: written, isKeyed } = list;
  switch (event.event_type) {
    case "STEPS_ADDED": {
      const added = payloadOf(event, "STEPS_ADDED").items;
      const all = written.map((value, i) => ({ key: isKeyed ? value.id : String(i), value }));
      if (items.length > 0) return "items: they are added twice";
      return isDeepStrictEqual(added, all) ? null : `items: ${added.length} of ${all.length} are added, or others`;
    }
    case "STEP_SUCCEEDED":
      return judgeEnd(items, list) ?? (countOf(items, "failed") > mostFailures(list) ? "tolerated: too many" : null);
    case "STEP_FAILED": {
      const { code } = payloadOf(event, "STEP_FAILED").error;
      const isOver = countOf(items, "failed") > mostFailures(list);
      return code === "T4_ITEMS_FAILED" && !isOver ? "tolerated: it fails, and they are few" : null;
    }
    default:
      return null;
  }
}

/** Of a list that has succeeded every item has ended: it succeeded, has failed, or was left out. */
function judgeEnd(items: readonly StepRecord[], { items: written }: StoryList): string | null {
  const open = items.find(({ state }) => state === "queued" || state === "running");
  if (open !== undefined) return `items: ${open.step.step_id} has not ended`;
  const skipped = items.find(({ state, skip_reason }) => state === "skipped" && skip_reason !== "condition");
  if (skipped !== undefined) return `items: ${skipped.step.step_id} was not begun`;
  return items.length === written.length ? null : `items: ${items.length} of ${written.length}`;
}

function judgeRepeat(asked: Asked, { max, until, every_ms }: StoryRounds): string | null {
  const { event, before, step } = asked;
  const { step_id } = step.step;
  const rounds = addedBy(before.record, step_id);
  const last = rounds.at(-1);
  const isOver = isDone(last, until);
  if (event.event_type === "STEP_SUCCEEDED") return isOver ? null : "rounds: it ends, and its condition does not hold";
  if (event.event_type !== "STEPS_ADDED") return null;
  if ((before.rounds.get(step_id) ?? 0) >= max) return `rounds: more than ${max} in one run`;
  if (last === undefined) return null;
  if (last.state !== "succeeded") return `rounds: another one after ${last.step.step_id}, which is ${last.state}`;
  if (isOver) return `rounds: another one after ${last.step.step_id}, and the condition holds`;
  const ended = before.ended.get(last.step.step_id) ?? 0;
  const isFirst = (before.rounds.get(step_id) ?? 0) === 0;
  return !isFirst && Date.parse(event.timestamp) < ended + every_ms ? "rounds: before its pause is over" : null;
}

const isDone = (round: StepRecord | undefined, until: number): boolean =>
  round?.state === "succeeded" &&
  (round.output as { readonly by?: unknown } | null)?.by === round.step.step_id &&
  round.added?.index === until - 1;

/** What people may have begun anew since. */
const orders: ReadonlySet<string> = new Set(["WORKFLOW_RESTARTED", "ACTION_SETTLED"]);

function judgeKeys(story: Story, { calls, durable }: OutsideWorld): readonly string[] {
  const made = calls
    .filter(({ step_id }) => step_id.includes(":") && findStep(story, step_id) !== undefined)
    .filter((call) => !needsNoCommit(story, call));
  const shared = [...Map.groupBy(made, ({ workflow_id, key }) => `${workflow_id} ${key}`).values()].filter(
    (same) => new Set(same.map(itemOf)).size > 1,
  );
  const hasSucceeded = ({ workflow_id, step_id, at }: Called): boolean => {
    const own = durable.filter(({ event, at: row }) => event.workflow_id === workflow_id && row <= at);
    const done = own.findLastIndex(
      ({ event, at: row }) => row < at && event.step_id === step_id && event.event_type === "STEP_SUCCEEDED",
    );
    return done >= 0 && !own.slice(done).some(({ event }) => orders.has(event.event_type));
  };
  return [
    ...shared.map(([one]) => `items: ${one?.step_id} of ${one?.workflow_id} shares its key with another item`),
    ...made.filter(hasSucceeded).map((one) => `items: ${one.step_id} of ${one.workflow_id} is called again`),
  ];
}

const itemOf = ({ step_id }: Called): string => step_id.slice(step_id.indexOf(":"));
