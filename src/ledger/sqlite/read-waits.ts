/**
 * Reads the waits of parked steps, and the events from outside that steps may take.
 *
 * Owns: the translation of the port's questions to SQL. Never: crosses a tenant if the question names one.
 */
import type { LedgerStore } from "../../ports/ledger-store.ts";
import { idText, toOverdueWait, toStoredEvent, toWait } from "../tables/columns.ts";
import { waitQuery } from "../tables/list-queries.ts";
import type { Run } from "./store.ts";

type Reads = "waits" | "findEvent" | "events" | "overdueWaits";

export function createWaitReads(run: Run): Pick<LedgerStore, Reads> {
  return {
    waits: (query) =>
      run("waits", ({ prepare }) => {
        const { text, values } = waitQuery(query);
        return prepare(text)
          .all(...values)
          .map(toWait);
      }),
    findEvent: (tenantId, eventId) =>
      run("findEvent", ({ statements }) => {
        const row = statements.findEvent.get(idText(tenantId), eventId);
        return row === undefined ? null : toStoredEvent(row);
      }),
    events: ({ tenant_id, name, key, now, limit }) =>
      run("events", ({ statements }) =>
        statements.eventsOfKey.all(idText(tenant_id), name, JSON.stringify(key), now, limit).map(toStoredEvent),
      ),
    overdueWaits: (after, limit) =>
      run("overdueWaits", ({ statements }) => [
        ...statements.overdueByEvent.all(after, limit).map(toOverdueWait),
        ...statements.overdueByWorkflow.all(limit).map(toOverdueWait),
      ]),
  };
}
