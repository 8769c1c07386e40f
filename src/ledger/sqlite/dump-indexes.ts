/**
 * Dumps the index tables, for a comparison with those that are derived again from the log.
 *
 * Owns: which tables are indexes, and which of their columns no row of the log determines.
 * Never: names a table or a column that migrations may add: they are read from the schema.
 * 1.  All of it is one snapshot, at one position.
 * 2.  Admissions are no part of it: they are dropped once they count no more, whenever the next one comes.
 */
import type { DatabaseSync } from "node:sqlite";
import type { IndexTable, StoredIndexes } from "../../ports/ledger-store.ts";
import type { Connection } from "./transaction.ts";

const tableNames = `
  SELECT name FROM pragma_table_list
  WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'
  AND name NOT IN ('events', 'meta', 'owners', 'sessions', 'pushes', 'notifiers', 'deliveries', 'queue_admissions')
  ORDER BY name`;

/** Leases are taken and given up beside the log. */
const besideTheLog: Readonly<Record<string, readonly string[]>> = { workflows: ["owner", "epoch"] };

export function dumpIndexes({ db, statements }: Connection): StoredIndexes {
  db.exec("BEGIN");
  try {
    const position = statements.position.get()?.["position"] as number;
    const names = db
      .prepare(tableNames)
      .all()
      .map(({ name }) => name as string);
    return { position, tables: [...names.map((name) => readTable(db, name)), readOwners(db)] };
  } finally {
    db.exec("COMMIT");
  }
}

function readTable(db: DatabaseSync, name: string): IndexTable {
  const columns = db.prepare("SELECT name, pk FROM pragma_table_info(?) ORDER BY pk").all(name);
  const compared = columns.filter((column) => besideTheLog[name]?.includes(column["name"] as string) !== true);
  const list = compared.map((column) => quote(column["name"] as string)).join(", ");
  return {
    name,
    key: compared.filter(({ pk }) => Number(pk) > 0).map((column) => column["name"] as string),
    rows: db.prepare(`SELECT ${list} FROM ${quote(name)}`).all() as IndexTable["rows"],
  };
}

/**
 * Returns the owners of the streams, as their rows are marked beside the envelope: an append is admitted by that mark.
 */
const readOwners = (db: DatabaseSync): IndexTable => ({
  name: "events",
  key: ["stream", "tenant_id"],
  rows: db.prepare("SELECT DISTINCT stream, tenant_id FROM events").all() as IndexTable["rows"],
});

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
