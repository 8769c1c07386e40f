/** Samples of records about schedules, queues and budgets, as schema-samples.ts holds them of the others. */
import type { Sample } from "./schema-samples.ts";

const wf = "wf_01KDVDNA0047C4FEZDQK8YZG0N";
const at = "2026-01-01T09:00:00.000Z";
const later = "2026-01-02T09:00:00.000Z";
const principal = { type: "user", id: 42, role: "admin" };
const named = { tenant_id: "acme", principal, name: "weekly-report" };
const chosen = {
  time_zone: "Europe/Berlin",
  intent_type: "Report.Weekly",
  inputs: { region: "north" },
  overlap: "queue",
  catch_up: "all",
  catch_up_window_ms: 60_000,
  jitter_ms: 500,
};
const definition = { cron: "0 9 * * *", every_ms: null, principal, ...chosen };
const counts = { fired: 1, missed: 0, skipped: 0, refused: 1 };
const shared = {
  next: later,
  backfill: { next: at, until: later },
  last: { instant: at, workflow_id: wf, at, cancelled: false },
  refusal: { instant: at, code: "T5_AUTHZ_FORBIDDEN", message: "no" },
  refused_in_row: 1,
  ...counts,
};
const view = {
  name: named.name,
  tenant_id: "acme",
  ...definition,
  ...shared,
  state: "failing",
  waiting: 1,
  fires_here: true,
};
const entry = { sequence: 7, event_type: "SCHEDULE_SET", at, by: { type: "user", id: 42 }, detail: { definition } };

const ticket = { name: "payments", key: "acme", concurrency: 2, priority: 5 };
const limits = { concurrency: 2, rate: { limit: 10, per_ms: 60_000 } };
const by = { type: "user", id: 42, role: "admin" };
const bounded = { ...ticket, max_waiting: 9 };

/** A sample with one member of another type. */
const fields = (sample: object, wrong: object): Sample => ({ sample, wrong: { ...sample, ...wrong } });

export const scheduleSamples: Readonly<Record<string, Sample>> = {
  ListedQueue: fields(
    { name: "payments", key: "acme", concurrency: 2, running: 2, waiting: 1, oldest_waiting: at, set: null },
    { running: -1 },
  ),
  ListedBudget: fields(
    {
      ...{ position: 0, scope: "principal", id: "ann", window: "month", since: at, resets_at: later },
      ...{ ceiling: { money: 100 }, used: { tokens: 0, money: 25, invocations: 1, wall_ms: 0 }, share: 0.25 },
    },
    { scope: "planet" },
  ),
  BudgetFilter: fields({ scope: "tenant", limit: 9 }, { limit: 0 }),
  BudgetPage: fields({ budgets: [], next: null }, { next: 1 }),
  QueueFilter: fields({ name: "payments", limit: 9 }, { limit: 0 }),
  QueuePage: fields({ queues: [], next: null }, { next: 1 }),
  QueuePolicy: fields({ ...ticket, maxWaiting: 9, key: "{{input.vendor}}" }, { concurrency: 0 }),
  QueueRequest: fields(bounded, { priority: "high" }),
  QueueLimits: fields(limits, { concurrency: 0 }),
  QueueLimitsRequest: fields({ tenant_id: 1, principal: by, name: "payments", limits, reason: "slow" }, { reason: "" }),
  QueueLimitsResponse: fields({ name: "payments", status: "set" }, { status: "halted" }),
  QueueLimitsSet: fields({ ...limits, reason: "slow", by, at }, { by: 5 }),
  QueueRate: fields(limits.rate, { limit: 0 }),
  QueueStanding: fields({ ...ticket, place: "waiting", queued_at: at }, { place: "first" }),
  QueueTicket: fields({ ...bounded, singleton: "refuse" }, { concurrency: "2" }),
  ScheduleEntry: fields(entry, { sequence: "7" }),
  ScheduleHistory: fields({ schedule: view, history: [entry], next: 7 }, { next: "7" }),
  ScheduleRequest: fields({ ...named, cron: "0 9 * * *", ...chosen }, { every_ms: 5 }),
  ScheduleView: fields(view, { waiting: [] }),
};
