/**
 * Reads the waits of parked steps, and the events from outside that steps may take.
 *
 * Owns: the translation of the port's questions to SQL. Never: crosses a tenant if the question names one.
 */
import type { LedgerStore } from "../../ports/ledger-store.ts";
import { idText, toOverdueWait, toStoredEvent, toWait } from "../tables/columns.ts";
import { waitQuery } from "../tables/list-queries.ts";
import { toStatement } from "./list-statement.ts";
import { firstOf, rowsOf } from "./query.ts";
import { statement } from "./statements.ts";
import type { Run } from "./store.ts";

type Reads = "waits" | "findEvent" | "events" | "overdueWaits";

export function createWaitReads({ read }: Run): Pick<LedgerStore, Reads> {
  return {
    waits: (query) => read("waits", async (on) => (await rowsOf(on, toStatement(waitQuery(query)))).map(toWait)),
    findEvent: (tenantId, eventId) =>
      read("findEvent", async (on) => {
        const row = await firstOf(on, statement("findEvent", idText(tenantId), eventId));
        return row === undefined ? null : toStoredEvent(row);
      }),
    events: ({ tenant_id, name, key, now, limit }) =>
      read("events", async (on) => {
        const asked = statement("eventsOfKey", idText(tenant_id), name, JSON.stringify(key), now, limit);
        return (await rowsOf(on, asked)).map(toStoredEvent);
      }),
    overdueWaits: (after, limit) =>
      read("overdueWaits", async (on) =>
        [
          ...(await rowsOf(on, statement("overdueByEvent", after, limit))),
          ...(await rowsOf(on, statement("overdueByWorkflow", limit))),
        ].map(toOverdueWait),
      ),
  };
}
