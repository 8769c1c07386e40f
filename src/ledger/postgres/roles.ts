/**
 * Roles for those who use a ledger: the kernel's, which cannot change what was recorded, and one that reads.
 *
 * Owns: the SQL. Never: runs it: who may give rights is the host's affair.
 * 1.  The kernel's role may neither change nor remove a row of the log, whatever its triggers say.
 * 2.  A reader sees what belongs to a tenant, and nothing of what is nobody's: sessions, deliveries, who is alive.
 * 3.  It may be run again, as after a migration that has brought a table.
 */
import { z } from "zod";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { idText } from "../tables/columns.ts";

const name = z.string().regex(/^[a-z_][a-z0-9_]{0,62}$/);
const Options = z.strictObject({
  /** `countersign` when absent. */
  schema: name.default("countersign"),
  /** The role of kernels: they connect as it, or as its members; `countersign_kernel` by default. */
  kernel: name.default("countersign_kernel"),
  /** `countersign_reader` when absent. */
  reader: name.default("countersign_reader"),
  /**
   * The tenant that the reader sees. Without it, the one that its session names: `SET countersign.tenant = '1'`, or
   * `'"acme"'`: this is a filter for programs, and no protection against a user who may type SQL.
   */
  tenant: z.union([z.string(), z.int()]).optional(),
});

/** Names are lower case letters, digits and underscores. */
export interface PostgresRolesOptions extends Readonly<z.input<typeof Options>> {}

const read = [
  "events",
  "streams",
  "workflows",
  "gates",
  "gate_lists",
  "decisions",
  "memory",
  "documents",
  "charges",
] as const;
const ofTenants = [...read, "keys", "counters", "deliveries"] as const;

/**
 * Returns the SQL that creates the roles and their rights; the owner of the ledger's tables, who must be able to create
 * roles, runs it once and after each migration. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH.
 */
export function postgresRoles(options: PostgresRolesOptions = {}): string {
  const reading = { what: "postgresRoles", source: moduleRef(0, "ledger", "postgresRoles") };
  const { schema, kernel, reader, tenant } = readStrictly(Options, options, reading);
  const own =
    tenant === undefined ? "current_setting('countersign.tenant', true)" : `'${idText(tenant).replaceAll("'", "''")}'`;
  const policies = ofTenants.flatMap((table) => [
    `ALTER TABLE ${schema}.${table} ENABLE ROW LEVEL SECURITY`,
    ...policy(`${schema}.${table}`, kernel, "USING (true) WITH CHECK (true)"),
  ]);
  const statements = [
    ...[kernel, reader].map(createRole),
    `GRANT USAGE ON SCHEMA ${schema} TO ${kernel}, ${reader}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${kernel}`,
    `REVOKE UPDATE, DELETE, TRUNCATE ON ${schema}.events FROM ${kernel}`,
    mayLock(schema, kernel),
    ...policies,
    `GRANT SELECT ON ${read.map((table) => `${schema}.${table}`).join(", ")} TO ${reader}`,
    ...read.flatMap((table) => policy(`${schema}.${table}`, reader, `USING (tenant_id = ${own})`, "FOR SELECT ")),
  ];
  return `BEGIN;\n${statements.join(";\n")};\nCOMMIT;\n`;
}

const createRole = (role: string): string =>
  `DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}') THEN CREATE ROLE ${role}; END IF; END $$`;

/** Returns the statements of a policy, which is named as its role. */
const policy = (table: string, role: string, rule: string, command = ""): readonly string[] => [
  `DROP POLICY IF EXISTS ${role} ON ${table}`,
  `CREATE POLICY ${role} ON ${table} ${command}TO ${role} ${rule}`,
];

/**
 * Returns the right to lock the log, which verifying needs for a moment; before Postgres 17 only a role that could
 * change the log had it.
 */
const mayLock = (schema: string, role: string): string =>
  `DO $$ BEGIN IF current_setting('server_version_num')::int >= 170000 THEN GRANT MAINTAIN ON ${schema}.events TO ` +
  `${role}; END IF; END $$`;
