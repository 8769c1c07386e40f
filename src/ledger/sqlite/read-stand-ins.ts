/** The reads of stand-ins in a SQLite ledger. */
import { personKey } from "../../contract/stand-in.ts";
import type { StandInIndex } from "../../ports/stand-in-index.ts";
import { idText, parseCell, standInPage, toStandIn } from "../tables/columns.ts";
import type { Run } from "./store.ts";

export function createStandInReads(run: Run): StandInIndex {
  return {
    standIns: (tenantId, page) =>
      run("standIns", ({ statements }) => statements.standIns.all(...standInPage(tenantId, page)).map(toStandIn)),
    standIn: (tenantId, standInId) =>
      run("standIn", ({ statements }) => {
        const found = statements.standIn.get(idText(tenantId), standInId);
        return found === undefined ? null : toStandIn(found);
      }),
    standInsFor: (tenantId, deputy, now) =>
      run("standInsFor", ({ statements }) =>
        statements.standInsFor.all(idText(tenantId), personKey(deputy), now).map(toStandIn),
      ),
    standInTenants: () =>
      run("standInTenants", ({ statements }) =>
        statements.standInTenants.all().map((row) => parseCell<string | number>(row["tenant_id"], "tenant_id")),
      ),
  };
}
