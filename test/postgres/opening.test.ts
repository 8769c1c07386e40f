/**
 * What a database can be that is no ledger to write to, and what its ledger refuses: each a coded error with a next
 * step.
 */
import { createServer, type Socket } from "node:net";
import { Client, Pool } from "pg";
import { describe, expect, it } from "vitest";
import { type ErrorCode, errorCodes } from "../../src/contract/error-codes.ts";
import { connect, loadDriver } from "../../src/ledger/postgres/connect.ts";
import { postgresLedger } from "../../src/ledger/postgres/index.ts";
import { schemaVersion } from "../../src/ledger/postgres/schema.ts";
import { firstTurn, nextTurn, testStream } from "../../src/testing/ledger-turns.ts";
import { refusalOf } from "../fixtures.ts";
import { freshLedger, freshSchema, serverUrl } from "./server.ts";

/** Runs SQL beside any store, looking into a schema. */
async function withClient<T>(schema: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: serverUrl, options: `-c search_path=${schema}` });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

const asUser = (user: string, password: string): string => {
  const url = new URL(serverUrl);
  url.username = user;
  url.password = password;
  return url.href;
};

describe("a ledger in Postgres", () => {
  it("[LED-01] refuses to change, remove or truncate a row, whoever asks", async () => {
    const schema = freshSchema();
    await using _ = await opened(schema);
    await withClient(schema, async (client) => {
      for (const text of ["UPDATE events SET body = 'x'", "DELETE FROM events", "TRUNCATE events"])
        await expect(client.query(text)).rejects.toThrow("append only");
    });
  });

  it("connects as a host's pool does, with connections of its own", async () => {
    const pool = new Pool({ connectionString: serverUrl, max: 1 });
    const store = postgresLedger({ pool, schema: freshSchema() });
    await store.open();
    expect((await store.append([nextTurn(testStream(1)).entry]))[0]?.ok).toBe(true);
    expect(pool.totalCount).toBe(0);
    await store.close();
    await pool.end();
  });

  it("has the server notice within seconds that a machine is gone without a word", async () => {
    const config = { connectionString: serverUrl };
    const limits = { create: false, maxConnections: 1, timeoutMs: 5_000 };
    const { pool, cut } = connect(await loadDriver(), "test", {
      config,
      schema: "public",
      name: "test",
      ...limits,
    });
    const { rows } = await pool.query(
      "SELECT name, setting FROM pg_settings WHERE name LIKE 'tcp\\_keepalives\\_%' ORDER BY name",
    );
    expect(rows.map(({ setting }) => Number(setting))).toEqual([3, 5, 2]);
    await pool.end();
    cut();
  });

  it("goes on above its highest position in a cluster whose transactions begin low", async () => {
    const schema = freshSchema();
    const [, far] = [await opened(schema).then((store) => store.close()), 2 ** 45];
    await withClient(schema, async (client) => {
      await client.query("ALTER TABLE events DISABLE TRIGGER ALL");
      await client.query("UPDATE events SET position = $1", [far]);
      await client.query("UPDATE streams SET position = $1", [far]);
    });
    const store = freshLedger(schema);
    await store.open();
    const [receipt] = await store.append([nextTurn(testStream(2)).entry]);
    expect(receipt?.ok === true && receipt.position > far).toBe(true);
    expect((await store.tail(far, 10)).map(({ row }) => row.stream)).toEqual([testStream(2).id]);
    await store.close();
  });

  it("tells no password, and what to do", async () => {
    const { code, message } = await refusalAt(asUser("postgres", "not-the-secret"), freshSchema());
    expect([code, message.includes("secret"), errorCodes[code as ErrorCode].next.length > 20]).toEqual([
      "T0_LEDGER_FORBIDDEN",
      false,
      true,
    ]);
  });
});

const refusalAt = async (url: string, schema: string) =>
  refusalOf(postgresLedger({ url, schema, timeoutMs: 1500 }).open());

describe("what is no ledger to write to is refused", () => {
  it.each([
    ["a server that is away", "postgres://postgres:x@127.0.0.1:1/postgres", "T0_LEDGER_UNAVAILABLE"],
    ["a host that is nowhere", "postgres://postgres:x@nowhere.invalid/postgres", "T0_LEDGER_UNAVAILABLE"],
    ["a database that is not there", serverUrl.replace(/postgres$/, "nothing"), "T0_LEDGER_UNAVAILABLE"],
    ["what only reads", `${serverUrl}?options=-c%20default_transaction_read_only%3Don`, "T0_LEDGER_READ_ONLY"],
  ])("%s", async (_what, url, code) => {
    expect((await refusalAt(url, freshSchema())).code).toBe(code);
  });

  it("a server that takes connections and never answers", async () => {
    const sockets: Socket[] = [];
    const mute = createServer((socket) => void sockets.push(socket)).listen(0, "127.0.0.1");
    await new Promise((resolve) => mute.once("listening", resolve));
    const { port } = mute.address() as { readonly port: number };
    const { code } = await refusalAt(`postgres://postgres:x@127.0.0.1:${port}/postgres`, freshSchema());
    for (const socket of sockets) socket.destroy();
    mute.close();
    expect(code).toBe("T0_LEDGER_UNAVAILABLE");
  });

  it("another program's schema", async () => {
    const schema = freshSchema();
    await withClient("public", async (client) => {
      await client.query(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.orders (id int)`);
    });
    expect((await refusalAt(serverUrl, schema)).code).toBe("T0_LEDGER_NOT_A_DATABASE");
  });

  it.each([
    ["a newer", 1, "T0_LEDGER_NEWER_SCHEMA"],
    ["an earlier", -1, "T0_LEDGER_FORMAT"],
  ])("%s schema", async (_what, by, code) => {
    const schema = freshSchema();
    await opened(schema).then((store) => store.close());
    await withClient(schema, (client) =>
      client.query("UPDATE meta SET value = $1 WHERE name = 'schema_version'", [String(schemaVersion + by)]),
    );
    expect((await refusalAt(serverUrl, schema)).code).toBe(code);
  });

  it("what a newer release has migrated under an open ledger, whatever it made of the tables", async () => {
    const schema = freshSchema();
    await using store = await opened(schema);
    await withClient(schema, async (client) => {
      await client.query("ALTER TABLE workflows RENAME COLUMN percent TO share");
      await client.query("UPDATE meta SET value = $1 WHERE name = 'schema_version'", [String(schemaVersion + 1)]);
    });
    const next = nextTurn(firstTurn(testStream(1)).after).entry;
    expect((await refusalOf(store.append([next]))).code).toBe("T0_LEDGER_NEWER_SCHEMA");
  });

  it("a role without rights", async () => {
    const role = freshSchema();
    await withClient("public", async (client) => {
      await client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'pw'`);
    });
    expect((await refusalAt(asUser(role, "pw"), freshSchema())).code).toBe("T0_LEDGER_FORBIDDEN");
    const theirs = freshSchema();
    await opened(theirs).then((store) => store.close());
    expect((await refusalAt(asUser(role, "pw"), theirs)).code).toBe("T0_LEDGER_FORBIDDEN");
  });

  it("a schema that was dropped under an open ledger, and a lock that is not given back", async () => {
    const schema = freshSchema();
    const store = postgresLedger({ url: serverUrl, schema, timeoutMs: 300 });
    await store.open();
    await withClient(schema, async (client) => {
      await client.query("BEGIN; LOCK TABLE events IN ACCESS EXCLUSIVE MODE");
      expect((await refusalOf(store.append([nextTurn(testStream(1)).entry]))).code).toBe("T0_LEDGER_LOCKED");
      await client.query("ROLLBACK");
      expect((await store.append([nextTurn(testStream(1)).entry]))[0]?.ok).toBe(true);
      await client.query(`DROP SCHEMA ${schema} CASCADE`);
    });
    expect((await refusalOf(store.append([nextTurn(testStream(2)).entry]))).code).toBe("T0_LEDGER_REPLACED");
    await store.close();
  });

  it("a url together with a pool, neither, and a schema with other letters", () => {
    for (const options of [{}, { url: serverUrl, pool: { options: {} } }, { url: serverUrl, schema: 'a"; DROP' }])
      expect(() => postgresLedger(options)).toThrow(/postgresLedger/);
  });
});

async function opened(schema: string) {
  const store = freshLedger(schema);
  await store.open();
  await store.append([firstTurn(testStream(1)).entry]);
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}
