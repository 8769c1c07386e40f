/**
 * Browsers: a link that is good once, the session that it becomes, and what a page must show before it changes
 * anything.
 */
import { describe, expect, it } from "vitest";
import { SessionView } from "../../src/contract/session.ts";
import { createHttpApp, type HookAnswer, type HttpOptions } from "../../src/faces/http/index.ts";
import { createMemorySessions } from "../../src/faces/http/memory-sessions.ts";
import { createSessions } from "../../src/faces/http/sessions.ts";
import { createVirtualClock, testCaller } from "../../src/testing/index.ts";
import { intent, publishing, refusalOf } from "../gates/story.ts";
import { type Asked, codeOf, type EdgeUnderTest, openEdge, submitPath, type Told, tokens } from "./edge-fixture.ts";

const hint = { intent_hint: { intent_type: intent, inputs: {} } };
const minute = 60_000;
const own = "http://edge.test";

const openBrowser = (options: Partial<HttpOptions> = {}) =>
  openEdge({ capabilities: [publishing().capability] }, { sessions: {}, ...options });

const codeIn = (path: string): string => new URL(path, own).searchParams.get("code") ?? "";

const form = (code: string, headers: Readonly<Record<string, string>> = {}): Asked => ({
  as: null,
  body: new URLSearchParams({ code }).toString(),
  headers: { "content-type": "application/x-www-form-urlencoded", origin: own, ...headers },
});

const enter = (edge: EdgeUnderTest, code: string, headers?: Readonly<Record<string, string>>) =>
  edge.ask("/login", form(code, headers));

/** The cookie of a new session, as a browser sends it back. */
async function signIn(edge: EdgeUnderTest): Promise<string> {
  const told = await enter(edge, codeIn(await edge.app.loginPath(testCaller)));
  return (told.headers.get("set-cookie") ?? "").split(";")[0] as string;
}

const withCookie = (edge: EdgeUnderTest, cookie: string, path = "/v1/session", asked: Asked = {}) =>
  edge.ask(path, { as: null, ...asked, headers: { cookie, ...asked.headers } });

const tokenOf = async (edge: EdgeUnderTest, cookie: string): Promise<string> =>
  String((await withCookie(edge, cookie)).body["csrf_token"]);

describe("a login link", () => {
  it("opens a page without scripts, which exchanges its code for a cookie that no script can read", async () => {
    await using edge = await openBrowser({ sessions: { home: "/console/" } });
    const path = await edge.app.loginPath(testCaller);
    const page = await edge.fetch(path, { as: null });
    const html = await page.text();
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; form-action 'self'/);
    expect(html).toContain(`value="${codeIn(path)}"`);
    expect(html).not.toMatch(/<script|<style|https?:/);
    const told = await enter(edge, codeIn(path), { "sec-fetch-site": "same-origin" });
    expect([told.status, told.headers.get("location")]).toEqual([303, "/console/"]);
    const cookie = told.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^countersign_session=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    expect(cookie).not.toContain(codeIn(path));
  });

  it("is good once, however often it was looked at before", async () => {
    await using edge = await openBrowser();
    const path = await edge.app.loginPath(testCaller);
    for (const method of ["GET", "HEAD", "GET"])
      expect((await edge.fetch(path, { as: null, method })).status).toBe(200);
    expect((await enter(edge, codeIn(path))).status).toBe(303);
    const again = await enter(edge, codeIn(path));
    expect([again.status, codeOf(again), again.headers.has("set-cookie")]).toEqual([401, "T5_AUTHN_FAILED", false]);
  });

  it("is good once also when two ask at the same time", async () => {
    await using edge = await openBrowser();
    const code = codeIn(await edge.app.loginPath(testCaller));
    const told = await Promise.all([enter(edge, code), enter(edge, code), enter(edge, code)]);
    expect(told.map(({ status }) => status).sort()).toEqual([303, 401, 401]);
  });

  it("is good for as long as the host says, and no longer", async () => {
    await using edge = await openBrowser({ sessions: { codeMs: minute } });
    const [early, late] = [codeIn(await edge.app.loginPath(testCaller)), codeIn(await edge.app.loginPath(testCaller))];
    await edge.t.clock.advance(minute - 1);
    expect((await enter(edge, early)).status).toBe(303);
    await edge.t.clock.advance(1);
    expect((await enter(edge, late)).status).toBe(401);
  });

  it.each(["", "x", "a".repeat(43), `${"a".repeat(42)}"`, '"><script>alert(1)</script>'])(
    "that is none (%j) lets nobody in, and says nothing of itself on the page",
    async (code) => {
      await using edge = await openBrowser();
      await edge.app.loginPath(testCaller);
      expect((await enter(edge, code)).status).toBe(401);
      const page = await (await edge.fetch(`/login?code=${encodeURIComponent(code)}`, { as: null })).text();
      expect(page).not.toContain("<script");
    },
  );

  it.each([
    [{ origin: "https://evil.test" }],
    [{ origin: `${own}:8443` }],
    [{ "sec-fetch-site": "cross-site" }],
    [{ "sec-fetch-site": "same-site" }],
    [{ origin: "null" }],
  ])("is not exchanged by a page of another origin: %j", async (headers) => {
    await using edge = await openBrowser();
    const code = codeIn(await edge.app.loginPath(testCaller));
    const told = await enter(edge, code, headers);
    expect([told.status, codeOf(told)]).toEqual([403, "T5_CSRF_REJECTED"]);
    // Refused before it was looked at: its owner may still use it.
    expect((await enter(edge, code)).status).toBe(303);
  });

  it("is taken as a short form only", async () => {
    await using edge = await openBrowser();
    const code = codeIn(await edge.app.loginPath(testCaller));
    expect((await edge.ask("/login", { as: null, body: { code } })).status).toBe(415);
    expect((await enter(edge, "x".repeat(5000))).status).toBe(413);
  });

  it("is not made for nobody, nor by an app without sessions", async () => {
    await using edge = await openEdge();
    const make = async (app: EdgeUnderTest["app"], caller: unknown) => app.loginPath(caller as never);
    expect((await refusalOf(make(edge.app, testCaller))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect((await edge.ask("/login", { as: null })).status).toBe(401);
    await using browser = await openBrowser();
    expect((await refusalOf(make(browser.app, { tenant_id: 1 }))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });

  it("is kept within the limit; the oldest goes first", async () => {
    await using edge = await openBrowser({ limits: { maxLoginCodes: 2 } });
    const codes: string[] = [];
    for (let i = 0; i < 3; i += 1) codes.push(codeIn(await edge.app.loginPath(testCaller)));
    const statuses: number[] = [];
    for (const code of codes) statuses.push((await enter(edge, code)).status);
    expect(statuses).toEqual([401, 303, 303]);
  });
});

describe("a session", () => {
  it("speaks for the caller of its link, within the scopes of that, and says who one is", async () => {
    await using edge = await openBrowser();
    const code = codeIn(await edge.app.loginPath({ ...testCaller, scopes: ["outcome:read"] }));
    const cookie = ((await enter(edge, code)).headers.get("set-cookie") ?? "").split(";")[0] as string;
    const { body } = await withCookie(edge, cookie);
    expect(SessionView.parse(body)).toEqual(body);
    expect(body).toMatchObject({ ...testCaller, scopes: ["outcome:read"], via: "session" });
    expect(body["expires_at"]).toBe(new Date(edge.t.clock.now() + 30 * minute).toISOString());
    expect((await withCookie(edge, cookie, "/v1/kernel/gates")).status).toBe(200);
    const headers = { "x-csrf-token": String(body["csrf_token"]) };
    expect((await withCookie(edge, cookie, submitPath, { body: hint, headers })).status).toBe(403);
  });

  it("ends when it was idle too long, and when it is too old however busy it was", async () => {
    await using edge = await openBrowser({ sessions: { idleMs: 10 * minute, maxAgeMs: 25 * minute } });
    const [idle, busy] = [await signIn(edge), await signIn(edge)];
    for (const passed of [9, 18]) {
      await edge.t.clock.advance(9 * minute);
      expect([passed, (await withCookie(edge, busy)).status]).toEqual([passed, 200]);
    }
    expect((await withCookie(edge, idle)).status).toBe(401);
    await edge.t.clock.advance(7 * minute);
    expect((await withCookie(edge, busy)).status).toBe(401);
  });

  it("becomes idle despite requests that a page makes by itself: streams, and those marked as automatic", async () => {
    await using edge = await openBrowser({ sessions: { idleMs: 10 * minute } });
    const [left, used] = [await signIn(edge), await signIn(edge)];
    const end = new Date(edge.t.clock.now() + 10 * minute).toISOString();
    for (const [name, value] of [["accept", "text/event-stream"] as const, ["session-use", "none"] as const]) {
      await edge.t.clock.advance(4 * minute);
      const told = await withCookie(edge, left, "/v1/session", { headers: { [name]: value } });
      expect([told.status, told.headers.get("session-expires")]).toEqual([200, end]);
      expect((await withCookie(edge, used)).status).toBe(200);
    }
    await edge.t.clock.advance(4 * minute);
    expect((await withCookie(edge, left)).status).toBe(401);
    expect((await withCookie(edge, used)).status).toBe(200);
  });

  it("ends when its holder says so; others of the same caller go on", async () => {
    await using edge = await openBrowser();
    const [one, other] = [await signIn(edge), await signIn(edge)];
    const headers = { "x-csrf-token": await tokenOf(edge, one) };
    const told = await withCookie(edge, one, "/v1/session", { method: "DELETE", headers });
    expect([told.status, told.headers.get("set-cookie")]).toEqual([
      204,
      "countersign_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict",
    ]);
    expect((await withCookie(edge, one)).status).toBe(401);
    expect((await withCookie(edge, other)).status).toBe(200);
  });

  it("ends when its browser signs in anew", async () => {
    await using edge = await openBrowser();
    const cookie = await signIn(edge);
    expect((await enter(edge, codeIn(await edge.app.loginPath(testCaller)), { cookie })).status).toBe(303);
    expect((await withCookie(edge, cookie)).status).toBe(401);
  });

  it("that was used longest ago ends when there are too many", async () => {
    await using edge = await openBrowser({ limits: { maxSessions: 2 } });
    const [first, second] = [await signIn(edge), await signIn(edge)];
    await edge.t.clock.advance(minute);
    await withCookie(edge, first);
    await signIn(edge);
    expect((await withCookie(edge, first)).status).toBe(200);
    expect((await withCookie(edge, second)).status).toBe(401);
  });

  it("is bound to the host and to https where the request came by it, or the host says that browsers do", async () => {
    await using edge = await openBrowser({ origin: "https://api.test" });
    const code = codeIn(await edge.app.loginPath(testCaller));
    const told = await enter(edge, code, { origin: "https://api.test" });
    const set = told.headers.get("set-cookie") ?? "";
    expect(set).toMatch(/^__Host-countersign_session=[\w-]{43}; Path=\/; .*; Secure$/);
    expect(set).not.toMatch(/domain/i);
    const cookie = set.split(";")[0] as string;
    expect((await withCookie(edge, cookie)).status).toBe(200);
    // Somebody who may set cookies for the host by plain http cannot slip a session in.
    expect((await withCookie(edge, cookie.replace("__Host-", ""))).status).toBe(401);
    await using plain = await openBrowser();
    const request = new Request("https://edge.test/login", {
      method: "POST",
      body: new URLSearchParams({ code: codeIn(await plain.app.loginPath(testCaller)) }),
    });
    expect((await plain.app.fetch(request)).headers.get("set-cookie")).toMatch(/^__Host-.*; Secure$/);
  });

  it("of one server is not overwritten by that of another on the same host", async () => {
    await using edge = await openBrowser();
    const setAt = async (origin: string) => {
      const code = codeIn(await edge.app.loginPath(testCaller));
      const init = { method: "POST", body: new URLSearchParams({ code }) };
      return (await edge.app.fetch(new Request(`${origin}/login`, init))).headers.get("set-cookie")?.split("=")[0];
    };
    expect(await setAt("http://127.0.0.1:8787")).toBe("countersign_session_8787");
    expect(await setAt("http://127.0.0.1:8788")).toBe("countersign_session_8788");
    expect(await setAt("https://127.0.0.1:8443")).toBe("__Host-countersign_session_8443");
  });

  it("is not found by a cookie that is not one, or one of two", async () => {
    await using edge = await openBrowser();
    const cookie = await signIn(edge);
    for (const bad of ["countersign_session=", `${cookie}x`, `${cookie}; ${cookie}`, `x${cookie}`, cookie.slice(0, -1)])
      expect((await withCookie(edge, bad)).status).toBe(401);
    expect((await withCookie(edge, `theme=dark; ${cookie}; a=b`)).status).toBe(200);
  });

  it("is kept by digest: what is in memory is not what the cookie carries", async () => {
    const times = { codeMs: minute, idleMs: minute, maxAgeMs: minute, recheckMs: minute, maxCodes: 9, maxSessions: 9 };
    const held: unknown[] = [];
    const { set } = Map.prototype;
    Map.prototype.set = function keep(key, value) {
      held.push([key, value]);
      return set.call(this, key, value);
    };
    try {
      const sessions = createSessions(times, createMemorySessions(), createVirtualClock(0));
      const secret = (await sessions.begin(await sessions.mintCode(testCaller))) as string;
      const found = await sessions.find(secret, true);
      expect(found?.caller).toEqual(testCaller);
      expect(held.length).toBeGreaterThan(0);
      expect(JSON.stringify(held)).not.toContain(secret);
      expect(JSON.stringify(held)).not.toContain(found?.csrfToken);
    } finally {
      Map.prototype.set = set;
    }
  });
});

describe("a page that changes something", () => {
  const change = async (edge: EdgeUnderTest, cookie: string, headers: Record<string, string>): Promise<Told> =>
    withCookie(edge, cookie, submitPath, { body: hint, headers });

  it("[API-01] carries the session's CSRF token, and nothing happens without", async () => {
    await using edge = await openBrowser();
    const [cookie, other] = [await signIn(edge), await signIn(edge)];
    const token = await tokenOf(edge, cookie);
    const bad = [{}, { "x-csrf-token": "" }, { "x-csrf-token": "a" }, { "x-csrf-token": await tokenOf(edge, other) }];
    for (const headers of bad as Record<string, string>[]) {
      const told = await change(edge, cookie, headers);
      expect([told.status, codeOf(told)]).toEqual([403, "T5_CSRF_REJECTED"]);
    }
    expect(await edge.t.kernel.workflows()).toEqual([]);
    expect((await change(edge, cookie, { "x-csrf-token": token, origin: own })).status).toBe(202);
    expect((await withCookie(edge, cookie, "/rpc", { body: { jsonrpc: "2.0", method: "x" } })).status).toBe(403);
  });

  it.each<Record<string, string>>([
    { origin: "https://evil.test" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { "sec-fetch-site": "cross-site", origin: own },
    { "sec-fetch-site": "same-origin", origin: "https://evil.test" },
  ])("of another origin is refused whatever it carries: %j", async (headers) => {
    await using edge = await openBrowser();
    const cookie = await signIn(edge);
    const told = await change(edge, cookie, { "x-csrf-token": await tokenOf(edge, cookie), ...headers });
    expect([told.status, codeOf(told)]).toEqual([403, "T5_CSRF_REJECTED"]);
    expect(await edge.t.kernel.workflows()).toEqual([]);
  });

  it("is not asked of a bearer, which wins over any cookie", async () => {
    await using edge = await openBrowser();
    const cookie = await signIn(edge);
    const headers = { cookie, origin: "https://evil.test" };
    expect((await edge.ask(submitPath, { as: "own", body: hint, headers })).status).toBe(202);
    const { body } = await edge.ask("/v1/session", { as: "admin", headers });
    expect(body).toMatchObject({ principal: { id: "admin" }, via: "token", csrf_token: null, expires_at: null });
    expect((await edge.ask("/v1/session", { as: "nobody's", headers })).status).toBe(401);
  });

  it("is asked of a host's own cookies, where its hook says that it reads one", async () => {
    const secret = "the-host's-own-token";
    const authenticate = ({ headers }: Request): HookAnswer | null => {
      if (headers.get("cookie") === "host=1") return { ...testCaller, via: "cookie", csrf_token: secret };
      if (headers.get("cookie") === "host=2") return { ...testCaller, via: "cookie" };
      return headers.get("x-who") === "proxy" ? testCaller : null;
    };
    await using edge = await openEdge({ capabilities: [publishing().capability] }, { tokens, authenticate });
    const at = async (headers: Record<string, string>) =>
      (await edge.ask(submitPath, { as: null, body: hint, headers })).status;
    expect(await at({ "x-who": "proxy" })).toBe(202);
    expect(await at({ cookie: "host=1" })).toBe(403);
    expect(await at({ cookie: "host=1", "x-csrf-token": secret })).toBe(202);
    expect(await at({ cookie: "host=1", "x-csrf-token": secret, origin: "https://evil.test" })).toBe(403);
    // Without a token of the host's the browser must say where the request comes from.
    expect(await at({ cookie: "host=2" })).toBe(403);
    expect(await at({ cookie: "host=2", origin: "https://evil.test" })).toBe(403);
    expect(await at({ cookie: "host=2", origin: own })).toBe(202);
    expect(await at({ cookie: "host=2", "sec-fetch-site": "same-origin" })).toBe(202);
    const { body } = await edge.ask("/v1/session", { as: null, headers: { cookie: "host=1" } });
    expect(body).toMatchObject({ via: "host", csrf_token: secret });
    // A bearer wins over that cookie as well.
    expect(await at({ cookie: "host=1", authorization: "Bearer own" })).toBe(202);
    expect(await at({ cookie: "host=1", "x-csrf-token": secret, authorization: "Bearer nobody's" })).toBe(401);
  });
});

it.each([
  { sessions: { idleMs: 0 } },
  { sessions: { home: "//evil.test" } },
  { sessions: { home: "https://evil.test" } },
  { sessions: {}, origin: "https://api.test/path" },
  { sessions: {}, limits: { maxSessions: 0 } },
])("options %j make no app", async (options) => {
  await using edge = await openEdge();
  const make = async () => createHttpApp(edge.t.kernel, options as never);
  expect((await refusalOf(make())).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
});
