/**
 * Judges forks against the ledger and the calls that were made.
 *
 * 1.  A fork takes over a step as it stood in the other workflow at the event that the fork names: its output is that
 *     one, or the one that a person gave.
 * 2.  A step that is taken over is neither begun nor called, until a person has the fork done anew.
 * 3.  What a fork calls has keys that no workflow has that it takes over from.
 * 4.  The other workflow knows of the fork before the fork has a plan.
 * 5.  A fork has no parent, even if it takes over from a child.
 */
import { isDeepStrictEqual } from "node:util";
import { foldWorkflow } from "../../machines/fold.ts";
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import type { TakenRecord } from "../../src/contract/fork.ts";
import type { WorkflowRecord } from "../../src/contract/workflow.ts";
import type { OutsideWorld } from "./outside-world.ts";

/** A fork as the ledger has it so far. */
interface Fork {
  readonly taken: TakenRecord;
  /** The other workflow as it was at the event that the fork names. */
  readonly source: WorkflowRecord | null;
  isKnown: boolean;
  isDoneAnew: boolean;
}

export function judgeForks(world: OutsideWorld): readonly string[] {
  const forks = new Map<string, Fork>();
  const failures: string[] = [];
  for (const { event } of world.durable) {
    const { workflow_id: id } = event;
    if (id === null) continue;
    const begun = forkOf(event, world);
    if (begun !== null) forks.set(id, begun);
    if (event.event_type === "WORKFLOW_FORKED") {
      const known = forks.get(payloadOf(event, "WORKFLOW_FORKED").fork);
      if (known !== undefined) known.isKnown = true;
    }
    const fork = forks.get(id);
    const why = fork === undefined ? null : judgeEvent(event, fork);
    if (why !== null)
      failures.push(`fork: ${why} (${event.event_type} of ${event.step_id} in ${id} at ${event.sequence})`);
  }
  return [...failures, ...judgeKeys(world, forks)];
}

function forkOf(event: LedgerEvent, { durable }: OutsideWorld): Fork | null {
  if (event.event_type !== "INTENT_RECEIVED") return null;
  const { fork: taken } = payloadOf(event, "INTENT_RECEIVED");
  if (taken === undefined) return null;
  const before = durable.filter(
    ({ event: one }) => one.workflow_id === taken.workflow_id && one.sequence <= taken.sequence,
  );
  const source = before.reduce<WorkflowRecord | null>((record, one) => foldWorkflow(record, one.event), null);
  return { taken, source, isKnown: false, isDoneAnew: false };
}

const begins: ReadonlySet<string> = new Set(["STEP_STARTED", "ACTION_STARTED"]);

function judgeEvent(event: LedgerEvent, fork: Fork): string | null {
  const { event_type: type, step_id } = event;
  if (type === "INTENT_RECEIVED") return event.payload["parent"] == null ? null : "it is a child";
  if (type === "WORKFLOW_RESTARTED") fork.isDoneAnew = true;
  if (type === "PLAN_CREATED" && !fork.isKnown) return `${fork.taken.workflow_id} does not know of it`;
  const taken = fork.taken.steps.find((one) => one.step_id === step_id);
  if (taken === undefined || fork.isDoneAnew) return null;
  if (begins.has(type)) return "a step is done again that is taken over";
  if (type !== "STEP_TAKEN_OVER" || taken.given === true) return null;
  const was = fork.source?.steps.get(taken.step_id);
  const isSame = was?.state === taken.state && isDeepStrictEqual(was.output, taken.output);
  return isSame ? null : `it is taken over otherwise than it was: ${was?.state}`;
}

/** Returns the workflows that a fork takes over from: the one before it, and those that this one took over from. */
function sourcesOf(id: string, forks: ReadonlyMap<string, Fork>): readonly string[] {
  const before = forks.get(id)?.taken.workflow_id;
  return before === undefined ? [] : [before, ...sourcesOf(before, forks)];
}

function judgeKeys({ calls }: OutsideWorld, forks: ReadonlyMap<string, Fork>): readonly string[] {
  const users = new Map<string, Set<string>>();
  for (const { key, workflow_id } of calls) users.set(key, (users.get(key) ?? new Set()).add(workflow_id));
  return calls.flatMap(({ key, workflow_id, step_id }) => {
    const shared = sourcesOf(workflow_id, forks).find((id) => users.get(key)?.has(id) === true);
    return shared === undefined ? [] : [`fork: ${step_id} of ${workflow_id} is called under a key of ${shared}`];
  });
}
