/** What was opened with a credential is over when the credential is. */
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { createHttpApp, type HookAnswer } from "../../src/faces/http/index.ts";
import { createMcpHandler } from "../../src/faces/mcp/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { intent, publishing } from "../gates/story.ts";
import { type EdgeUnderTest, openEdge, tokens } from "./edge-fixture.ts";
import { follow, type OpenStream, streamPath } from "./sse-reader.ts";

const minute = 60_000;
const own = "http://edge.test";
const publish = () => ({ capabilities: [publishing().capability] });

/** Everything that is read for long: three channels of a waiting workflow, and the feed. */
async function openAll(edge: EdgeUnderTest, headers: Readonly<Record<string, string>>): Promise<readonly OpenStream[]> {
  const known = await edge.t.kernel.workflows();
  const id = known[0]?.workflow_id ?? (await edge.t.run(intent)).workflow_id;
  const paths = ["events", "progress", "assistant"].map((channel) => streamPath(id, channel));
  const answers = await Promise.all(
    [...paths, "/v1/kernel/stream/feed"].map((path) => edge.fetch(path, { as: null, headers })),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const streams = answers.map(follow);
  await edge.t.clock.settle();
  return streams;
}

const states = (streams: readonly OpenStream[]): readonly boolean[] => streams.map((stream) => stream.isClosed());
const allOpen = [false, false, false, false];
const allClosed = [true, true, true, true];

async function signIn({ app }: EdgeUnderTest): Promise<string> {
  const code = new URL(await app.loginPath(testCaller), own).searchParams.get("code") ?? "";
  const headers = { "content-type": "application/x-www-form-urlencoded", origin: own };
  const answer = await app.fetch(new Request(`${own}/login`, { method: "POST", headers, body: `code=${code}` }));
  return (answer.headers.get("set-cookie") ?? "").split(";")[0] as string;
}

async function signOut(edge: EdgeUnderTest, cookie: string): Promise<number> {
  const { body } = await edge.ask("/v1/session", { as: null, headers: { cookie } });
  const headers = { cookie, "x-csrf-token": String(body["csrf_token"]) };
  return (await edge.ask("/v1/session", { as: null, method: "DELETE", headers })).status;
}

describe("streams of a session", () => {
  it("[ATH-07] end when it is signed out, and nothing of them is left; those of another session go on", async () => {
    await using edge = await openEdge(publish(), { sessions: {} });
    const [cookie, other] = [await signIn(edge), await signIn(edge)];
    await edge.t.run(intent);
    const before = [edge.t.clock.pending(), edge.t.kernel.vitals().listeners];
    const [streams, others] = [await openAll(edge, { cookie }), await openAll(edge, { cookie: other })];
    expect(await signOut(edge, cookie)).toBe(204);
    await edge.t.clock.settle();
    expect([states(streams), states(others)]).toEqual([allClosed, allOpen]);
    expect(await signOut(edge, other)).toBe(204);
    await edge.t.clock.settle();
    expect([states(others), edge.t.clock.pending(), edge.t.kernel.vitals().listeners]).toEqual([allClosed, ...before]);
  });

  it("[ATH-07] end when it was idle too long, though they are read; a request puts that off", async () => {
    await using edge = await openEdge(publish(), { sessions: { idleMs: 10 * minute, maxAgeMs: 25 * minute } });
    const cookie = await signIn(edge);
    const streams = await openAll(edge, { cookie });
    await edge.t.clock.advance(9 * minute);
    await edge.ask("/v1/session", { as: null, headers: { cookie } });
    await edge.t.clock.advance(9 * minute);
    expect(states(streams)).toEqual(allOpen);
    await edge.t.clock.advance(minute);
    expect(states(streams)).toEqual(allClosed);
  });

  it("[ATH-07] end when it is too old, and when another takes its place", async () => {
    await using edge = await openEdge(publish(), { sessions: { maxAgeMs: 20 * minute }, limits: { maxSessions: 1 } });
    const old = await openAll(edge, { cookie: await signIn(edge) });
    await edge.t.clock.advance(20 * minute);
    expect(states(old)).toEqual(allClosed);
    const pushed = await openAll(edge, { cookie: await signIn(edge) });
    const cookie = await signIn(edge);
    await edge.t.clock.settle();
    expect(states(pushed)).toEqual(allClosed);
    expect((await edge.ask("/v1/session", { as: null, headers: { cookie } })).status).toBe(200);
  });
});

describe("streams of a token", () => {
  it("[ATH-07] end when it is revoked; then it is nobody's, and other tokens are as they were", async () => {
    await using edge = await openEdge(publish());
    await edge.t.run(intent);
    const before = [edge.t.clock.pending(), edge.t.kernel.vitals().listeners];
    const streams = await openAll(edge, { authorization: "Bearer own" });
    const others = await openAll(edge, { authorization: "Bearer reader" });
    expect([edge.app.revokeToken("nobody's"), edge.app.revokeToken("own")]).toEqual([false, true]);
    await edge.t.clock.settle();
    expect([states(streams), states(others)]).toEqual([allClosed, allOpen]);
    expect((await edge.ask("/v1/session")).status).toBe(401);
    expect((await edge.ask("/v1/session", { as: "reader" })).status).toBe(200);
    edge.app.revokeToken("reader");
    await edge.t.clock.settle();
    expect([edge.t.clock.pending(), edge.t.kernel.vitals().listeners]).toEqual(before);
  });

  const jwt = { issuer: "i", audience: "a", secret: "a shared key, long enough for this one HMAC" };
  const sign = (expires: number, more: object = {}) =>
    new SignJWT({ tenant_id: 1, role: "user", ...more })
      .setProtectedHeader({ alg: "HS256" })
      .setSubject("ann")
      .setIssuer(jwt.issuer)
      .setAudience(jwt.audience)
      .setExpirationTime(expires)
      .sign(new TextEncoder().encode(jwt.secret));

  it("[ATH-07] that is signed end when it expires, within the tolerance of its clock", async () => {
    await using edge = await openEdge(publish(), { tokens: [], jwt });
    await edge.t.run(intent);
    // What the kernel itself waits for after a run is over by then.
    await edge.t.clock.advance(minute);
    const token = await sign(edge.t.clock.now() / 1000 + 600);
    const before = [edge.t.clock.pending(), edge.t.kernel.vitals().listeners];
    const streams = await openAll(edge, { authorization: `Bearer ${token}` });
    await edge.t.clock.advance(10 * minute + 4_000);
    expect(states(streams)).toEqual(allOpen);
    await edge.t.clock.advance(1_000);
    expect(states(streams)).toEqual(allClosed);
    expect([edge.t.clock.pending(), edge.t.kernel.vitals().listeners]).toEqual(before);
  });

  it.each([[7], [true], [null], [{}], [[1]], [["outcome:read", null]], [{ 0: "outcome:read" }]])(
    "[ATH-07] whose scope is %j is nobody's: what cannot be read narrows nothing",
    async (scope) => {
      await using edge = await openEdge(publish(), { tokens: [], jwt });
      const as = await sign(edge.t.clock.now() / 1000 + 600, { scope });
      expect((await edge.ask("/v1/kernel/gates", { as })).status).toBe(401);
    },
  );

  it("[ATH-07] whose scope is a text or a list of texts has those, an empty one has none", async () => {
    await using edge = await openEdge(publish(), { tokens: [], jwt });
    const status = async (scope: unknown) =>
      (await edge.ask("/v1/kernel/gates", { as: await sign(edge.t.clock.now() / 1000 + 600, { scope }) })).status;
    expect([await status("a outcome:read"), await status(["outcome:read"])]).toEqual([200, 200]);
    expect([await status(""), await status([]), await status(["a"])]).toEqual([403, 403, 403]);
  });

  it("[ATH-07] of a host's own reading of claims must be a caller as well", async () => {
    const readCaller = () =>
      ({ tenant_id: 1, principal: { type: "user", id: "ann" }, scopes: "outcome:read" }) as never;
    await using edge = await openEdge(publish(), { tokens: [], jwt: { ...jwt, readCaller } });
    expect((await edge.ask("/v1/session", { as: await sign(edge.t.clock.now() / 1000 + 600) })).status).toBe(401);
  });
});

describe("streams of a host's own credential", () => {
  it.each<readonly [string, () => HookAnswer | null]>([
    ["knows its caller no more", () => null],
    ["knows somebody else", () => ({ ...testCaller, principal: { ...testCaller.principal, id: "other" } })],
    ["knows fewer scopes", () => ({ ...testCaller, scopes: [] })],
    [
      "fails",
      () => {
        throw new Error("no connection");
      },
    ],
  ])("[ATH-07] end when the hook, asked again, %s", async (_what, later) => {
    let answer: () => HookAnswer | null = () => testCaller;
    await using edge = await openEdge(publish(), { tokens: [], authenticate: () => answer(), recheckMs: minute });
    const before = edge.t.kernel.vitals().listeners;
    const streams = await openAll(edge, {});
    await edge.t.clock.advance(5 * minute);
    expect(states(streams)).toEqual(allOpen);
    answer = later;
    await edge.t.clock.advance(minute);
    expect([states(streams), edge.t.kernel.vitals().listeners]).toEqual([allClosed, before]);
  });
});

describe("an MCP connection", () => {
  it("[ATH-07] ends with its token, in both generations: streams close, and the session is its no more", async () => {
    await using edge = await openEdge(publish());
    const { t } = edge;
    await using mcp = { ...createMcpHandler(t.kernel, { clock: t.clock }), [Symbol.asyncDispose]: () => mcp.close() };
    const app = createHttpApp(t.kernel, { tokens, clock: t.clock, mounts: { "/mcp": mcp.handle } });
    const ask = (method: string, body: object | null, more: Readonly<Record<string, string>> = {}) =>
      app.fetch(
        new Request("http://127.0.0.1/mcp", {
          method,
          headers: {
            authorization: "Bearer own",
            host: "127.0.0.1",
            "content-type": "application/json",
            accept: body === null ? "text/event-stream" : "application/json, text/event-stream",
            ...more,
          },
          ...(body !== null && { body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }) }),
        }),
      );
    const clientInfo = { name: "raw", version: "1" };
    const begun = await ask("POST", {
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
    });
    await begun.text();
    const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
    const listening = await ask("GET", null, session);
    const { workflow_id } = await t.run(intent);
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": clientInfo,
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const notifications = { resourceSubscriptions: [`countersign://workflows/${workflow_id}`] };
    const modern = { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" };
    const watching = await ask("POST", { method: "subscriptions/listen", params: { notifications, _meta } }, modern);
    expect([listening.status, watching.status]).toEqual([200, 200]);
    const streams = [follow(listening), follow(watching)];
    await t.clock.settle();
    expect([streams.map((stream) => stream.isClosed()), mcp.vitals().streams]).toEqual([[false, false], 1]);
    app.revokeToken("own");
    await t.clock.settle();
    expect([streams.map((stream) => stream.isClosed()), mcp.vitals().streams]).toEqual([[true, true], 0]);
    expect((await ask("GET", null, session)).status).toBe(401);
  });
});
