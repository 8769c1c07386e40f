/** How often callers may ask: each within an allowance of their own, strangers within one for all of them. */
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { createAllowances } from "../../src/faces/http/limit-rate.ts";
import { testCaller } from "../../src/testing/index.ts";
import { codeOf, type EdgeUnderTest, openEdge, type Told } from "./edge-fixture.ts";

const gates = "/v1/kernel/gates";
const asked = async (edge: EdgeUnderTest, as: string | null, times: number): Promise<readonly number[]> => {
  const statuses: number[] = [];
  for (let i = 0; i < times; i += 1) statuses.push((await edge.ask(gates, { as })).status);
  return statuses;
};

describe("a caller", () => {
  const limits = { maxRequestsPerSecond: 2, maxRequestBurst: 3 };

  it("[API-01] who asks too often is told to wait, and may go on when time has passed", async () => {
    await using edge = await openEdge({}, { limits });
    expect(await asked(edge, "own", 4)).toEqual([200, 200, 200, 429]);
    const told: Told = await edge.ask(gates);
    expect([codeOf(told), told.headers.get("retry-after")]).toEqual(["T0_HTTP_RATE_LIMIT", "1"]);
    await edge.t.clock.advance(500);
    expect(await asked(edge, "own", 2)).toEqual([200, 429]);
    await edge.t.clock.advance(60_000);
    expect(await asked(edge, "own", 4)).toEqual([200, 200, 200, 429]);
  });

  it("takes nothing from others, and has one allowance whatever they come with", async () => {
    const tokens = [
      { token: "first", ...testCaller },
      { token: "second", ...testCaller, scopes: ["outcome:read"] },
      { token: "other", ...testCaller, tenant_id: 2 },
    ];
    await using edge = await openEdge({}, { limits, tokens });
    expect(await asked(edge, "first", 2)).toEqual([200, 200]);
    expect(await asked(edge, "second", 2)).toEqual([200, 429]);
    expect(await asked(edge, "other", 3)).toEqual([200, 200, 200]);
  });

  it("takes for each message of a batch; what is too much is told to wait, and only that", async () => {
    await using edge = await openEdge({}, { limits });
    const batch = [1, 2, 3, 4].map((id) => ({ jsonrpc: "2.0", id, method: "kernel/workflows" }));
    const { body } = await edge.post<readonly { error?: { data: { kernel: { code: string } } } }[]>("/rpc", batch);
    expect(body.map(({ error }) => error?.data.kernel.code ?? "done")).toEqual([
      "done",
      "done",
      "done",
      "T0_HTTP_RATE_LIMIT",
    ]);
    expect(await asked(edge, "own", 1)).toEqual([429]);
  });

  it("is not kept waiting by health checks, and they not by anybody", async () => {
    await using edge = await openEdge({}, { limits });
    await asked(edge, "own", 4);
    expect((await edge.ask("/health")).status).toBe(200);
  });
});

describe("strangers", () => {
  const limits = { maxFailedCallsPerSecond: 1, maxFailedCallBurst: 3 };

  it("may guess so often together; whoever was known before does not wait for them", async () => {
    await using edge = await openEdge({}, { limits });
    expect(await asked(edge, "own", 1)).toEqual([200]);
    for (const guess of ["a", "b", "c"]) expect(await asked(edge, guess, 1)).toEqual([401]);
    expect(await asked(edge, "d", 1)).toEqual([429]);
    // A right guess looks like a wrong one now.
    expect(await asked(edge, "admin", 1)).toEqual([429]);
    expect(await asked(edge, "own", 3)).toEqual([200, 200, 200]);
    await edge.t.clock.advance(1000);
    expect(await asked(edge, "admin", 2)).toEqual([200, 200]);
  });

  it("who show nothing are told who may come in, and use nothing up", async () => {
    await using edge = await openEdge({}, { limits });
    expect(await asked(edge, null, 9)).toEqual(Array.from({ length: 9 }, () => 401));
    expect(await asked(edge, "admin", 1)).toEqual([200]);
  });

  it("keep nobody out whose credential cannot be guessed: a signature, a session", async () => {
    const secret = "s".repeat(64);
    const jwt = { issuer: "i", audience: "a", secret };
    await using edge = await openEdge({}, { limits, jwt, sessions: {} });
    expect((await asked(edge, "guess", 5)).slice(3)).toEqual([429, 429]);
    const signed = await new SignJWT({ tenant_id: 1, role: "user" })
      .setProtectedHeader({ alg: "HS256" })
      .setSubject("ann")
      .setIssuer("i")
      .setAudience("a")
      .setExpirationTime(edge.t.clock.now() / 1000 + 60)
      .sign(new TextEncoder().encode(secret));
    expect(await asked(edge, signed, 1)).toEqual([200]);
    const code = new URL(await edge.app.loginPath(testCaller), "http://edge.test").searchParams;
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const guess = { as: null, body: "code=a", headers };
    expect((await edge.ask("/login", guess)).status).toBe(429);
    const told = await edge.ask("/login", { as: null, body: code.toString(), headers });
    const cookie = (told.headers.get("set-cookie") ?? "").split(";")[0] as string;
    expect((await edge.ask(gates, { as: null, headers: { cookie } })).status).toBe(200);
  });
});

it("no more buckets are kept than the limit says; the one that was used longest ago is forgotten", () => {
  let now = 0;
  const { take, tracked } = createAllowances({ perSecond: 1, burst: 1 }, 3, () => now);
  expect(["a", "b", "c", "a"].map(take)).toEqual([true, true, true, false]);
  now = 10;
  expect(take("d")).toBe(true);
  expect(tracked()).toBe(3);
  // `b` was forgotten for `d`; `a` had been used since.
  expect([take("a"), take("b")]).toEqual([false, true]);
  for (let i = 0; i < 10_000; i += 1) take(`caller ${i}`);
  expect(tracked()).toBe(3);
  now = 0;
  expect(take("caller 9999")).toBe(false);
});
