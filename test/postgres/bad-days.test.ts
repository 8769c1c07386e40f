/**
 * What happens to a database while kernels work on it: each is told by its code with a next step, workflows wait, and
 * go on when it is over, with each effect once.
 */
import { Client } from "pg";
import { beforeAll, describe, expect, it } from "vitest";
import { wallClock } from "../../src/adapters/wall-clock.ts";
import type { KernelError } from "../../src/contract/error.ts";
import { errorCodes } from "../../src/contract/error-codes.ts";
import { createKernel } from "../../src/index.ts";
import { postgresLedger } from "../../src/ledger/postgres/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { counted, refusalOf } from "../fixtures.ts";
import { intentType, oneStep, packageOf, planStep } from "../journey/parts.ts";
import { openProxy } from "./proxy.ts";
import { freshSchema, serverUrl } from "./server.ts";
import { startServer, type TestServer } from "./start-server.ts";

const hint = { ...testCaller, intent_hint: { intent_type: intentType, inputs: {} } };

async function withSql<T>(url: string, schema: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, options: `-c search_path=${schema}` });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

interface BadDay {
  /** What the kernel connects to, and in which schema. */
  readonly url: string;
  readonly schema?: string;
  readonly begin: () => Promise<unknown>;
  /**
   * What a request is told, and whoever asks whether the kernel serves; null where that cannot be seen without writing.
   */
  readonly codes: readonly string[];
  readonly unready?: readonly string[] | null;
  readonly end: () => Promise<unknown>;
  readonly timeoutMs?: number;
}

/** It begins within a call, whose end can then not be recorded. */
async function survive(day: BadDay): Promise<void> {
  const { url, schema = freshSchema(), begin, codes, unready = codes, end, timeoutMs = 1000 } = day;
  const begun = Promise.withResolvers<unknown>();
  const act = counted("Test.Act", { effect: "write_draft", idempotent: true }, async () => {
    if (act.calls.length === 2) await begin().then(begun.resolve, begun.reject);
    return {};
  });
  const steps = [1, 2, 3].map((n) => planStep(`s${n}`, act, n === 1 ? {} : { depends_on: [`s${n - 1}`] }));
  const ledger = postgresLedger({ url, schema, timeoutMs });
  const limits = { leaseMs: 2000, foldAgainMs: 1000 };
  const kernel = await createKernel({ ledger, capabilities: [packageOf([act], steps)], limits });
  try {
    const { workflow_id } = await kernel.submit(hint);
    await begun.promise;
    const submit = () => firstRefusal(() => kernel.submit(hint));
    let refused = await submit();
    while (!codes.includes(refused.code)) refused = await submit();
    expect(errorCodes[refused.code as keyof typeof errorCodes].next.length).toBeGreaterThan(20);
    if (unready !== null) expect(unready).toContain((await firstRefusal(() => kernel.ready())).code);
    await end();
    await until(() => kernel.ready().then(() => true));
    await until(async () => (await kernel.settled(workflow_id)).state === "completed");
    // Only the call with an effect that was under way may have been made again, under its key.
    const own = act.calls.filter(({ context }) => context.workflow_id === workflow_id);
    const keys = own.map(({ idempotencyKey }) => idempotencyKey);
    expect([new Set(keys).size, keys.length <= 4]).toEqual([3, true]);
    expect(await kernel.verify()).toMatchObject({ ok: true });
  } finally {
    await kernel.stop({ drainMs: 0 });
  }
  await until(() => withSql(url, schema, leavesNothing));
}

/** A connection that a stopped ledger left open would hold its locks for as long as the process lives. */
async function leavesNothing(client: Client): Promise<boolean> {
  const { rows } = await client.query("SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'countersign %'");
  return rows.length === 0;
}

/** A server may take its time to tell each connection: what it takes until then is taken. */
async function firstRefusal(ask: () => Promise<unknown>): Promise<KernelError> {
  for (;;) {
    const answer = ask();
    const isTaken = await answer.then(
      () => true,
      () => false,
    );
    if (!isTaken) return refusalOf(answer);
  }
}

/** Asks until the answer is yes; what is refused meanwhile is no answer. */
async function until(ask: () => Promise<boolean>): Promise<void> {
  while (!(await ask().catch(() => false))) await new Promise(setImmediate);
}

describe("a kernel survives that its server", () => {
  let server: TestServer;
  const becomeStandby = async () => {
    await server.pause();
    await server.resume("standby");
    // Long enough that whoever lost its session asks for another one.
    await withSql(server.url, "public", (client) => client.query("SELECT pg_sleep(0.5)"));
  };
  const promote = () => withSql(server.url, "public", (client) => client.query("SELECT pg_promote()"));
  const setReading = (value: "on" | "off") =>
    withSql(server.url, "public", async (client) => {
      await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
      await client.query("SELECT pg_reload_conf()");
    });
  beforeAll(async () => {
    server = await startServer();
    return () => server.stop();
  });

  it.each<[string, Omit<BadDay, "url">]>([
    ["goes away", { begin: () => server.pause(), codes: ["T0_LEDGER_UNAVAILABLE"], end: () => server.resume() }],
    ["becomes a standby", { begin: becomeStandby, codes: ["T0_LEDGER_READ_ONLY"], end: promote }],
    [
      "is made read-only",
      { begin: () => setReading("on"), codes: ["T0_LEDGER_READ_ONLY"], end: () => setReading("off") },
    ],
  ])("%s, and comes back", async (_what, day) => survive({ ...day, url: server.url }));
});

describe("a kernel whose server is restarted", () => {
  it("records what ended meanwhile: nobody is asked about a call that may not be made again", async () => {
    const server = await startServer();
    const ended = Promise.withResolvers<object>();
    const act = counted("Test.Act", { effect: "write_draft" }, () => ended.promise);
    const kernel = await createKernel({
      ledger: postgresLedger({ url: server.url, schema: freshSchema() }),
      capabilities: [oneStep(act)],
    });
    try {
      const { workflow_id } = await kernel.submit(hint);
      await until(async () => act.calls.length === 1);
      await server.pause();
      ended.resolve({});
      expect((await refusalOf(kernel.workflow(workflow_id))).code).toBe("T0_LEDGER_UNAVAILABLE");
      await server.resume();
      await until(async () => (await kernel.settled(workflow_id)).state === "completed");
      expect(act.calls).toHaveLength(1);
    } finally {
      await kernel.stop({ drainMs: 0 });
      await server.stop();
    }
  });
});

describe("a kernel survives", () => {
  const refusing = `
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse()`;

  it("a disk that is full", async () => {
    const schema = freshSchema();
    const run = (text: string) => withSql(serverUrl, schema, (client) => client.query(text));
    await survive({
      url: serverUrl,
      schema,
      begin: () => run(refusing),
      codes: ["T0_LEDGER_DISK_FULL"],
      unready: null,
      end: () => run("DROP TRIGGER full_disk ON events"),
    });
  });

  it("that its role loses its rights", async () => {
    const [schema, role] = [freshSchema(), `${freshSchema()}_role`];
    const run = (text: string) => withSql(serverUrl, schema, (client) => client.query(text));
    await run(`CREATE ROLE ${role} LOGIN PASSWORD 'pw'; CREATE SCHEMA ${schema} AUTHORIZATION ${role}`);
    const url = new URL(serverUrl);
    [url.username, url.password] = [role, "pw"];
    await survive({
      url: url.href,
      schema,
      begin: () => run(`REVOKE INSERT ON events FROM ${role}`),
      codes: ["T0_LEDGER_FORBIDDEN"],
      unready: null,
      end: () => run(`GRANT INSERT ON events TO ${role}`),
    });
  });

  it("a server that answers too late, and one that answers slowly", async () => {
    const proxy = await openProxy(serverUrl);
    try {
      const begin = async () => proxy.slow(3000);
      const end = async () => proxy.slow(20);
      await survive({ url: proxy.url, begin, codes: ["T0_LEDGER_UNAVAILABLE"], end, timeoutMs: 1000 });
    } finally {
      proxy.close();
    }
  });

  it("a server that says nothing more when it is told to stop: it stops in a bounded time", async () => {
    const proxy = await openProxy(serverUrl);
    const held = counted(
      "Test.Act",
      {},
      ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", reject)),
    );
    const ledger = postgresLedger({ url: proxy.url, schema: freshSchema(), timeoutMs: 1000 });
    const kernel = await createKernel({ ledger, capabilities: [oneStep(held)] });
    for (let n = 0; n < 10; n += 1) await kernel.submit(hint);
    while (held.calls.length < 10) await new Promise(setImmediate);
    proxy.muteAfter("");
    const late = wallClock.now() + 10_000;
    await kernel.stop({ drainMs: 0 });
    expect(wallClock.now()).toBeLessThan(late);
    proxy.close();
  });
});
