/** The laws of schedules that every store keeps: their standing, when they are due, and their histories. */
import type { ScheduleDefinition, ScheduleStanding } from "../contract/schedule.ts";
import type { IndexedSchedule } from "../ports/schedule-index.ts";
import { putWorkflow, type SuiteParts } from "./ledger-suite-parts.ts";
import { nextTurn, type TestStream, testStream } from "./ledger-turns.ts";

const instant = (ms: number): string => new Date(ms).toISOString();

const definition: ScheduleDefinition = {
  cron: null,
  time_zone: "UTC",
  every_ms: 1_000,
  intent_type: "Shop.Order",
  inputs: {},
  principal: { type: "user", id: "ann", role: "admin" },
  overlap: "queue",
  catch_up: "last",
  catch_up_window_ms: 1_000,
  jitter_ms: 0,
};

/** Makes a standing that must be looked at at a time; with `after` it waits for the end of that workflow. */
function standingAt(due: number | null, after: string | null = null): ScheduleStanding {
  const last = { instant: instant(0), workflow_id: after ?? "", at: instant(0), cancelled: false };
  return {
    state: "active",
    seen: instant(0),
    next: instant(1_000),
    due_at: due === null ? null : instant(due),
    begun: null,
    waiting: after === null ? [] : [{ instant: instant(500), cause: "time" }],
    backfill: null,
    last: after === null ? null : last,
    refusal: null,
    refused_in_row: 0,
    ...{ fired: 0, missed: 0, skipped: 0, refused: 0 },
  };
}

const entry = (event_type: string): IndexedSchedule["entry"] => ({ event_type, by: null, detail: {} });

const set = (name: string, standing: ScheduleStanding, more: Partial<ScheduleDefinition> = {}): IndexedSchedule => ({
  name,
  definition: { ...definition, ...more },
  standing,
  ordinal: 0,
  entry: entry("SCHEDULE_SET"),
});

const move = (name: string, standing: ScheduleStanding | null): IndexedSchedule => ({
  name,
  standing,
  ordinal: 0,
  entry: entry(standing === null ? "SCHEDULE_DELETED" : "SCHEDULE_DUE"),
});

const tenantStream = (tenant_id: string | number): TestStream => ({
  ...testStream(1, { tenant_id }),
  id: `tenant:${JSON.stringify(tenant_id)}`,
});

export function addScheduleTests({ test, expect }: SuiteParts): void {
  test("a schedule stands as its last event left it, in one batch and over several", async (store) => {
    const one = nextTurn(tenantStream("acme"), {
      indexes: { schedules: [set("b", standingAt(5)), set("a", standingAt(9))] },
    });
    const two = nextTurn(one.after, { indexes: { schedules: [move("b", standingAt(7))] } });
    await store.append([one.entry, two.entry]);
    const listed = await store.schedules({ tenant_id: "acme", limit: 9 });
    expect(listed).toEqual([
      { tenant_id: "acme", name: "a", definition, standing: standingAt(9) },
      { tenant_id: "acme", name: "b", definition, standing: standingAt(7) },
    ]);
    const three = nextTurn(two.after, {
      indexes: { schedules: [move("a", null), set("b", standingAt(8), { every_ms: 2_000 })] },
    });
    await store.append([three.entry]);
    const [b, ...none] = await store.schedules({ tenant_id: "acme", names: ["a", "b", "c"] });
    expect([b?.definition.every_ms, b?.standing.due_at, none]).toEqual([2_000, instant(8), []]);
    expect(await store.schedules({ tenant_id: "umbrella", limit: 9 })).toEqual([]);
  });

  test("schedules are listed by name, page by page and by intent type", async (store) => {
    const schedules = ["c", "a", "b"].map((name) =>
      set(name, standingAt(1), { intent_type: name === "a" ? "X" : "Y" }),
    );
    await store.append([nextTurn(tenantStream("acme"), { indexes: { schedules } }).entry]);
    const names = async (more: { readonly after?: string; readonly intent_type?: string; readonly limit: number }) =>
      (await store.schedules({ tenant_id: "acme", ...more })).map(({ name }) => name);
    expect(await names({ limit: 2 })).toEqual(["a", "b"]);
    expect(await names({ limit: 2, after: "b" })).toEqual(["c"]);
    expect(await names({ limit: 9, intent_type: "Y" })).toEqual(["b", "c"]);
  });

  test("schedules of the intent types are due once their time has come, or their work has ended", async (store) => {
    const running = await putWorkflow(store, testStream(2), { state: "running" });
    const schedules = [
      set("late", standingAt(20)),
      set("soon", standingAt(10)),
      set("never", standingAt(null)),
      set("foreign", standingAt(1), { intent_type: "Other" }),
      set("waits", standingAt(null, running.id)),
    ];
    await store.append([nextTurn(tenantStream("acme"), { indexes: { schedules } }).entry]);
    const due = async (now: number) => (await store.dueSchedules(["Shop.Order"], now, 9)).map(({ name }) => name);
    expect([await due(9), await due(10), await due(99)]).toEqual([[], ["soon"], ["soon", "late"]]);
    expect(await store.nextScheduleDue(["Shop.Order"])).toEqual(10);
    expect(await store.nextScheduleDue(["Other", "Shop.Order"])).toEqual(1);
    expect([await store.nextScheduleDue(["None"]), await store.nextScheduleDue([])]).toEqual([null, null]);
    await store.append([nextTurn(running, { indexes: { state: "completed" } }).entry]);
    expect(await due(9)).toEqual(["waits"]);
  });

  test("a history holds each event once, newest first, and outlives its schedule", async (store) => {
    const one = nextTurn(tenantStream("acme"), { indexes: { schedules: [set("a", standingAt(5))] } });
    const two = nextTurn(one.after, { indexes: { schedules: [move("a", standingAt(6)), set("b", standingAt(6))] } });
    const three = nextTurn(two.after, { indexes: { schedules: [move("a", null)] } });
    for (const { entry: row } of [one, two, three]) await store.append([row]);
    const history = await store.scheduleEntries({ tenant_id: "acme", name: "a", limit: 9 });
    expect(history.map(({ event_type }) => event_type)).toEqual(["SCHEDULE_DELETED", "SCHEDULE_DUE", "SCHEDULE_SET"]);
    const [, second, first] = history;
    const older = await store.scheduleEntries({
      tenant_id: "acme",
      name: "a",
      before: second?.sequence ?? 0,
      limit: 1,
    });
    expect(older).toEqual([first]);
  });
}
