/**
 * Judges the kinds of steps without a call against the ledger: sleeps, conditions, dependencies of any end, steps that
 * end their workflow, workflows that wait for no person.
 *
 * 1.  A sleep ends once in each run of its step, and never before its time.
 * 2.  A step begins once all its dependencies have succeeded, or have ended if it waits for any end. A parked step has
 *     done neither.
 * 3.  A step begins if its condition holds, and is skipped by it if it does not; a skipped step is never called.
 * 4.  After a step has failed by the plan's choice, nothing begins and no plan is made until a person restarts it.
 * 5.  A workflow that waits has a parked step, no open gate, and no step that could continue.
 * 6.  The package's limit of replans holds.
 */
import { foldWorkflow } from "../../machines/fold.ts";
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import { isOpenGate } from "../../src/contract/gate.ts";
import { isHeldBack, type StepRecord, type WorkflowRecord } from "../../src/contract/workflow.ts";
import { outputsOf } from "../../src/tiers/t4-execution/decide/run/run.ts";
import type { OutsideWorld } from "./outside-world.ts";
import type { Story } from "./story.ts";
import { isTaken } from "./story-growth.ts";
import { isTrue } from "./story-lifecycle.ts";
import { findStep, plainOf } from "./story-plan.ts";

export function judgeLifecycle(story: Story, world: OutsideWorld): readonly string[] {
  const records = new Map<string, WorkflowRecord | null>();
  const failures: string[] = [];
  for (const [i, { event, at }] of world.durable.entries()) {
    const { workflow_id: id } = event;
    if (id === null) continue;
    const record = records.get(id) ?? null;
    const why = record === null ? null : judgeEvent(story, event, record);
    if (why !== null) failures.push(`${why} (${event.event_type} of ${event.step_id} in ${id} at ${event.sequence})`);
    const after = foldWorkflow(record, event);
    records.set(id, after);
    if (world.durable[i + 1]?.at !== at && after?.state === "waiting" && !isHeldBack(after))
      failures.push(...judgeWaiting(after));
  }
  return [...failures, ...judgeCalled(world), ...judgeReplans(story, world)];
}

function judgeEvent(story: Story, event: LedgerEvent, record: WorkflowRecord): string | null {
  const step = record.steps.get(event.step_id ?? "");
  switch (event.event_type) {
    case "STEP_STARTED":
      return step === undefined ? null : (judgeEnded(record) ?? judgeBegin(story, record, step));
    case "ACTION_STARTED":
      // Without a token a call that goes on is waited for once more.
      return event.payload["token"] === undefined ? null : judgeEnded(record);
    case "PLAN_CREATED":
      return judgeEnded(record);
    case "STEP_PARKED":
      return step?.parked == null || step.step.kind === "repeat" ? null : "sleep: it sleeps twice in one run";
    case "STEP_RESUMED":
      return judgeWaking(event, step);
    case "STEP_SUCCEEDED":
      return step?.step.kind === "sleep" && step.resumed === null ? "sleep: it has not woken" : null;
    case "STEP_SKIPPED": {
      const isLeftOut = payloadOf(event, "STEP_SKIPPED").reason === "condition";
      return isLeftOut && step !== undefined && holds(story, record, step) ? "condition: it holds" : null;
    }
    default:
      return null;
  }
}

function judgeWaking(event: LedgerEvent, step: StepRecord | undefined): string | null {
  if (step?.phase !== "parked" || step.resumed !== null) return "sleep: it wakes without sleeping, or twice";
  const due = payloadOf(event, "STEP_RESUMED").by === "time" ? (step.parked?.due_at ?? null) : null;
  return due !== null && Date.parse(event.timestamp) < Date.parse(due) ? `sleep: it wakes before ${due}` : null;
}

const isThrough = ({ state, skip_reason }: StepRecord): boolean =>
  state === "succeeded" || skip_reason === "condition" || skip_reason === "expired";

/** The dependency that a step waits for; undefined if it waits for none. */
function waitedFor({ steps }: WorkflowRecord, { step: { depends_on, settled = [] } }: StepRecord): string | undefined {
  return depends_on.find((id) => {
    const other = steps.get(id);
    if (other === undefined) return true;
    return !isThrough(other) && !(settled.includes(id) && ["failed", "skipped"].includes(other.state));
  });
}

function judgeBegin(story: Story, record: WorkflowRecord, step: StepRecord): string | null {
  const waits = waitedFor(record, step);
  if (waits !== undefined) return `begun: it begins before ${waits} has ended`;
  return holds(story, record, step) ? null : "condition: it begins, and its condition does not hold";
}

/** Whether the condition of the story holds for a step as its workflow stands; a step without one is always taken. */
function holds(story: Story, record: WorkflowRecord, { step, added }: StepRecord): boolean {
  const { when, list } = findStep(story, step.step_id) ?? {};
  if (added !== null) return list === undefined || isTaken(list, added.value);
  if (when === undefined || step.when === undefined) return true;
  const before = withAll(record, step.depends_on);
  const of = [...before].findLast((id) => plainOf(id) === when.of);
  const value = of === undefined ? undefined : (outputsOf(record, step)(of) as { readonly by?: unknown } | null);
  return isTrue(when, value?.by != null);
}

/** These and all that they depend on, the nearest last. */
function withAll({ steps }: WorkflowRecord, ids: readonly string[]): ReadonlySet<string> {
  const found = new Set(ids);
  for (const id of found) for (const further of steps.get(id)?.step.depends_on ?? []) found.add(further);
  return new Set([...found].reverse());
}

/** Why nothing may begin any more; null if the plan has not ended its workflow, or its steps are being undone. */
function judgeEnded({ plan, steps, compensating }: WorkflowRecord): string | null {
  if (compensating !== null) return null;
  const ending = plan?.steps.find(({ step_id }) => steps.get(step_id)?.error?.code === "T4_PLAN_FAILED");
  return ending === undefined ? null : `ended: ${ending.step_id} had ended the workflow`;
}

const isParked = ({ phase, held }: StepRecord): boolean => phase === "parked" || held !== null;

function judgeWaiting(record: WorkflowRecord): readonly string[] {
  const { workflow_id, steps, gates, plan, sequence } = record;
  const told = `of ${workflow_id} at ${sequence}`;
  const all = [...steps.values()];
  const current = new Set(plan?.steps.map(({ step_id }) => step_id));
  const able = all.find(
    (step) =>
      (step.state === "running" && !isParked(step)) ||
      (step.state === "queued" && current.has(step.step.step_id) && waitedFor(record, step) === undefined),
  );
  return [
    ...(all.some(isParked) ? [] : [`waiting: nothing ${told} is parked`]),
    ...([...gates.values()].some(isOpenGate) ? [`waiting: a gate ${told} is open`] : []),
    ...(able === undefined ? [] : [`waiting: ${able.step.step_id} ${told} could go on`]),
  ];
}

/** What was never begun was never called: neither what its condition left out, nor what a choice of the plan ended. */
function judgeCalled({ calls, records }: OutsideWorld): readonly string[] {
  return calls.flatMap(({ workflow_id, step_id, process }) =>
    records.get(workflow_id)?.steps.get(step_id)?.skip_reason === "condition"
      ? [`condition: ${step_id} of ${workflow_id} was called by ${process}, and is left out`]
      : [],
  );
}

function judgeReplans({ packageLimits: { maxReplans } }: Story, { durable }: OutsideWorld): readonly string[] {
  if (maxReplans === undefined) return [];
  const byWorkflow = Map.groupBy(durable, ({ event }) => event.workflow_id);
  return [...byWorkflow].flatMap(([id, own]) => {
    const isRestarted = own.some(({ event }) => event.event_type === "WORKFLOW_RESTARTED");
    const replans = own.filter(
      ({ event }) => event.event_type === "PLAN_CREATED" && payloadOf(event, "PLAN_CREATED").cause === "replan",
    );
    return isRestarted || replans.length <= maxReplans
      ? []
      : [`replans: ${id} made ${replans.length} of ${maxReplans}`];
  });
}
