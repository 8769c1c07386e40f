/**
 * The workflow lifecycle, each declared transition taken by a real kernel on a real file: `work` is a step that the
 * test holds, `asked` a step that waits for a person.
 */
import { describe, expect, it } from "vitest";
import { workflowMachine } from "../../machines/index.ts";
import type { AnyStepDraft } from "../../src/contract/plan.ts";
import { createCommandSignal } from "../../src/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { createCoverage, type Driver, titleOf, walkPath } from "./driver.ts";
import { type ChartEvent, type ChartPath, createModel, eventsOf } from "./paths.ts";
import { intent, step } from "./scripted.ts";
import { Subject } from "./subject.ts";

const begin = [{ type: "PLAN_CREATED" }, { type: "WORKFLOW_STARTED" }] as const;
const undoes = { type: "WORKFLOW_COMPENSATING" };
const waits = (gates: readonly string[]): ChartEvent => ({ type: "WORKFLOW_WAITING", gates });

const rollsBack = { type: "WORKFLOW_ROLLING_BACK" };
/** It fails, and a person leaves what it has done as it is. */
const left = [{ type: "USER_APPROVED" }, { type: "WORKFLOW_RESUMED", compensating: true }, { type: "WORKFLOW_FAILED" }];

const model = createModel(workflowMachine, {
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
const coverage = createCoverage();
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

async function open(path: ChartPath): Promise<Subject> {
  const subject = await Subject.open({ limits: { maxReplans: isPlannedAgain(eventsOf(path)) ? 1 : 0 } });
  subject.script.queue("done", "succeed");
  await subject.submit();
  return subject;
}

const admin = { tenant_id: 1, principal: { type: "user", id: "root", role: "admin" } } as const;

/** Ends the workflow badly, so that it undoes what it has done. */
async function undo(subject: Subject, state: string, route: readonly ChartEvent[]): Promise<void> {
  const { t, id } = subject;
  const next = after(route);
  if (isParked(next)) await t.kernel.halt({ ...admin, of: { operator: "Model.Put" }, reason: "not now" });
  if (state === "waiting_for_user") return subject.decide("reject");
  if (state === "cancelling") return answer(subject, "succeed");
  if (state === "running" && !has(next, "WORKFLOW_CANCELLED")) return answer(subject, "fail");
  await t.kernel.cancel(id, { ...testCaller, undo: true });
  await t.clock.settle();
}

/** Lets a workflow that waits while it undoes something go on. */
async function goOnUndoing({ t, id }: Subject, state: string): Promise<void> {
  if (state === "waiting") {
    for (const { halt_id } of await t.kernel.halts(1, admin)) await t.kernel.lift({ ...admin, halt_id });
  } else await t.approve(id, "gate-undo:done");
  await t.clock.settle();
}

const command = async ({ t, id }: Subject, action: "sleep" | "activate"): Promise<void> => {
  const ref = { tier: 4, module: "ooda_loop", function: "act" } as const;
  const answer = await t.kernel.ask(4, createCommandSignal(action, ref, ref, id, { workflow_id: id }));
  expect(answer.status).toBe("ok");
  await t.clock.settle();
};

const answer = async ({ script, t }: Subject, how: "succeed" | "fail"): Promise<void> => {
  script.answer("work", how);
  await t.clock.settle();
};

const plan = async ({ script, t }: Subject, steps: readonly AnyStepDraft[] | null): Promise<void> => {
  script.plan(steps);
  await t.clock.settle();
};

async function endUndo({ script, t }: Subject, how: "succeed" | "fail" = "succeed"): Promise<void> {
  script.answer("undo:done", how);
  await t.clock.settle();
}

/** The process dies while the call that is waited for is under way; a person then says what became of it. */
async function settle(subject: Subject, decision: "approve" | "reject"): Promise<void> {
  await subject.crash();
  await subject.decide(decision, undefined, decision === "approve" ? { resolution: "done" } : undefined);
}

type Act = (subject: Subject, state: string, route: readonly ChartEvent[]) => Promise<void>;

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
  async WORKFLOW_ROLLING_BACK({ t, id }) {
    await t.kernel.rollback(id, testCaller);
    await t.clock.settle();
  },
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
  async WORKFLOW_CANCELLING({ t, id }, state, route) {
    const isTwice = route.filter(({ type }) => type === "WORKFLOW_CANCELLING").length > 1;
    await t.kernel.cancel(id, { ...testCaller, undo: state === "cancelling" || (isUndone(route) && !isTwice) });
    await t.clock.settle();
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

function createDriver(path: ChartPath, subject: Subject): Driver {
  const view = async (): Promise<string> => (await subject.view()).state;
  return {
    subject,
    view,
    project: (events) => events.flatMap((e) => model.wordFor(e.event_type, e.payload) ?? []),
    live: () => (subject.t.kernel.lifecycles(subject.id)?.workflow as string | undefined) ?? null,
    bring: async (event) => acts[event.type]?.(subject, await view(), eventsOf(path)),
  };
}

describe("[CARD-10] [EXE-01] each path through the workflow lifecycle, on the real kernel", () => {
  it.each(model.paths.map((path) => [titleOf(path), path] as const))("%s", async (_title, path) => {
    await using subject = await open(path);
    await walkPath(model, path, createDriver(path, subject), coverage);
  });
});

describe("what these walks have covered", () => {
  it("[CARD-10] [CARD-11] [EXE-01] every declared transition of the workflow was taken by the kernel", () => {
    expect(model.pairs.filter((pair) => !coverage.pairs.has(pair))).toEqual([]);
  });

  it("[CARD-11] [EXE-01] every state was rested in and read back", () => {
    expect(model.states.filter((state) => !coverage.states.has(state))).toEqual([]);
  });
});
