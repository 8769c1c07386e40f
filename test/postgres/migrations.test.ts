/** A ledger of an earlier schema becomes what a new one is, and nothing of it is lost. */
import { readFileSync } from "node:fs";
import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { createKernel } from "../../src/index.ts";
import { letStoreAnswer } from "../../src/testing/let-run.ts";
import { routeTwoTenants } from "../ledgers/routed-tenants.ts";
import { freshLedger, freshSchema, serverUrl } from "./server.ts";

const fixture = readFileSync(new URL("./fixtures/schema-1.sql", import.meta.url), "utf8");

async function ask(schema: string, text: string): Promise<readonly object[]> {
  const client = new Client({ connectionString: serverUrl, options: `-c search_path=${schema}` });
  await client.connect();
  try {
    return (await client.query(text)).rows ?? [];
  } finally {
    await client.end();
  }
}

describe("a ledger of an earlier schema", () => {
  it("is migrated though processes of that release are at work, and wait for what the migration has locked", async () => {
    const schema = freshSchema();
    await ask("public", `CREATE SCHEMA ${schema}`);
    await ask(schema, fixture);
    const worker = new Client({
      connectionString: serverUrl,
      options: `-c search_path=${schema} -c deadlock_timeout=60s`,
    });
    await worker.connect();
    await worker.query("BEGIN; SELECT * FROM workflows");
    const store = freshLedger(schema);
    const opening = store.open();
    const isWaiting = `SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted AND relation IN (
      SELECT oid FROM pg_class WHERE relnamespace = '${schema}'::regnamespace)`;
    while ((await ask("public", isWaiting)).some((row) => (row as { n: number }).n === 0));
    await worker.query("SELECT * FROM owners");
    await worker.query("COMMIT");
    await opening;
    await store.close();
    await worker.end();
  });
});

describe("a ledger whose model endpoints were counted by tenant alone", () => {
  it("has what they stand at for all tenants, as its log says", async () => {
    const schema = freshSchema();
    await routeTwoTenants(letStoreAnswer(freshLedger(schema)));
    await ask(
      schema,
      "ALTER TABLE deliveries DROP COLUMN receipt; DELETE FROM charges WHERE tenant_id = 'null'; UPDATE meta SET value = '2' WHERE name = 'schema_version'",
    );
    const store = freshLedger(schema);
    await store.open();
    expect(await store.charges(null, ['endpoint:"small"'])).toMatchObject([{ invocations: 2, tokens: 14 }]);
    await store.close();
    const kernel = await createKernel({ ledger: freshLedger(schema), recover: false });
    expect(await kernel.verify()).toMatchObject({ ok: true, broken: [] });
    await kernel.stop();
  });
});
