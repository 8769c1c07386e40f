/** The reads of grants in a Postgres ledger. */
import type { GrantIndex } from "../../ports/grant-index.ts";
import { idText, parseCell, toGrant } from "../tables/columns.ts";
import { firstOf, rowsOf } from "./query.ts";
import { statement } from "./statements.ts";
import type { Run } from "./store.ts";

export function createGrantReads({ read }: Run): GrantIndex {
  return {
    grants: (tenantId, { after = "", limit }) =>
      read("grants", async (on) =>
        (await rowsOf(on, statement("grants", idText(tenantId), after, limit))).map(toGrant),
      ),
    grant: (tenantId, grantId) =>
      read("grant", async (on) => {
        const found = await firstOf(on, statement("grant", idText(tenantId), grantId));
        return found === undefined ? null : toGrant(found);
      }),
    grantsFor: (tenantId, { operator, workflow_id }) =>
      read("grantsFor", async (on) =>
        (await rowsOf(on, statement("grantsFor", idText(tenantId), operator, workflow_id))).map(toGrant),
      ),
    grantingTenants: () =>
      read("grantingTenants", async (on) =>
        (await rowsOf(on, statement("grantingTenants"))).map((row) =>
          parseCell<string | number>(row["tenant_id"], "tenant_id"),
        ),
      ),
  };
}
