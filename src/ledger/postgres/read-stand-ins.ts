/** The reads of stand-ins in a Postgres ledger. */
import { personKey } from "../../contract/stand-in.ts";
import type { StandInIndex } from "../../ports/stand-in-index.ts";
import { idText, parseCell, standInPage, toStandIn } from "../tables/columns.ts";
import { firstOf, rowsOf } from "./query.ts";
import { statement } from "./statements.ts";
import type { Run } from "./store.ts";

export function createStandInReads({ read }: Run): StandInIndex {
  return {
    standIns: (tenantId, page) =>
      read("standIns", async (on) =>
        (await rowsOf(on, statement("standIns", ...standInPage(tenantId, page)))).map(toStandIn),
      ),
    standIn: (tenantId, standInId) =>
      read("standIn", async (on) => {
        const found = await firstOf(on, statement("standIn", idText(tenantId), standInId));
        return found === undefined ? null : toStandIn(found);
      }),
    standInsFor: (tenantId, deputy, now) =>
      read("standInsFor", async (on) =>
        (await rowsOf(on, statement("standInsFor", idText(tenantId), personKey(deputy), now))).map(toStandIn),
      ),
    standInTenants: () =>
      read("standInTenants", async (on) =>
        (await rowsOf(on, statement("standInTenants"))).map((row) =>
          parseCell<string | number>(row["tenant_id"], "tenant_id"),
        ),
      ),
  };
}
