/** Reads the schedules of tenants and their histories. */
import type { LedgerStore } from "../../ports/ledger-store.ts";
import { idText, toSchedule, toScheduleEntry } from "../tables/columns.ts";
import { schedulePageQuery } from "../tables/list-queries.ts";
import { toStatement } from "./list-statement.ts";
import { firstOf, rowsOf } from "./query.ts";
import { statement } from "./statements.ts";
import type { Run } from "./store.ts";

type Schedules = "schedules" | "dueSchedules" | "nextScheduleDue" | "scheduleEntries";

export function createScheduleReads({ read }: Run): Pick<LedgerStore, Schedules> {
  return {
    schedules: (query) =>
      read("schedules", async (on) => {
        const asked =
          "names" in query
            ? statement("schedulesNamed", idText(query.tenant_id), query.names)
            : toStatement(schedulePageQuery(query));
        return (await rowsOf(on, asked)).map(toSchedule);
      }),
    dueSchedules: (intentTypes, now, limit) =>
      read("dueSchedules", async (on) => {
        const due = await rowsOf(on, statement("schedulesDue", now, intentTypes, limit));
        const freed = await rowsOf(on, statement("schedulesFreed", intentTypes, limit));
        return [...due, ...freed].map(toSchedule);
      }),
    nextScheduleDue: (intentTypes) =>
      read("nextScheduleDue", async (on) => {
        const row = await firstOf(on, statement("nextScheduleDue", intentTypes));
        return (row?.["at"] as number | undefined) ?? null;
      }),
    scheduleEntries: ({ tenant_id, name, before = Number.MAX_SAFE_INTEGER, limit }) =>
      read("scheduleEntries", async (on) => {
        const rows = await rowsOf(on, statement("scheduleEntries", idText(tenant_id), name, before, limit));
        return rows.map(toScheduleEntry);
      }),
  };
}
