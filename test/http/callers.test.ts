/** Who may do what over HTTP: credentials, claims, roles and tenants; and bodies that are not what they should be. */
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { describe, expect, it } from "vitest";
import { resolveHttpOptions } from "../../src/faces/http/http-options.ts";
import { createHttpApp } from "../../src/faces/http/index.ts";
import { wallClock } from "../../src/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { intent, publishing, refusalOf } from "../gates/story.ts";
import { type Asked, codeOf, openEdge, pathOf, requestOf, submitPath, tokens } from "./edge-fixture.ts";

const hint = { intent_hint: { intent_type: intent, inputs: {} } };
const publish = () => ({ capabilities: [publishing().capability] });

/** What each caller gets at each address, for a workflow of tenant 1 that waits at its gate. */
const callers = ["own", "admin", "support", "reader", "stranger", "foreign", "nobody's"] as const;
const matrix: readonly (readonly [string, Asked, readonly number[]])[] = [
  ["/v1/kernel/workflows", {}, [200, 200, 200, 200, 401, 200, 401]],
  ["/v1/kernel/gates", {}, [200, 200, 200, 200, 401, 200, 401]],
  ["ID", {}, [200, 200, 200, 200, 401, 404, 401]],
  ["ID/outcomes", {}, [200, 200, 200, 200, 401, 404, 401]],
  ["ID/trace", {}, [200, 200, 200, 200, 401, 404, 401]],
  ["ID/explain", {}, [200, 200, 200, 200, 401, 404, 401]],
  ["ID/events", {}, [200, 200, 200, 200, 401, 404, 401]],
  [submitPath, { body: hint }, [202, 202, 403, 403, 401, 202, 401]],
  ["ID/gate", { body: { gate_id: "gate-publish", decision: "approve" } }, [200, 200, 200, 403, 401, 404, 401]],
  ["ID/retry", { body: {} }, [409, 409, 403, 403, 401, 404, 401]],
  ["ID/cancel", { body: {} }, [200, 200, 403, 403, 401, 404, 401]],
];

describe("authority", () => {
  it.each(matrix)("[API-03] at %s %j each caller gets what role and tenant allow", async (path, asked, expected) => {
    const got: number[] = [];
    for (const as of callers) {
      await using edge = await openEdge(publish());
      const { workflow_id } = await edge.t.run(intent);
      const before = await edge.t.types(workflow_id);
      const told = await edge.ask(path.replace("ID", pathOf(workflow_id)), { as, ...asked });
      got.push(told.status);
      if (told.status >= 400) expect(await edge.t.types(workflow_id)).toEqual(before);
    }
    expect(got).toEqual(expected);
  });

  it("(A-40) nobody is answered with 401 and told how to come in", async () => {
    await using edge = await openEdge(publish());
    const told = await edge.ask("/v1/kernel/workflows", { as: null });
    expect([told.status, codeOf(told)]).toEqual([401, "T5_AUTHN_FAILED"]);
    expect(told.headers.get("www-authenticate")).toMatch(/^Bearer/);
    for (const authorization of ["own", "Basic own", "Bearer", "Bearer own own", `Bearer ${"x".repeat(5000)}`])
      expect((await edge.ask("/v1/kernel/gates", { as: null, headers: { authorization } })).status).toBe(401);
  });

  it.each([
    ["another tenant", { ...testCaller, tenant_id: 2 }],
    ["the tenant as text", { ...testCaller, tenant_id: "1" }],
    ["another person", { principal: { ...testCaller.principal, id: 2 } }],
    ["a higher role", { principal: { ...testCaller.principal, role: "admin" } }],
    ["only an id, of another", { principal: { id: 2 } }],
  ])("(A-40) a body that claims %s is refused, and nothing happens", async (_what, claims) => {
    await using edge = await openEdge(publish());
    const { workflow_id } = await edge.t.run(intent);
    const before = await edge.t.types(workflow_id);
    for (const told of [
      await edge.post(submitPath, { ...hint, ...claims }),
      await edge.post(pathOf(workflow_id, "/gate"), { gate_id: "gate-publish", decision: "approve", ...claims }),
      await edge.post(pathOf(workflow_id, "/cancel"), claims),
    ])
      expect([told.status, codeOf(told)]).toEqual([403, "T5_IDENTITY_VIOLATION"]);
    expect(await edge.t.types(workflow_id)).toEqual(before);
    expect(await edge.t.kernel.workflows()).toHaveLength(1);
  });

  it("a host's own hook comes first; one that fails lets nobody in", async () => {
    const authenticate = (request: Request) => {
      if (request.headers.get("x-who") === "broken") throw new Error("no connection");
      return request.headers.has("x-who") ? testCaller : null;
    };
    await using edge = await openEdge({}, { authenticate });
    const at = async (asked: Asked) => (await edge.ask("/v1/kernel/gates", asked)).status;
    expect(await at({ as: null, headers: { "x-who": "me" } })).toBe(200);
    expect(await at({ as: "own" })).toBe(200);
    expect(await at({ as: null, headers: { "x-who": "broken" } })).toBe(401);
    expect(await at({ as: null })).toBe(401);
  });

  it.each([
    {},
    { tokens: [] },
    { tokens: [{ ...tokens[0], token: "" }] },
    { tokens: [{ ...tokens[0], token: "two words" }] },
    { jwt: { issuer: "i", audience: "a" } },
    { jwt: { issuer: "i", audience: "a", secret: "short" } },
    { jwt: { issuer: "i", audience: "a", secret: "s".repeat(32), algorithms: ["RS256"] } },
    { jwt: { issuer: "i", audience: "a", jwks: { keys: [] }, algorithms: ["HS256"] } },
    { tokens, limits: { maxDepth: 0 } },
    { tokens: [tokens[0], { ...tokens[1], token: tokens[0]?.token }] },
    { tokens, mounts: { [submitPath]: async () => new Response("never reached") } },
  ])("options %j make no app", async (options) => {
    await using edge = await openEdge();
    const make = async () => createHttpApp(edge.t.kernel, options as never);
    expect((await refusalOf(make())).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });
});

it("time is the kernel's own by default, whose timers may be as far away as a limit says", () => {
  expect(resolveHttpOptions({ tokens }).clock).toBe(wallClock);
});

describe("a mount", () => {
  const mounts = {
    "/mount": async (_: Request, { principal }: { principal: { id: unknown } }) => Response.json(principal.id),
  };

  it("is for callers that are known, whatever the method, and hears who they are", async () => {
    await using edge = await openEdge({}, { mounts });
    for (const method of ["GET", "POST", "DELETE", "PUT", "OPTIONS"]) {
      expect((await edge.fetch("/mount", { as: null, method })).status).toBe(401);
      expect(await (await edge.fetch("/mount", { method })).json()).toBe(1);
    }
  });

  it("is not reached by a page of another origin, nor without the CSRF token", async () => {
    const authenticate = () => ({ ...testCaller, via: "cookie" as const, csrf_token: "0123456789abcdef" });
    await using edge = await openEdge({}, { mounts, authenticate });
    const at = async (headers: Readonly<Record<string, string>>) =>
      (await edge.fetch("/mount", { as: null, method: "POST", headers })).status;
    expect(await at({})).toBe(403);
    expect(await at({ "x-csrf-token": "0123456789abcdef", origin: "http://evil.test" })).toBe(403);
    expect(await at({ "x-csrf-token": "0123456789abcdef" })).toBe(200);
  });
});

describe("signed tokens", () => {
  const secret = "a shared key, long enough for every HMAC that there is: of 64 bytes and some more";
  const bytes = new TextEncoder().encode(secret);
  const jwt = { issuer: "https://issuer.test", audience: "countersign", secret };
  const claims = { tenant_id: 1, role: "user" };
  const now = Date.UTC(2026, 0, 1) / 1000;
  const draft = (more: object = {}, header: { alg: string; kid?: string } = { alg: "HS256" }) =>
    new SignJWT({ ...claims, ...more })
      .setProtectedHeader(header)
      .setSubject("ann")
      .setIssuer(jwt.issuer)
      .setAudience(jwt.audience)
      .setExpirationTime(now + 60);

  it("speak for whom they name until they expire, within their scopes", async () => {
    await using edge = await openEdge(publish(), { tokens: [], jwt });
    const token = await draft().sign(bytes);
    const told = await edge.post<{ workflow_id: string }>(submitPath, hint, token);
    expect(told.status).toBe(202);
    const { intent: received } = await edge.t.kernel.workflow(told.body.workflow_id);
    expect(received.actor).toEqual({ type: "user", id: "ann", role: "user" });
    const narrow = await draft({ scope: "outcome:read" }).sign(bytes);
    expect((await edge.post(submitPath, hint, narrow)).status).toBe(403);
    expect((await edge.ask("/v1/kernel/gates", { as: narrow })).status).toBe(200);
    await edge.t.clock.advance(64_000);
    expect((await edge.ask("/v1/kernel/gates", { as: token })).status).toBe(200);
    await edge.t.clock.advance(2_000);
    expect((await edge.ask("/v1/kernel/gates", { as: token })).status).toBe(401);
  });

  it("are refused when expired, for others, by others, unsigned, unending or without a tenant", async () => {
    await using edge = await openEdge({}, { tokens: [], jwt });
    const unsecured = new UnsecuredJWT(claims).setSubject("ann").setIssuer(jwt.issuer).setAudience(jwt.audience);
    const unending = new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).setSubject("ann");
    const bad = {
      expired: await draft()
        .setExpirationTime(now - 60)
        .sign(bytes),
      "another audience": await draft().setAudience("others").sign(bytes),
      "another issuer": await draft().setIssuer("https://other.test").sign(bytes),
      "another key": await draft().sign(new TextEncoder().encode("x".repeat(40))),
      "not yet": await draft()
        .setNotBefore(now + 60)
        .sign(bytes),
      "no algorithm": unsecured.setExpirationTime(now + 60).encode(),
      "another algorithm": await draft({}, { alg: "HS512" }).sign(bytes),
      unending: await unending.setIssuer(jwt.issuer).setAudience(jwt.audience).sign(bytes),
      "no tenant": await draft({ tenant_id: undefined }).sign(bytes),
      "cut short": (await draft().sign(bytes)).slice(0, -4),
    };
    for (const [what, token] of Object.entries(bad)) {
      const told = await edge.ask("/v1/kernel/gates", { as: token });
      expect([what, told.status, codeOf(told)]).toEqual([what, 401, "T5_AUTHN_FAILED"]);
    }
  });

  it("of a key set are checked by its public keys, which never stand in for a shared one", async () => {
    const { publicKey, privateKey } = await generateKeyPair("EdDSA");
    const key = { ...(await exportJWK(publicKey)), kid: "one", alg: "EdDSA" };
    const set = { issuer: jwt.issuer, audience: jwt.audience, jwks: { keys: [key] } };
    await using edge = await openEdge({}, { tokens: [], jwt: set });
    const signed = await draft({}, { alg: "EdDSA", kid: "one" }).sign(privateKey);
    expect((await edge.ask("/v1/kernel/gates", { as: signed })).status).toBe(200);
    const swapped = await draft({}, { alg: "HS256", kid: "one" }).sign(new TextEncoder().encode(JSON.stringify(key)));
    expect((await edge.ask("/v1/kernel/gates", { as: swapped })).status).toBe(401);
  });
});

describe("bad input", () => {
  const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
  const cases: readonly (readonly [string, Asked, number, string])[] = [
    ["text", { body: "hello", headers: { "content-type": "text/plain" } }, 415, "T0_HTTP_MEDIA_TYPE"],
    ["another charset", { body: "{}", headers: { "content-type": "application/json; charset=latin1" } }, 415, ""],
    ["no JSON", { body: '{"input":' }, 400, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["no body of a type", { body: "" }, 400, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["no UTF-8", { body: new Uint8Array([0x7b, 0xff, 0x7d]) }, 400, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["half a surrogate", { body: '{"thread_id":"\\ud800"}' }, 400, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["deep JSON", { body: `{"constraints":{"a":${deep(80)}}}` }, 400, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["very deep JSON", { body: deep(4000) }, 400, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a prototype", { body: '{"__proto__":{"tenant_id":2}}' }, 400, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["too much", { body: JSON.stringify({ input: { text: "x".repeat(9000) } }) }, 413, ""],
    ["a principal that is a text", { body: { ...hint, principal: "me" } }, 400, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["null", { body: "null" }, 400, "T0_VALIDATION_SCHEMA_MISMATCH"],
  ];

  it.each(cases)("[API-01] %s is refused and nothing is applied", async (_what, asked, status, code) => {
    await using edge = await openEdge(publish(), { limits: { maxBodyBytes: 8192 } });
    const told = await edge.ask(submitPath, asked);
    expect(told.status).toBe(status);
    if (code !== "") expect(codeOf(told)).toBe(code);
    expect(await edge.t.kernel.workflows()).toEqual([]);
  });

  it("a body without a stated length is read no further than the limit", async () => {
    await using edge = await openEdge(publish(), { limits: { maxBodyBytes: 1000 } });
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(100).fill(0x20));
      },
    });
    const headers = { authorization: "Bearer own", "content-type": "application/json" };
    const init = { method: "POST", headers, body: endless, duplex: "half" } as const;
    expect((await edge.app.fetch(new Request(`http://edge.test${submitPath}`, init))).status).toBe(413);
    expect(pulled).toBeLessThan(20);
  });

  it("a field that the kernel does not know is refused, and nothing begins", async () => {
    await using edge = await openEdge(publish());
    const told = await edge.post(submitPath, { ...hint, shoe_size: 44 });
    expect([told.status, codeOf(told)]).toEqual([400, "T0_VALIDATION_SCHEMA_MISMATCH"]);
    expect(told.body["errors"]).toEqual([{ pointer: "#/shoe_size", detail: "there is no such key" }]);
    expect(await edge.t.kernel.workflows()).toEqual([]);
  });

  it("a failure of the server's own tells nothing of itself", async () => {
    const errors: object[] = [];
    const log = () => undefined;
    const logger = { debug: log, info: log, warn: log, error: (detail: object) => void errors.push(detail) };
    await using edge = await openEdge();
    const kernel = { ...edge.t.kernel, gates: () => Promise.reject(new Error("password is swordfish")) };
    const app = createHttpApp(kernel, { tokens, logger });
    const response = await app.fetch(requestOf("/v1/kernel/gates", {}));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("swordfish");
    expect(errors).toHaveLength(1);
  });
});

describe("headers", () => {
  it("are safe, forbid keeping, and open no origin unless told", async () => {
    await using edge = await openEdge();
    const headers = { origin: "https://page.test" };
    const told = await edge.ask("/v1/kernel/gates", { headers });
    expect(told.headers.get("x-content-type-options")).toBe("nosniff");
    expect(told.headers.get("cache-control")).toBe("no-store");
    expect(told.headers.has("access-control-allow-origin")).toBe(false);
    await using open = await openEdge({}, { cors: { origins: ["https://page.test"] } });
    const allowed = await open.ask("/v1/kernel/gates", { headers });
    expect(allowed.headers.get("access-control-allow-origin")).toBe("https://page.test");
    const other = await open.ask("/v1/kernel/gates", { headers: { origin: "https://other.test" } });
    expect(other.headers.has("access-control-allow-origin")).toBe(false);
    const asked = { method: "OPTIONS", as: null, headers: { ...headers, "access-control-request-method": "POST" } };
    expect((await open.ask(submitPath, asked)).status).toBe(204);
  });

  it("a page that may call may also read when to come again, of a refusal as well", async () => {
    const limits = { maxRequestBurst: 1, maxRequestsPerSecond: 1 };
    await using edge = await openEdge({}, { limits, cors: { origins: ["https://page.test"] } });
    const ask = () => edge.ask("/v1/kernel/gates", { headers: { origin: "https://page.test" } });
    await ask();
    const told = await ask();
    expect([told.status, told.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(told.headers.get("access-control-allow-origin")).toBe("https://page.test");
    expect(told.headers.get("access-control-expose-headers")?.split(",")).toContain("retry-after");
  });

  it("carry the request's id, its caller's own if that is a plain word", async () => {
    await using edge = await openEdge();
    const id = async (headers: Record<string, string>) =>
      (await edge.ask("/health", { headers })).headers.get("x-request-id");
    expect(await id({ "x-request-id": "mine-1" })).toBe("mine-1");
    expect(await id({ "x-request-id": "not a word" })).toMatch(/^req_/);
  });
});
