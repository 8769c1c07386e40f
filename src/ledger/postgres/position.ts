/**
 * Positions: the place of a row in the order of the whole ledger. They rise and are not dense.
 *
 * Owns: the formula from a transaction's id to a position, and the horizon up to which all rows are shown.
 * 1.  position = base + id * 1024 + place in the batch. A later position in a stream has a later id.
 * 2.  Rows below the horizon never change: each transaction with a lower id has ended.
 * 3.  A ledger that was restored into another cluster, whose ids begin low, goes on above its highest position: the
 *     base is raised when it is opened.
 */
import type { ClientBase } from "pg";

/** Places in a batch. */
export const perBatch = 1024;

const baseText = "(SELECT value::bigint FROM meta WHERE name = 'position_base')";

/** The first position of the transaction under way. */
export const ownPosition = `${baseText} + pg_current_xact_id()::text::bigint * ${perBatch}`;

/** Below it everything is committed or never will be. */
export const horizon = `${baseText} + pg_snapshot_xmin(pg_current_snapshot())::text::bigint * ${perBatch}`;

const beyond = `
  UPDATE meta SET value = (highest.position + 1 - next.id * ${perBatch})::text
  FROM (SELECT coalesce(max(position), 0) AS position FROM events) AS highest,
    (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS id) AS next
  WHERE meta.name = 'position_base' AND highest.position >= meta.value::bigint + next.id * ${perBatch}`;

/** Sees to it that the next position is above all there are. */
export async function raisePositions(client: ClientBase): Promise<void> {
  await client.query(beyond);
}
