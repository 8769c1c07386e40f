/** The Postgres store passes the suite that every store passes. */
import { describe, expect, it } from "vitest";
import { ledgerStoreSuite } from "../../src/testing/ledger-store-suite.ts";
import { freshLedger, freshSchema } from "./server.ts";

function createTwo() {
  const schema = freshSchema();
  return [freshLedger(schema), freshLedger(schema)] as const;
}

describe("[LED-09] a ledger in Postgres", () => {
  ledgerStoreSuite({ describe, it, expect, name: "Postgres", create: () => freshLedger(), createTwo });
});
