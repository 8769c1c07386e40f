/** Where a measured kernel keeps its ledger: in a file, or in a schema of a database. */
import { postgresLedger } from "../../src/ledger/postgres/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";

export type Place =
  | { readonly path: string; readonly synchronous?: "full" | "normal" }
  | { readonly url: string; readonly schema: string };

export const ledgerAt = (place: Place) => ("path" in place ? sqliteLedger(place) : postgresLedger(place));
