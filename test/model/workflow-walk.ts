/**
 * The walk of the workflow lifecycle: the paths through its chart, and what brings each event about. `work` is a step
 * that the test holds, `asked` a step that waits for a person.
 */
import { expect } from "vitest";
import { workflowMachine } from "../../machines/index.ts";
import type { AnyStepDraft } from "../../src/contract/plan.ts";
import { createCommandSignal } from "../../src/index.ts";
import type { Driver } from "./driver.ts";
import { type ChartEvent, type ChartPath, createModel, eventsOf } from "./paths.ts";
import { intent, step } from "./scripted.ts";
import type { Walked } from "./subject.ts";

const begin = [{ type: "PLAN_CREATED" }, { type: "WORKFLOW_STARTED" }] as const;
const undoes = { type: "WORKFLOW_COMPENSATING" };
const waits = (gates: readonly string[]): ChartEvent => ({ type: "WORKFLOW_WAITING", gates });

const rollsBack = { type: "WORKFLOW_ROLLING_BACK" };
/** It fails, and a person leaves what it has done as it is. */
const left = [{ type: "USER_APPROVED" }, { type: "WORKFLOW_RESUMED", compensating: true }, { type: "WORKFLOW_FAILED" }];

export const model = createModel(workflowMachine, {
  // What is rolled back has done something, and has not undone it.
  rare: ["completed", "failed", "cancelled"].map((state) => `${state} + ${rollsBack.type}`),
  // A workflow goes on compensating only after it has begun to, which the shortest ways leave out.
  ways: {
    "waiting_for_user + WORKFLOW_RESUMED(compensating)": [...begin, undoes, waits(["gate-one"])],
    "waiting + WORKFLOW_RESUMED(compensating)": [...begin, undoes, waits([])],
    "failed + WORKFLOW_ROLLING_BACK": [...begin, undoes, waits(["gate-one"]), ...left],
    "cancelled + WORKFLOW_ROLLING_BACK": [...begin, { type: "WORKFLOW_CANCELLED" }],
  },
});
const hour = 3_600_000;

const has = (route: readonly ChartEvent[], ...wanted: readonly string[]): boolean =>
  route.some(({ type }) => wanted.includes(type));
const isPlannedAgain = (route: readonly ChartEvent[]): boolean =>
  route.slice(1).some(({ type }) => type.startsWith("PLAN_"));
/** A workflow that waits and then fails, or is being cancelled, waits for the truth about a lost call. */
const isLost = (route: readonly ChartEvent[]): boolean =>
  !isParked(route) && has(route, "WORKFLOW_WAITING") && has(route, "WORKFLOW_FAILED", "WORKFLOW_CANCELLING");
/** It waits for a time, and asks nobody. */
const isParked = (route: readonly ChartEvent[]): boolean =>
  route.some(({ type, gates }) => type === "WORKFLOW_WAITING" && gates?.length === 0);
const rest: AnyStepDraft = { step_id: "rest", name: "rest", kind: "sleep", params: { ms: hour }, depends_on: ["work"] };
/** It waits for a child, which is cancelled first. */
const child: AnyStepDraft = { step_id: "child", name: "child", kind: "run", params: { intent }, depends_on: ["work"] };
/** It is cancelled at once: its call has no effect. */
const isHarmless = (route: readonly ChartEvent[]): boolean =>
  has(route, "WORKFLOW_CANCELLED") && !has(route, "WORKFLOW_CANCELLING");

/** It undoes what it has done: `done` succeeds at once, and its undo is held, asked about or called. */
const isUndone = (route: readonly ChartEvent[]): boolean => has(route, "WORKFLOW_COMPENSATING");
const isRolledBack = (route: readonly ChartEvent[]): boolean => has(route, rollsBack.type);
const after = (route: readonly ChartEvent[]): readonly ChartEvent[] =>
  route.slice(route.findIndex(({ type }) => type === "WORKFLOW_COMPENSATING") + 1);

function undonePlan(route: readonly ChartEvent[]): readonly AnyStepDraft[] {
  const next = after(route);
  const isHeld = isParked(next);
  const gate = has(next, "WORKFLOW_WAITING") && !isHeld && !isRolledBack(route) ? { gate: {} } : {};
  const undo = { operator: "Model.Put", params: {}, ...gate };
  const done = step("done", "Model.Write", { undo });
  const before = route.slice(0, -next.length - 1 || undefined);
  if (isParked(before)) return [done, step("work", "Model.Read"), rest];
  const work = step("work", has(route, "WORKFLOW_CANCELLED") ? "Model.Read" : "Model.Write", { depends_on: ["done"] });
  return has(before, "WORKFLOW_WAITING") ? [done, work, step("asked", "Model.Read", { gate: {} })] : [done, work];
}

function planFor(route: readonly ChartEvent[]): readonly AnyStepDraft[] {
  if (isUndone(route) || isRolledBack(route)) return undonePlan(route);
  if (isParked(route)) return [step("work", "Model.Read"), has(route, "WORKFLOW_CANCELLING") ? child : rest];
  const decides = has(route, "WORKFLOW_WAITING", "USER_APPROVED", "USER_REJECTED", "GATE_EXPIRED");
  const asks = decides && !has(route, "WORKFLOW_CANCELLING") && !isLost(route);
  const gate = { expiry: { after_ms: hour, action: "allow" as const } };
  const work = step("work", isLost(route) ? "Model.Send" : isHarmless(route) ? "Model.Read" : "Model.Write");
  return asks ? [work, step("asked", "Model.Read", { gate })] : [work];
}

/** Returns how often the workflow of a path may be planned again. */
export const replansOf = (path: ChartPath): number => (isPlannedAgain(eventsOf(path)) ? 1 : 0);

/** Ends the workflow badly, so that it undoes what it has done. */
async function undo(subject: Walked, state: string, route: readonly ChartEvent[]): Promise<void> {
  const next = after(route);
  if (isParked(next)) await subject.halt("Model.Put");
  if (state === "waiting_for_user") return subject.decide("reject");
  if (state === "cancelling") return answer(subject, "succeed");
  if (state === "running" && !has(next, "WORKFLOW_CANCELLED")) return answer(subject, "fail");
  await subject.cancel(true);
}

/** Lets a workflow that waits while it undoes something go on. */
const goOnUndoing = (subject: Walked, state: string): Promise<void> =>
  state === "waiting" ? subject.lift() : subject.decide("approve", "gate-undo:done");

const command = async ({ t, id }: Walked, action: "sleep" | "activate"): Promise<void> => {
  const ref = { tier: 4, module: "ooda_loop", function: "act" } as const;
  const answer = await t.kernel.ask(4, createCommandSignal(action, ref, ref, id, { workflow_id: id }));
  expect(answer.status).toBe("ok");
  await t.clock.settle();
};

const answer = async ({ script, t }: Walked, how: "succeed" | "fail"): Promise<void> => {
  script.answer("work", how);
  await t.clock.settle();
};

const plan = async ({ script, t }: Walked, steps: readonly AnyStepDraft[] | null): Promise<void> => {
  script.plan(steps);
  await t.clock.settle();
};

async function endUndo({ script, t }: Walked, how: "succeed" | "fail" = "succeed"): Promise<void> {
  script.answer("undo:done", how);
  await t.clock.settle();
}

/** The process dies while the call that is waited for is under way; a person then says what became of it. */
async function settle(subject: Walked, decision: "approve" | "reject"): Promise<void> {
  await subject.crash();
  await subject.decide(decision, undefined, decision === "approve" ? { resolution: "done" } : undefined);
}

type Act = (subject: Walked, state: string, route: readonly ChartEvent[]) => Promise<void>;

/** What brings each event about, by the state in which it is wanted. */
const acts: Readonly<Record<string, Act>> = {
  async PLAN_CREATED(subject, state, route) {
    if (state === "accepted") await command(subject, "sleep");
    else await answer(subject, "fail");
    await plan(subject, state === "accepted" ? planFor(route) : [step("work2", "Model.Read")]);
  },
  async PLAN_REJECTED(subject, state) {
    if (state === "running") await answer(subject, "fail");
    await plan(subject, null);
  },
  WORKFLOW_STARTED: (subject) => command(subject, "activate"),
  WORKFLOW_WAITING: (subject, _state, route) =>
    isRolledBack(route) ? endUndo(subject, "fail") : isLost(route) ? subject.crash() : answer(subject, "succeed"),
  WORKFLOW_COMPENSATING: undo,
  WORKFLOW_RESUMED: async (subject, state, route) =>
    isRolledBack(route)
      ? undefined
      : isUndone(route)
        ? goOnUndoing(subject, state)
        : state === "waiting"
          ? subject.t.clock.advance(hour)
          : subject.decide("approve"),
  WORKFLOW_ROLLING_BACK: (subject) => subject.rollback(),
  WORKFLOW_RESTARTED: (subject) => subject.retry(),
  WORKFLOW_COMPLETED: (subject) => answer(subject, "succeed"),
  async WORKFLOW_FAILED(subject, state) {
    if (state === "failed") return;
    if (state === "compensating") return endUndo(subject);
    if (state === "accepted") return plan(subject, null);
    if (state === "planned") return subject.crash({ capabilities: [] });
    if (state === "waiting") return subject.crash({ initialize: () => Promise.reject(new Error("not today")) }, hour);
    return state === "running" ? answer(subject, "fail") : subject.decide("reject");
  },
  WORKFLOW_CANCELLING(subject, state, route) {
    const isTwice = route.filter(({ type }) => type === "WORKFLOW_CANCELLING").length > 1;
    return subject.cancel(state === "cancelling" || (isUndone(route) && !isTwice));
  },
  WORKFLOW_CANCELLED: (subject, state) => {
    if (state === "compensating") return endUndo(subject);
    return state === "cancelling" ? answer(subject, "succeed") : subject.cancel();
  },
  USER_APPROVED: (subject, state, route) => {
    if (isRolledBack(route)) return subject.decide("approve", undefined, { answer: { resolution: "leave" } });
    return state === "cancelling" ? settle(subject, "approve") : subject.decide("approve");
  },
  USER_REJECTED: (subject, state) => (state === "cancelling" ? settle(subject, "reject") : subject.decide("reject")),
  GATE_EXPIRED: (subject, state) => (state === "running" ? subject.crash({}, hour) : subject.t.clock.advance(hour)),
};

export function createDriver(path: ChartPath, subject: Walked): Driver {
  const view = async (): Promise<string> => (await subject.view()).state;
  return {
    subject,
    view,
    project: (events) => events.flatMap((e) => model.wordFor(e.event_type, e.payload) ?? []),
    live: () => (subject.t.kernel.lifecycles(subject.id)?.workflow as string | undefined) ?? null,
    bring: async (event) => acts[event.type]?.(subject, await view(), eventsOf(path)),
  };
}
