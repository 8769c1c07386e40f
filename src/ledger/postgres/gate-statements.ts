/**
 * The statements of open gates. Their records stand apart from what lists select by: a list reads many rows of the
 * latter, which are short, and the records of one page.
 */

import { sha256 } from "../../contract/digest.ts";
import { gateChanges, gateColumns, gatePlace } from "../tables/columns.ts";
import type { SeatWords } from "../tables/gate-queries.ts";
import type { BatchPlan, Cell } from "../tables/plan-batch.ts";

type Insert = (table: string, columns: string, conflict?: string) => string;

const ofRecord = ["record", "listed"];
/** The columns of each table. */
const recordColumns = [...gatePlace, ...ofRecord];
const listColumns = gateColumns.filter((column) => !ofRecord.includes(column));

/**
 * The digest of who may decide a gate, by which seats are found: the text itself may be too long for an index. (An
 * index takes no function that depends on a setting, so that the bytes of the text are read by their escapes.)
 */
export const seatDigest = String.raw`sha256(decode(replace(seat, '\', '\\'), 'escape'))`;

const nextSeat = (condition: string): string =>
  `(SELECT ${seatDigest} FROM gate_lists WHERE tenant_id = ? ${condition} ORDER BY ${seatDigest} LIMIT 1)`;

/**
 * The words of Postgres. Each seat of a tenant is found behind the digest of the one before it. Digests are values of a
 * statement, so that its plan can go by how many gates have them.
 */
export const inPostgres: SeatWords = {
  ofTenant: (tenant, limit) => ({
    text: `
      WITH RECURSIVE digests (digest) AS (
        SELECT ${nextSeat("")}
        UNION ALL
        SELECT ${nextSeat(`AND ${seatDigest} > digests.digest`)} FROM digests WHERE digests.digest IS NOT NULL
      )
      SELECT found.seat FROM digests CROSS JOIN LATERAL
        (SELECT seat FROM gate_lists WHERE tenant_id = ? AND ${seatDigest} = digests.digest LIMIT 1) AS found
      LIMIT ?`,
    values: [tenant, tenant, tenant, limit],
  }),
  isOneOf: (seats) => [
    `${seatDigest} = ANY(?::bytea[])`,
    `{${seats.map((seat) => `"\\\\x${sha256(seat)}"`).join(",")}}`,
  ],
};

const typed = (columns: readonly string[]): string =>
  columns.map((column) => `${column} ${column.endsWith("_at") ? "float8" : "text"}`).join(", ");

const replacing = (columns: readonly string[]): string =>
  `ON CONFLICT (workflow_id, gate_id) DO UPDATE SET ${gateChanges(columns)}`;

/** Returns the cells of these columns of rows that have those of `gateColumns`. */
const pick =
  (columns: readonly string[]) =>
  (row: readonly Cell[]): readonly Cell[] =>
    columns.map((column) => row[(gateColumns as readonly string[]).indexOf(column)] ?? null);

/** Returns the writes of open gates, and of those that are open no more. */
export const gateWrites = ({ gates, closedGates }: BatchPlan) =>
  [
    ["upsertGates", gates.map(pick(recordColumns))],
    ["upsertGateLists", gates.map(pick(listColumns))],
    ["deleteGates", closedGates],
    ["deleteGateLists", closedGates],
  ] as const;

export const gateStatements = (insertInto: Insert, listOf: (columns: string) => string) => {
  const remove = (table: string): string => `
    DELETE FROM ${table} USING ${listOf("workflow_id text, gate_id text")}
    WHERE ${table}.workflow_id = given.workflow_id AND ${table}.gate_id = given.gate_id`;
  return {
    upsertGates: insertInto("gates", typed(recordColumns), replacing(recordColumns)),
    upsertGateLists: insertInto("gate_lists", typed(listColumns), replacing(listColumns)),
    deleteGates: remove("gates"),
    deleteGateLists: remove("gate_lists"),
    gatesOfTenant: `
      SELECT record FROM gates WHERE tenant_id = $1 AND (workflow_id, gate_id) > ($2, $3)
      ORDER BY workflow_id, gate_id LIMIT $4`,
    gatesOfWorkflow: `
      SELECT record FROM gates WHERE workflow_id = $1 AND tenant_id = coalesce($2, tenant_id)
      AND (workflow_id, gate_id) > ($3, $4) ORDER BY gate_id LIMIT $5`,
    gatesOfAll:
      "SELECT record FROM gates WHERE (workflow_id, gate_id) > ($1, $2) ORDER BY workflow_id, gate_id LIMIT $3",
  } as const;
};
