/** The Postgres store passes the suite that every store passes. */
import { describe, expect, it } from "vitest";
import { ledgerStoreSuite } from "../../src/testing/ledger-store-suite.ts";
import { expectSearch } from "../ledgers/expect-search.ts";
import { freshLedger, freshSchema } from "./server.ts";

function createTwo() {
  const schema = freshSchema();
  return [freshLedger(schema), freshLedger(schema)] as const;
}

describe("[LED-09] a ledger in Postgres", () => {
  it("finds a text as reading the whole list would, in its order, whichever way it goes", async () => {
    const store = freshLedger();
    await store.open();
    await expectSearch(store);
    await store.close();
  });

  ledgerStoreSuite({ describe, it, expect, name: "Postgres", create: () => freshLedger(), createTwo });
});
