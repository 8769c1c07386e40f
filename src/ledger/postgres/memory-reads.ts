/** The statements that read memory: of a tenant or of a thread, all of it or the entries of some keys. */

/** No other thread has a newer entry of the key. */
const isNewestOfKey = `NOT EXISTS (SELECT 1 FROM memory AS n WHERE n.tenant_id = $1 AND n.digest = m.digest
  AND (n.position, n.ordinal) > (m.position, m.ordinal))`;

export const memoryReads = {
  memoryOfThread: `
    SELECT position, record FROM memory WHERE tenant_id = $1 AND thread_id = $2
    ORDER BY position DESC, ordinal DESC LIMIT $3`,
  memoryOfTenant: `
    SELECT position, record FROM memory AS m WHERE tenant_id = $1 AND ${isNewestOfKey}
    ORDER BY position DESC, ordinal DESC LIMIT $2`,
  // An expression as the order keeps Postgres from the indexes on position, which would look at every entry.
  memoryOfThreadByKey: `
    SELECT position, record FROM memory WHERE tenant_id = $1 AND thread_id = $2 AND digest = ANY($3)
    ORDER BY position + 0 DESC, ordinal DESC LIMIT $4`,
  memoryOfTenantByKey: `
    SELECT position, record FROM memory AS m WHERE tenant_id = $1 AND digest = ANY($2) AND ${isNewestOfKey}
    ORDER BY position + 0 DESC, ordinal DESC LIMIT $3`,
} as const;
