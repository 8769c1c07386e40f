/** Sessions outlive the process: kept in a ledger's file, they are the same in all processes that share it. */
import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { createMemorySessions } from "../../src/faces/http/memory-sessions.ts";
import { createSessions, type Sessions } from "../../src/faces/http/sessions.ts";
import type { SessionRecord } from "../../src/index.ts";
import { type SqliteLedger, sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createVirtualClock, testCaller } from "../../src/testing/index.ts";
import { startProcess } from "../cli/command-line.ts";
import { freshPaths, makeTempFolder } from "../fixtures.ts";
import { withDatabase } from "../ledgers/ledger-files.ts";
import { openEdge } from "./edge-fixture.ts";
import { follow } from "./sse-reader.ts";

const freshPath = freshPaths();
const minute = 60_000;
const times = {
  codeMs: 5 * minute,
  idleMs: 30 * minute,
  maxAgeMs: 120 * minute,
  recheckMs: 5_000,
  maxCodes: 3,
  maxSessions: 3,
};

async function openLedger(path: string): Promise<SqliteLedger & AsyncDisposable> {
  const ledger = sqliteLedger({ path });
  await ledger.open();
  return { ...ledger, [Symbol.asyncDispose]: () => ledger.close() };
}

const signIn = async (sessions: Sessions): Promise<string> =>
  (await sessions.begin(await sessions.mintCode(testCaller))) as string;

const other = { ...testCaller, principal: { ...testCaller.principal, id: "other" } };

describe.each([
  ["memory", async () => ({ store: createMemorySessions(), close: async () => undefined })],
  [
    "a ledger's file",
    async () => {
      const ledger = await openLedger(freshPath());
      return { store: ledger.sessions, close: () => ledger.close() };
    },
  ],
] as const)("sessions kept in %s", (_where, open) => {
  const record = (name: string, more: Partial<SessionRecord> = {}): SessionRecord => ({
    name,
    kind: "code",
    holder: "ann",
    caller: { ...testCaller, scopes: ["outcome:read"] },
    born_at: 1,
    used_at: 1,
    ends_at: 9.5,
    ...more,
  });

  it("are found as they were kept, and no others", async () => {
    const { store, close } = await open();
    await store.keep(record("a"), 9);
    expect([await store.find("a"), await store.find("b")]).toEqual([record("a"), null]);
    await store.touch("a", 5);
    await store.touch("b", 5);
    expect([await store.find("a"), await store.find("b")]).toEqual([record("a", { used_at: 5 }), null]);
    await close();
  });

  it("give way to newer ones of their kind, the one that was used longest ago first", async () => {
    const { store, close } = await open();
    for (const name of ["a", "b"]) await store.keep(record(name), 2);
    await store.keep(record("s", { kind: "session" }), 2);
    await store.touch("a", 2);
    expect(await store.keep(record("c", { used_at: 3 }), 2)).toEqual(["b"]);
    expect((await store.find("s"))?.kind).toBe("session");
    await close();
  });

  it("become of a code once, of one that has not ended", async () => {
    const { store, close } = await open();
    for (const name of ["a", "late"]) await store.keep(record(name), 9);
    await store.keep(record("s", { kind: "session" }), 9);
    const told = await Promise.all([1, 2, 3].map(() => store.redeem("a", 4)));
    expect(told.filter(Boolean)).toHaveLength(1);
    expect(await store.find("a")).toEqual(record("a", { kind: "used", used_at: 4 }));
    expect([await store.redeem("late", 9.5), await store.redeem("s", 2), await store.redeem("none", 2)]).toEqual([
      false,
      false,
      false,
    ]);
    await close();
  });

  it("go one by one, or all of a holder's", async () => {
    const { store, close } = await open();
    for (const name of ["a", "b", "c"]) await store.keep(record(name), 9);
    await store.keep(record("d", { holder: "bob" }), 9);
    await store.keep(record("e", { kind: "used" }), 9);
    expect(await store.drop({ name: "a" })).toEqual(["a"]);
    expect(await store.drop({ name: "a" })).toEqual([]);
    expect([...(await store.drop({ holder: "ann" }))].sort()).toEqual(["b", "c"]);
    expect([(await store.find("d"))?.name, (await store.find("e"))?.name]).toEqual(["d", "e"]);
    await close();
  });
});

describe("after a restart", () => {
  it("a session goes on, a used link stays used, and both end when they would have", async () => {
    const path = freshPath();
    const clock = createVirtualClock();
    const before = await openLedger(path);
    const first = createSessions(times, before.sessions, clock);
    const [code, unused] = [await first.mintCode(testCaller), await first.mintCode(testCaller)];
    const secret = (await first.begin(code)) as string;
    const csrf = (await first.find(secret, true))?.csrfToken;
    const signedOut = await signIn(first);
    await first.end(signedOut);
    await before.close();
    await using after = await openLedger(path);
    const second = createSessions(times, after.sessions, clock);
    expect(await second.find(secret, true)).toMatchObject({ caller: testCaller, csrfToken: csrf });
    expect(await second.find(signedOut, true)).toBe(null);
    expect([await second.begin(code), await second.lookAt(code)]).toEqual([null, { is: "used", at: clock.now() }]);
    await clock.advance(5 * minute);
    expect([await second.begin(unused), await second.lookAt(unused)]).toEqual([
      null,
      { is: "expired", at: clock.now() },
    ]);
    await clock.advance(25 * minute);
    expect(await second.find(secret, true)).toBe(null);
  });

  it("the file holds nothing that lets anybody in", async () => {
    const path = freshPath();
    await using ledger = await openLedger(path);
    const sessions = createSessions(times, ledger.sessions, createVirtualClock());
    const code = await sessions.mintCode(testCaller);
    const secret = (await sessions.begin(code)) as string;
    const kept = JSON.stringify(withDatabase(path, (db) => db.prepare("SELECT * FROM sessions").all()));
    expect(kept).toContain("session");
    for (const hidden of [code, secret, (await sessions.find(secret, true))?.csrfToken])
      expect(kept).not.toContain(hidden);
  });

  it("a session that is in use is written down seldom: a request waits for no disk", async () => {
    await using ledger = await openLedger(freshPath());
    let writes = 0;
    const { touch, ...rest } = ledger.sessions;
    const counted = {
      ...rest,
      touch: async (name: string, at: number) => {
        writes += 1;
        await touch(name, at);
      },
    };
    const clock = createVirtualClock();
    const sessions = createSessions(times, counted, clock);
    const secret = await signIn(sessions);
    for (let i = 0; i < 300; i += 1) {
      await clock.advance(1_000);
      await sessions.find(secret, true);
    }
    expect(writes).toBe(300 / 18 - ((300 / 18) % 1));
  });

  it("the ledger verifies as before: sessions are no index", async () => {
    const path = freshPath();
    await using kept = await openEdge({ ledger: sqliteLedger({ path }) });
    withDatabase(path, (db) => db.exec("INSERT INTO sessions VALUES (1, 'n', 'session', 'h', '{}', 1, 1, 1)"));
    expect((await kept.t.kernel.verify()).ok).toBe(true);
  });
});

describe("two processes on one file", () => {
  it("[ATH-07] sign out each other's sessions: their streams close within `recheckMs`, others continue", async () => {
    const path = freshPath();
    const ledger = sqliteLedger({ path });
    await using edge = await openEdge({ ledger }, { sessions: { store: ledger.sessions } });
    await using elsewhere = await openLedger(path);
    const there = createSessions(times, elsewhere.sessions, edge.t.clock);
    const [mine, others] = [await signIn(there), await there.begin(await there.mintCode(other))];
    const open = async (secret: string | null) => {
      const headers = { cookie: `countersign_session=${secret}` };
      return follow(await edge.fetch("/v1/kernel/stream/feed", { as: null, headers }));
    };
    const [stream, still] = [await open(mine), await open(others)];
    await edge.t.clock.advance(20_000);
    expect([stream.isClosed(), still.isClosed()]).toEqual([false, false]);
    await there.end(mine);
    await edge.t.clock.advance(5_000);
    expect([stream.isClosed(), still.isClosed()]).toEqual([true, false]);
    await still.stop();
  });

  it("let one code in once between them", async () => {
    const path = freshPath();
    await using one = await openLedger(path);
    await using two = await openLedger(path);
    const clock = createVirtualClock();
    const [a, b] = [createSessions(times, one.sessions, clock), createSessions(times, two.sessions, clock)];
    const code = await a.mintCode(testCaller);
    const secrets = await Promise.all([a.begin(code), b.begin(code), a.begin(code), b.begin(code)]);
    expect(secrets.filter((secret) => secret !== null)).toHaveLength(1);
  });
});

describe("signing out everywhere", () => {
  it("ends all sessions and links of the principal at once, with their streams, and no others", async () => {
    await using edge = await openEdge({}, { sessions: {} });
    const enter = async (path: string) => {
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const body = path.slice(path.indexOf("?") + 1);
      const told = await edge.fetch("/login", { as: null, headers, body });
      return { status: told.status, cookie: (told.headers.get("set-cookie") ?? "").split(";")[0] as string };
    };
    const [mine, stolen, theirs] = [
      await enter(await edge.app.loginPath(testCaller)),
      await enter(await edge.app.loginPath(testCaller)),
      await enter(await edge.app.loginPath(other)),
    ];
    const link = await edge.app.loginPath(testCaller);
    const stream = follow(await edge.fetch("/v1/kernel/stream/feed", { as: null, headers: { cookie: stolen.cookie } }));
    const who = (cookie: string) => edge.ask("/v1/session", { as: null, headers: { cookie } });
    const csrf = String((await who(mine.cookie)).body["csrf_token"]);
    const headers = { cookie: mine.cookie, "x-csrf-token": csrf };
    expect((await edge.ask("/v1/session?everywhere=true", { as: null, method: "DELETE", headers })).status).toBe(204);
    await edge.t.clock.settle();
    expect(stream.isClosed()).toBe(true);
    const cookies = [mine, stolen, theirs].map(({ cookie }) => cookie);
    const statuses = await Promise.all(cookies.map(async (cookie) => (await who(cookie)).status));
    expect(statuses).toEqual([401, 401, 200]);
    expect((await enter(link)).status).toBe(401);
    expect(await edge.app.endSessions(other)).toBe(1);
    expect((await who(theirs.cookie)).status).toBe(401);
  });
});

it("says of a link what is wrong with it, on its page and where it is used", async () => {
  await using edge = await openEdge({}, { sessions: { codeMs: minute } });
  const [used, late] = [await edge.app.loginPath(testCaller), await edge.app.loginPath(testCaller)];
  const enter = (path: string) =>
    edge.ask("/login", {
      as: null,
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: path.slice(path.indexOf("?") + 1),
    });
  const page = async (path: string) => (await edge.fetch(path, { as: null })).text();
  expect((await enter(used)).status).toBe(303);
  const at = new Date(edge.t.clock.now()).toISOString();
  await edge.t.clock.advance(minute);
  for (const [path, word] of [
    [used, `was used at ${at}; if that was not you`],
    [late, `expired at ${new Date(edge.t.clock.now()).toISOString()}`],
    [`/login?code=${"x".repeat(43)}`, "is not known here"],
  ] as const) {
    expect((await enter(path)).body["detail"]).toContain(word);
    const told = await page(path);
    expect(told).toContain(word);
    expect(told).not.toContain("<form");
  }
});

interface Served {
  readonly url: string;
  readonly login: string;
  readonly kill: () => Promise<void>;
}

async function serve(folder: string, port: string): Promise<Served> {
  const child = startProcess(folder, "serve", "--json", "--port", port, "--token", "program", "--db", "l.db");
  child.stderr.resume();
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const kill = async (): Promise<void> => {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  return { ...(JSON.parse(line) as Pick<Served, "url" | "login">), kill };
}

it("a browser goes on where it was after the server was killed and started again", async () => {
  using folder = makeTempFolder();
  const first = await serve(folder.path, "0");
  const enter = ({ url, login }: Served) =>
    fetch(`${url}/login`, { method: "POST", body: new URL(login).searchParams, redirect: "manual" });
  const entered = await enter(first);
  const [cookie = ""] = (entered.headers.get("set-cookie") ?? "").split(";");
  const session = async () => (await fetch(`${first.url}/v1/session`, { headers: { cookie } })).json();
  const before = await session();
  expect(before).toMatchObject({ principal: { id: "local" }, via: "session" });
  const feed = await fetch(`${first.url}/v1/kernel/stream/feed`, { headers: { cookie } });
  expect(feed.status).toBe(200);
  await first.kill();
  await feed.text().catch(() => undefined);
  const second = await serve(folder.path, new URL(first.url).port);
  const { csrf_token } = before as { csrf_token: string };
  expect(await session()).toMatchObject({ csrf_token });
  expect((await enter({ ...second, login: first.login })).status).toBe(401);
  const headers = { cookie, "x-csrf-token": csrf_token, origin: second.url };
  const again = await fetch(`${second.url}/v1/kernel/stream/feed`, { headers: { cookie } });
  expect((await fetch(`${second.url}/v1/session`, { method: "DELETE", headers })).status).toBe(204);
  // It ends: what is read of it to its end says so.
  await again.text();
  expect((await fetch(`${second.url}/v1/session`, { headers: { cookie } })).status).toBe(401);
  await second.kill();
});
