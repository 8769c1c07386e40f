/**
 * Roles of a ledger: kernels work under one that cannot change what was recorded, and readers see their tenant alone.
 */
import { Client } from "pg";
import { beforeAll, describe, expect, it } from "vitest";
import { createKernel } from "../../src/index.ts";
import { postgresLedger, postgresRoles } from "../../src/ledger/postgres/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { readHere, runHere } from "../cli/command-line.ts";
import { intent, publishing } from "../gates/story.ts";
import { freshSchema, serverUrl } from "./server.ts";

const schema = freshSchema();
const [kernel, reader, ofTwo] = [`${schema}_kernel`, `${schema}_reader`, `${schema}_two`];

const urlOf = (user: string): string => {
  const url = new URL(serverUrl);
  [url.username, url.password] = [user, "pw"];
  return url.href;
};

async function as<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, options: `-c search_path=${schema}` });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

const ids: string[] = [];

/** The owner makes the ledger and gives the rights, twice; a kernel works under its role. */
beforeAll(async () => {
  const db = `${serverUrl}?schema=${schema}`;
  const { sql } = await readHere<{ sql: string }>("roles", "--db", db, "--kernel", kernel, "--reader", reader);
  const two = postgresRoles({ schema, kernel, reader: ofTwo, tenant: 2 });
  await as(serverUrl, async (client) => {
    for (const text of [sql, sql, two]) await client.query(text);
    for (const role of [kernel, reader, ofTwo]) await client.query(`ALTER ROLE ${role} LOGIN PASSWORD 'pw'`);
  });
  const ledger = postgresLedger({ url: urlOf(kernel), schema, create: false });
  const running = await createKernel({ ledger, capabilities: [publishing().capability], durability: "effects" });
  for (const tenant_id of [1, 2]) {
    const hint = { ...testCaller, tenant_id, intent_hint: { intent_type: intent, inputs: {} } };
    const { workflow_id } = await running.submit(hint);
    await running.settled(workflow_id);
    await running.decideGate(workflow_id, { ...testCaller, tenant_id, gate_id: "gate-publish", decision: "approve" });
    expect((await running.settled(workflow_id)).state).toBe("completed");
    ids.push(workflow_id);
  }
  expect(await running.verify()).toMatchObject({ ok: true });
  await running.stop();
});

describe("the role of kernels", () => {
  it.each(["UPDATE events SET body = NULL", "DELETE FROM events", "TRUNCATE events", "DROP TABLE events"])(
    "[LED-01] may not %s, even where no trigger would keep it from it",
    async (text) => {
      await as(serverUrl, (client) => client.query("ALTER TABLE events DISABLE TRIGGER ALL"));
      await expect(as(urlOf(kernel), (client) => client.query(text))).rejects.toMatchObject({ code: "42501" });
      await as(serverUrl, (client) => client.query("ALTER TABLE events ENABLE TRIGGER ALL"));
    },
  );
});

describe("the role of readers", () => {
  const workflows = async (client: Client) =>
    (await client.query("SELECT workflow_id FROM workflows ORDER BY 1")).rows.map((row) => row.workflow_id as string);

  it("sees nothing until a tenant is named, and then what is that tenant's", async () => {
    await as(urlOf(reader), async (client) => {
      expect(await workflows(client)).toEqual([]);
      for (const [i, id] of ids.entries()) {
        await client.query(`SET countersign.tenant = '${i + 1}'`);
        expect(await workflows(client)).toEqual([id]);
        const { rows } = await client.query("SELECT DISTINCT stream FROM events");
        expect(rows).toEqual([{ stream: id }]);
      }
    });
  });

  it("of one tenant sees that one, whatever its session says", async () => {
    await as(urlOf(ofTwo), async (client) => {
      await client.query("SET countersign.tenant = '1'");
      expect(await workflows(client)).toEqual([ids[1]]);
    });
  });

  it.each(["SELECT * FROM sessions", "SELECT * FROM meta", "INSERT INTO charges VALUES ('1', 'c', 0, 0, 0, 0, 0)"])(
    "may not %s",
    async (text) => {
      await expect(as(urlOf(reader), (client) => client.query(text))).rejects.toMatchObject({ code: "42501" });
    },
  );
});

it("roles are of a database, and names are plain words", async () => {
  expect((await runHere("roles", "--db", "some.db")).code).toBe(2);
  expect(() => postgresRoles({ kernel: 'k"; DROP' })).toThrow(/kernel/);
  expect(postgresRoles({ tenant: "o'neill" })).toContain(`'"o''neill"'`);
});
