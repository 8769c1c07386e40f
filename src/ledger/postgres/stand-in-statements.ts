/** The statements of stand-ins. */

type Insert = (table: string, columns: string) => string;

export const standInStatements = (insertInto: Insert, listOf: (columns: string) => string) =>
  ({
    insertStandIns: insertInto(
      "stand_ins",
      "stand_in_id text, tenant_id text, author text, deputy text, from_at float8, until_at float8, record text",
    ),
    deleteStandIns: `
      DELETE FROM stand_ins USING ${listOf("stand_in_id text")} WHERE stand_ins.stand_in_id = given.stand_in_id`,
    standIns: `
      SELECT record FROM stand_ins
      WHERE tenant_id = $1 AND until_at > $2 AND stand_in_id > $3 AND ($4::float8 IS NULL OR from_at <= $4)
        AND ($5::text IS NULL OR author = $5 OR deputy = $5)
      ORDER BY stand_in_id LIMIT $6`,
    standIn: "SELECT record FROM stand_ins WHERE tenant_id = $1 AND stand_in_id = $2",
    standInsFor: `
      SELECT record FROM stand_ins WHERE tenant_id = $1 AND deputy = $2 AND until_at > $3 AND from_at <= $3
      ORDER BY stand_in_id`,
    standInTenants: "SELECT DISTINCT tenant_id FROM stand_ins",
  }) as const;
