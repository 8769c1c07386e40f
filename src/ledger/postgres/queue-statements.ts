/** The statements on queues. */
import { mostAdmitted } from "../tables/queue-lines.ts";

/** Makes an insert of rows that are given as one array a column (statements.ts). */
type Insert = (table: string, columns: string, conflict: string) => string;

const columns =
  "workflow_id text, tenant_id text, line text, place text, rank bigint, since float8, concurrency bigint, " +
  "rate_limit bigint, rate_per float8";

const read = "t.workflow_id, t.place, t.rank, t.since, t.concurrency, t.rate_limit, t.rate_per";

/**
 * Returns the query of lines: those with a place, the first $1 of those who wait, in their order, the places that were
 * taken where a rate counts them ('admitted'), and the limits that a person has set ('limits').
 */
const rowsOf = (lines: string): string => `
  SELECT l.line, e.* FROM ${lines} AS l CROSS JOIN LATERAL (
    (SELECT ${read} FROM queue_entries AS t WHERE t.line = l.line AND t.place = 'taken')
    UNION ALL
    (SELECT ${read} FROM queue_entries AS t WHERE t.line = l.line AND t.place = 'waiting'
      ORDER BY t.rank, t.since, t.workflow_id LIMIT $1::bigint + coalesce((
        SELECT max(q.concurrency) FROM queue_limits AS q WHERE l.line > q.line_from AND l.line < q.line_to), 0))
    UNION ALL
    (SELECT a.workflow_id, 'admitted', 0, a.at, 0, NULL, NULL FROM queue_admissions AS a WHERE a.line = l.line
      ORDER BY a.at DESC LIMIT ${mostAdmitted})
    UNION ALL
    (SELECT '', 'limits', 0, 0, q.concurrency, q.rate_limit, q.rate_per FROM queue_limits AS q
      WHERE l.line > q.line_from AND l.line < q.line_to)) AS e
  ORDER BY l.line, e.place, e.rank, e.since, e.workflow_id`;

/** Returns the condition of workflows that are not left to others; the parameter is the list of their types. */
export const isOurs = (parameter: string): string => `intent_type <> ALL(${parameter}::text[])`;

export const queueStatements = (insert: Insert) =>
  ({
    // A transaction in which a place is taken waits for others that do so in the same line.
    lockLines: `
      SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' queue ' || line, 0))
      FROM (SELECT DISTINCT line FROM unnest($1::text[]) AS given (line) ORDER BY line) AS places`,
    readLines: rowsOf("(SELECT DISTINCT line FROM unnest($2::text[]) AS given (line))"),
    ratedLines: rowsOf(`(
      SELECT line FROM queue_entries WHERE place = 'waiting' AND rate_limit IS NOT NULL
      UNION SELECT o.line FROM queue_limits AS q
        JOIN queue_entries AS o ON o.line > q.line_from AND o.line < q.line_to AND o.place = 'waiting'
      WHERE q.rate_limit > 0)`),
    waitingLines: rowsOf("(SELECT DISTINCT line FROM queue_entries WHERE place = 'waiting')"),
    upsertQueueEntries: insert(
      "queue_entries",
      columns,
      `ON CONFLICT (workflow_id) DO UPDATE SET line = excluded.line, place = excluded.place, rank = excluded.rank,
        since = excluded.since, concurrency = excluded.concurrency, rate_limit = excluded.rate_limit,
        rate_per = excluded.rate_per`,
    ),
    upsertLimits: insert(
      "queue_limits",
      "line_from text, line_to text, tenant_id text, name text, position bigint, concurrency bigint, " +
        "rate_limit bigint, rate_per float8, record text",
      `ON CONFLICT (line_from) DO UPDATE SET position = excluded.position, concurrency = excluded.concurrency,
        rate_limit = excluded.rate_limit, rate_per = excluded.rate_per, record = excluded.record`,
    ),
    queueLimits: "SELECT record FROM queue_limits WHERE tenant_id = $1 AND coalesce($2::text, name) = name",
    insertAdmissions: insert(
      "queue_admissions",
      "line text, at float8, until float8, workflow_id text, sequence bigint",
      "ON CONFLICT DO NOTHING",
    ),
    dropAdmissions: `
      DELETE FROM queue_admissions WHERE (line, at, workflow_id, sequence) IN (
        SELECT line, at, workflow_id, sequence FROM queue_admissions WHERE until <= $1 FOR UPDATE SKIP LOCKED)`,
    deleteQueueEntries: "DELETE FROM queue_entries WHERE workflow_id = ANY($1)",
    lineMembers: `
      SELECT workflow_id, place, since FROM queue_entries WHERE line = $1
      ORDER BY place, rank, since, workflow_id LIMIT $2`,
    countLines: `
      SELECT line, count(*) FILTER (WHERE place = 'taken') AS running,
        count(*) FILTER (WHERE place <> 'taken') AS waiting, min(since) FILTER (WHERE place <> 'taken') AS oldest,
        min(concurrency) AS concurrency
      FROM queue_entries WHERE line > $1 AND line < $2 GROUP BY line ORDER BY line LIMIT $3`,
    countQueued: "SELECT count(*) AS n FROM queue_entries WHERE place <> 'taken'",
    lineAhead: `
      SELECT count(*) AS n FROM (
        SELECT 1 FROM queue_entries WHERE line = $1 AND place = 'waiting'
        AND (rank, since, workflow_id) < ($2::bigint, $3::float8, $4::text) LIMIT $5) AS first`,
    takeQueued: `
      WITH found AS (
        SELECT workflow_id FROM workflows 
        WHERE owner IS NULL AND workflow_id = ANY($2) AND ${isOurs("$3")} FOR UPDATE SKIP LOCKED)
      UPDATE workflows SET owner = $1, epoch = epoch + 1 FROM found
      WHERE workflows.workflow_id = found.workflow_id RETURNING workflows.*`,
  }) as const;
