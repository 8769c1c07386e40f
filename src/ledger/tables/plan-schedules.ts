/**
 * Plans the writes of a batch to the schedules of tenants and their histories: of each schedule one row, as its last
 * event leaves it, and one row for each event.
 *
 * Never: asks a database.
 */
import { awaitedBy, type ScheduleStanding } from "../../contract/schedule.ts";
import type { Append } from "../../ports/ledger-store.ts";
import type { IndexedSchedule } from "../../ports/schedule-index.ts";
import type { BatchPlan, Row } from "./plan-batch.ts";

type Planned = Pick<BatchPlan, "schedules" | "movedSchedules" | "deletedSchedules" | "scheduleEntries">;
type Place = readonly [tenant: string, name: string];

interface Changed {
  readonly place: Place;
  readonly definition: IndexedSchedule["definition"];
  readonly standing: ScheduleStanding | null;
}

export class PlannedSchedules {
  readonly #changed = new Map<string, Changed>();
  readonly #entries: Row[] = [];

  /** Takes the change of one event. @param tenant the text of the tenant's id. */
  take({ row, now }: Append, tenant: string, change: IndexedSchedule): void {
    const { name, standing, ordinal, entry } = change;
    const key = `${tenant}\n${name}`;
    const before = standing === null ? undefined : this.#changed.get(key)?.definition;
    this.#changed.set(key, { place: [tenant, name], definition: change.definition ?? before, standing });
    this.#entries.push([tenant, name, row.first_sequence + ordinal, now, JSON.stringify(entry)]);
  }

  rows(): Planned {
    const changed = [...this.#changed].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
    return {
      schedules: changed.flatMap(({ place, definition, standing }) => {
        if (definition === undefined || standing === null) return [];
        const { due_at, awaits, text } = columnsOf(standing);
        return [[...place, definition.intent_type, due_at, awaits, JSON.stringify(definition), text]];
      }),
      movedSchedules: changed.flatMap(({ place, definition, standing }) => {
        if (definition !== undefined || standing === null) return [];
        const { due_at, awaits, text } = columnsOf(standing);
        return [[...place, due_at, awaits, text]];
      }),
      deletedSchedules: changed.flatMap(({ place, standing }) => (standing === null ? [place] : [])),
      scheduleEntries: this.#entries,
    };
  }
}

const columnsOf = (standing: ScheduleStanding) => ({
  due_at: standing.due_at === null ? null : Date.parse(standing.due_at),
  awaits: awaitedBy(standing),
  text: JSON.stringify(standing),
});
