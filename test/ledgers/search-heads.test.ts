/** Searching in a file: the law is in expect-search.ts. */
import { describe, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { expectSearch } from "./expect-search.ts";
import { withStore } from "./ledger-files.ts";

describe("[LED-09] a search", () => {
  it("finds what reading the whole list would find, in its order, whichever way it goes", async () => {
    await withStore(sqliteLedger({}), expectSearch);
  });
});
