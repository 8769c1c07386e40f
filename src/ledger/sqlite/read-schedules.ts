/** Reads the schedules of tenants and their histories. */
import type { LedgerStore } from "../../ports/ledger-store.ts";
import { idText, toSchedule, toScheduleEntry } from "../tables/columns.ts";
import { schedulePageQuery } from "../tables/list-queries.ts";
import type { Run } from "./store.ts";

type Schedules = "schedules" | "dueSchedules" | "nextScheduleDue" | "scheduleEntries";

export function createScheduleReads(run: Run): Pick<LedgerStore, Schedules> {
  return {
    schedules: (query) =>
      run("schedules", ({ prepare, statements }) => {
        if ("names" in query)
          return statements.schedulesNamed.all(idText(query.tenant_id), JSON.stringify(query.names)).map(toSchedule);
        const { text, values } = schedulePageQuery(query);
        return prepare(text)
          .all(...values)
          .map(toSchedule);
      }),
    dueSchedules: (intentTypes, now, limit) =>
      run("dueSchedules", ({ statements }) => {
        const types = JSON.stringify(intentTypes);
        const due = statements.schedulesDue.all(now, types, limit).map(toSchedule);
        return [...due, ...statements.schedulesFreed.all(types, limit).map(toSchedule)];
      }),
    nextScheduleDue: (intentTypes) =>
      run("nextScheduleDue", ({ statements }) => {
        const row = statements.nextScheduleDue.get(JSON.stringify(intentTypes));
        return (row?.["at"] as number | undefined) ?? null;
      }),
    scheduleEntries: ({ tenant_id, name, before = Number.MAX_SAFE_INTEGER, limit }) =>
      run("scheduleEntries", ({ statements }) =>
        statements.scheduleEntries.all(idText(tenant_id), name, before, limit).map(toScheduleEntry),
      ),
  };
}
