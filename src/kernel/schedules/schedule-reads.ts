/** The reads of schedules: pages of them, and one with its history. */

import { commandScopes } from "../../contract/auth-context.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { lastOfPage } from "../../contract/list-filter.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import {
  failingAfter,
  ScheduleFilter,
  type ScheduleHistory,
  ScheduleQuestion,
  type ScheduleStanding,
  type ScheduleView,
  type StoredSchedule,
} from "../../contract/schedule.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import type { Gateway } from "../../tiers/t0-foundation/gateway.ts";
import type { Kernel } from "../kernel-interface.ts";
import { tenantFor } from "../tenant-of-read.ts";
import type { ScheduleDriver } from "./schedule-driver.ts";

export interface ScheduleReadParts {
  readonly store: LedgerStore;
  readonly gateway: Pick<Gateway, "authorize">;
  readonly driver: Pick<ScheduleDriver, "fires">;
}

const readRef = moduleRef(7, "schedule", "read");

export function createScheduleReads(parts: ScheduleReadParts): Pick<Kernel, "schedules" | "schedule"> {
  const { store, gateway, driver } = parts;
  return {
    async schedules(raw = {}, caller) {
      const { tenant_id, ...filter } = readStrictly(ScheduleFilter, raw, { what: "filter", source: readRef });
      await gateway.authorize(caller, commandScopes.readSchedules);
      const page = { ...filter, tenant_id: tenantFor(tenant_id, caller, readRef) };
      const { intent_type, after, limit } = page;
      const found = await store.schedules({
        tenant_id: page.tenant_id,
        limit,
        ...(intent_type !== undefined && { intent_type }),
        ...(after !== undefined && { after }),
      });
      return found.map((one) => viewOf(one, driver));
    },
    async schedule(raw, caller) {
      const { name, before, limit, ...asked } = readStrictly(ScheduleQuestion, raw, {
        what: "question",
        source: readRef,
      });
      await gateway.authorize(caller, commandScopes.readSchedules);
      const tenant_id = tenantFor(asked.tenant_id, caller, readRef);
      const [found = null] = await store.schedules({ tenant_id, names: [name] });
      const history = await store.scheduleEntries({ tenant_id, name, limit, ...(before !== undefined && { before }) });
      if (found === null && history.length === 0)
        raise(kernelError("T7_SCHEDULE_NOT_FOUND", `there is no schedule ${name}`, readRef));
      const last = lastOfPage(history, limit);
      const schedule = found === null ? null : viewOf(found, driver);
      return { schedule, history: [...history], next: last?.sequence ?? null } satisfies ScheduleHistory;
    },
  };
}

/** Returns a schedule as it is shown by this process. */
export function viewOf(schedule: StoredSchedule, driver: Pick<ScheduleDriver, "fires">): ScheduleView {
  const { name, tenant_id, definition, standing } = schedule;
  const { next, backfill, last, refusal, refused_in_row, fired, missed, skipped, refused } = standing;
  return {
    name,
    tenant_id,
    ...definition,
    state: stateOf(standing),
    ...{ next, backfill, last, refusal, refused_in_row, fired, missed, skipped, refused },
    waiting: standing.waiting.length,
    fires_here: driver.fires(schedule),
  };
}

const stateOf = ({ state, refused_in_row }: ScheduleStanding): ScheduleView["state"] =>
  state === "active" && refused_in_row >= failingAfter ? "failing" : state;
