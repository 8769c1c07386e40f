/** The laws, held against a story that has been seen to its end. Each failure begins with the name of its law. */
import { isDeepStrictEqual } from "node:util";
import { foldEvents } from "../../machines/fold.ts";
import { foretell } from "../../machines/gate-consequences.ts";
import type { LedgerEvent } from "../../src/contract/event.ts";
import { isTerminal, type WorkflowRecord } from "../../src/contract/workflow.ts";
import type { WorkflowState } from "../../src/contract/workflow-state.ts";
import type { Kernel } from "../../src/kernel/kernel-interface.ts";
import { viewWorkflow } from "../../src/tiers/t4-execution/build-trace.ts";
import { progressOf } from "../../src/tiers/t6-metacognition/project-progress.ts";
import { bareGate } from "../invariants/read-all.ts";
import { stop } from "./heal.ts";
import { judgeAsks } from "./judge-asks.ts";
import { judgeCalls } from "./judge-calls.ts";
import { judgeChildren } from "./judge-children.ts";
import { judgeDebounce } from "./judge-debounce.ts";
import { judgeLeft, judgeStandIns } from "./judge-desk.ts";
import { judgeForks } from "./judge-forks.ts";
import { judgeGrants } from "./judge-grants.ts";
import { judgeGrowth } from "./judge-growth.ts";
import { judgeLifecycle } from "./judge-lifecycle.ts";
import { judgeMasks } from "./judge-masks.ts";
import { judgeMemory } from "./judge-memory.ts";
import { judgeMessages } from "./judge-messages.ts";
import { judgeModels } from "./judge-models.ts";
import { judgeOrders } from "./judge-orders.ts";
import { judgeQueues } from "./judge-queues.ts";
import { judgeReplay } from "./judge-replay.ts";
import { judgeSchedules } from "./judge-schedules.ts";
import { judgeStages } from "./judge-stages.ts";
import { judgeTimes } from "./judge-times.ts";
import { judgeTokens } from "./judge-tokens.ts";
import { judgeUndo } from "./judge-undo.ts";
import { judgeWaits } from "./judge-waits.ts";
import type { Stage } from "./play-story.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import { mayRepeat } from "./story.ts";
import { nameOf } from "./story-plan.ts";

export async function judge(stage: Stage, last: SimulatedProcess | null): Promise<string | null> {
  if (last === null) return "opens: nobody is left";
  const { kernel } = last;
  stage.world.isOver = true;
  const ids = (await kernel.workflows({ limit: 100 })).map(({ workflow_id }) => workflow_id);
  const failures: string[] = [];
  for (const id of ids) failures.push(...(await judgeWorkflow(stage, last, id)));
  const verified = await kernel.verify();
  if (!verified.ok) failures.push(`verify: ${JSON.stringify(verified.broken)}`);
  if (stage.story.budgets !== null) failures.push(...(await judgeBudgets(kernel)));
  failures.push(...judgeCalls(stage.story, stage.world), ...judgeTimes(stage.story, stage.world));
  failures.push(...judgeMemory(stage.story, stage.world), ...judgeModels(stage.story, stage.world));
  failures.push(...judgeLifecycle(stage.story, stage.world), ...judgeChildren(stage.world));
  failures.push(...judgeAsks(stage.story, stage.world), ...judgeGrowth(stage.story, stage.world));
  failures.push(...judgeOrders(stage.world), ...judgeWaits(stage.world, stage.sent));
  failures.push(...judgeQueues(stage.world), ...judgeForks(stage.world), ...judgeStages(stage.world));
  failures.push(...judgeDebounce(stage.world), ...judgeStandIns(stage.world), ...judgeLeft(stage.world));
  failures.push(...judgeGrants(stage.world), ...(await judgeSchedules(stage.world)));
  failures.push(...judgeTokens(stage.story, stage.world), ...judgeMessages(stage.world, stage.messages));
  failures.push(...judgeMasks(stage.story, stage.world), ...judgeUndo(stage.story, stage.world));
  await stop(stage, last);
  // What else is wrong is told before what is only replayed otherwise.
  return failures.find((failure) => !failure.startsWith("replay:")) ?? failures[0] ?? null;
}

/** No counter is above its ceiling. */
async function judgeBudgets(kernel: Kernel): Promise<readonly string[]> {
  const budgets = await kernel.budgets({ tenant_id: 1, limit: 10_000 });
  return budgets.flatMap(({ scope, id, ceiling: { invocations: most = Number.POSITIVE_INFINITY }, used }) =>
    used === null || used.invocations <= most
      ? []
      : [`budget: ${scope} ${id} has made ${used.invocations} of ${most} calls`],
  );
}

const foldedView = (record: WorkflowRecord): WorkflowState => viewWorkflow(record, progressOf(record));

/** Returns the state without what readers get by the schemas that are registered now: no event holds that. */
const withoutSchemas = (state: WorkflowState): object => ({ ...state, gates: state.gates.map(bareGate) });

/** A gate is told with what its answers lead to at that moment, and titled by what would run. */
const asTold = (state: WorkflowState): WorkflowState => ({ ...state, gates: state.gates.map(foretell) });

async function judgeWorkflow(stage: Stage, last: SimulatedProcess, id: string): Promise<readonly string[]> {
  const events: LedgerEvent[] = [];
  for await (const event of last.kernel.events(id, { live: false })) events.push(event);
  const record = foldEvents(events);
  if (record === null) return [`dense: ${id} has no events`];
  return [
    ...judgeEnd(record),
    ...judgeCancelled(stage, record),
    ...judgeSequence(id, events),
    ...(isDeepStrictEqual(withoutSchemas(await last.kernel.workflow(id)), withoutSchemas(asTold(foldedView(record))))
      ? []
      : [`fold: ${id} is told otherwise than it lies`]),
    ...judgeDurable(id, events, stage.world.durable),
    ...(await judgeReplay(last.kernel, id)),
  ];
}

function judgeEnd({ workflow_id, state, gates, steps }: WorkflowRecord): readonly string[] {
  const open = [...gates.values()].filter(({ status }) => status === "open" || status === "suspended");
  const told = [...steps.values()].map((s) => `${s.step.step_id} ${s.state} ${s.phase ?? ""}`).join(", ");
  if (!isTerminal(state)) return [`ends: ${workflow_id} is ${state} with ${open.length} open gates (${told})`];
  const undone = [...steps.values()].filter((s) => s.state === "queued" || s.state === "running");
  if (undone.length > 0) return [`ends: ${workflow_id} is ${state}, but steps are not (${told})`];
  return open.length === 0 ? [] : [`ends: ${workflow_id} is ${state} with ${open.map((g) => g.gate_id)} open`];
}

/** Of a call that may not be repeated it is known how it ended, whoever cancelled its workflow meanwhile. */
function judgeCancelled({ story, world }: Stage, { workflow_id, state, actions }: WorkflowRecord): readonly string[] {
  if (state !== "cancelled" || story.deploy !== null) return [];
  const once = new Set(story.operators.flatMap((one, i) => (mayRepeat(one) ? [] : [nameOf(i)])));
  const left = [...actions.values()].filter(
    ({ seen, record }) => once.has(record.operator_name) && ["running", "in_doubt"].includes(seen),
  );
  if (left.length === 0) world.mark("cancelled with every end known");
  return left.map(
    ({ record }) => `known: ${workflow_id} was cancelled, and the end of ${record.action_id} is not known`,
  );
}

function judgeSequence(id: string, events: readonly LedgerEvent[]): readonly string[] {
  const gap = events.findIndex(({ sequence }, i) => sequence !== i + 1);
  const ids = new Set(events.map(({ event_id }) => event_id));
  if (ids.size !== events.length) return [`dense: ${id} has an event id twice`];
  return gap < 0 ? [] : [`dense: ${id} has no event ${gap + 1}`];
}

/** What was durable once stays, in its order. */
function judgeDurable(
  id: string,
  events: readonly LedgerEvent[],
  durable: Stage["world"]["durable"],
): readonly string[] {
  const was = durable.filter(({ event }) => event.workflow_id === id).map(({ event }) => event.event_id);
  const is = events.map(({ event_id }) => event_id);
  return isDeepStrictEqual(was, is) ? [] : [`durable: ${id} was written otherwise than it reads`];
}
