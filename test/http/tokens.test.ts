/** Signed tokens that try to be what they are not, and key sets at an address that changes, fails and hangs. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { CompactSign, type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { createHttpApp, type JwtOptions } from "../../src/faces/http/index.ts";
import { refusalOf } from "../gates/story.ts";
import { codeOf, type EdgeUnderTest, openEdge, tokens } from "./edge-fixture.ts";

const names = { issuer: "https://issuer.test", audience: "countersign" };
const now = Date.UTC(2026, 0, 1) / 1000;

interface Signer {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly jwk: JWK;
}

async function newSigner(kid: string): Promise<Signer> {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  return { kid, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" } };
}

const draft = (header: { alg?: string; kid?: string; [more: string]: unknown } = {}, more: object = {}) =>
  new SignJWT({ tenant_id: 1, role: "user", ...more })
    .setProtectedHeader({ alg: "ES256", ...header })
    .setSubject("ann")
    .setIssuer(names.issuer)
    .setAudience(names.audience)
    .setExpirationTime(now + 60);
const tokenOf = ({ kid, privateKey }: Signer): Promise<string> => draft({ kid }).sign(privateKey);

const gates = "/v1/kernel/gates";
const statusOf = async (edge: EdgeUnderTest, as: string): Promise<number> => (await edge.ask(gates, { as })).status;

let one: Signer;
let two: Signer;
beforeAll(async () => {
  [one, two] = await Promise.all([newSigner("one"), newSigner("two")]);
});

describe("a signed token", () => {
  const forged: readonly (readonly [string, () => Promise<string>])[] = [
    ["of a key that is not known", async () => draft({ kid: "three" }).sign(two.privateKey)],
    ["under the name of another key", async () => draft({ kid: "one" }).sign(two.privateKey)],
    ["with its own key in its head", async () => draft({ kid: "two", jwk: two.jwk }).sign(two.privateKey)],
    ["with the address of its key", async () => draft({ kid: "two", jku: "http://evil.test" }).sign(two.privateKey)],
    ["that must be understood more than it is", async () => bent(one, { kid: "one", crit: ["x"], x: 1 })],
    ["whose claims are no object", async () => bent(one, { kid: "one" }, "[]")],
    ["whose expiry is a text", async () => bent(one, { kid: "one" }, claims({ exp: String(now + 60) }))],
    ["whose expiry is missing", async () => bent(one, { kid: "one" }, claims({ exp: undefined }))],
    ["whose beginning is a text", async () => bent(one, { kid: "one" }, claims({ nbf: "now" }))],
    ["whose audience is missing", async () => bent(one, { kid: "one" }, claims({ aud: undefined }))],
    ["for several, none of them us", async () => bent(one, { kid: "one" }, claims({ aud: ["a", "b"] }))],
    ["whose tenant is a list", async () => bent(one, { kid: "one" }, claims({ tenant_id: [1] }))],
    ["whose role is missing", async () => bent(one, { kid: "one" }, claims({ role: undefined }))],
    ["with the public key as a shared one", async () => shared(await exportSPKI(one.publicKey))],
    ["with the key set as a shared one", async () => shared(JSON.stringify(one.jwk))],
    ["whose signature is empty", async () => (await tokenOf(one)).replace(/[^.]+$/, "")],
    ["whose claims were changed", async () => (await tokenOf(one)).replace(/\.[^.]+\./, `.${encode(claims({}))}.`)],
    ["of four parts", async () => `${await tokenOf(one)}.e30`],
    ["that is very long", async () => `${"a".repeat(100_000)}.${"b".repeat(100_000)}.c`],
  ];
  const claims = (more: object): string =>
    JSON.stringify({
      tenant_id: 1,
      role: "user",
      sub: "bo",
      iss: names.issuer,
      aud: names.audience,
      exp: now + 60,
      ...more,
    });
  const encode = (text: string): string => Buffer.from(text).toString("base64url");
  const bent = ({ privateKey }: Signer, header: object, payload = claims({})): Promise<string> =>
    new CompactSign(new TextEncoder().encode(payload))
      .setProtectedHeader({ alg: "ES256", ...header })
      .sign(privateKey, { crit: { x: true } });
  const shared = (secret: string): Promise<string> =>
    draft({ alg: "HS256", kid: "one" }).sign(new TextEncoder().encode(secret));

  it.each(forged)("[API-03] %s is nobody's, and the answer says no more than that", async (_what, make) => {
    await using edge = await openEdge({}, { tokens: [], jwt: { ...names, jwks: { keys: [one.jwk] } } });
    const told = await edge.ask(gates, { as: await make() });
    const nothing = await edge.ask(gates, { as: "nobody's" });
    const strip = (body: object) => JSON.stringify(body).replace(/req_\w+/g, "");
    expect([told.status, codeOf(told)]).toEqual([401, "T5_AUTHN_FAILED"]);
    expect(strip(told.body)).toBe(strip(nothing.body));
    expect(await statusOf(edge, await tokenOf(one))).toBe(200);
  });
});

/** An address that gives keys, or does what else it is told. */
async function openKeys(signers: readonly Signer[]) {
  let keys = signers.map(({ jwk }) => jwk);
  let answer: ((response: ServerResponse) => void) | null = null;
  let asked = 0;
  const server = createServer((_, response) => {
    asked += 1;
    if (answer !== null) return answer(response);
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify({ keys }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return {
    address: new URL(`http://127.0.0.1:${port}/keys`),
    asked: () => asked,
    hold: (...next: readonly Signer[]) => {
      keys = next.map(({ jwk }) => jwk);
    },
    answerWith: (next: typeof answer) => {
      answer = next;
    },
    close,
    reopen: async () => void (await once(server.listen(port, "127.0.0.1"), "listening")),
    async [Symbol.asyncDispose]() {
      if (server.listening) await close();
    },
  };
}

describe("a key set at an address", () => {
  const open = (jwks: URL, more: Partial<JwtOptions> = {}) =>
    openEdge({}, { tokens, jwt: { ...names, jwks, jwksCooldownMs: 0, ...more } });

  it("[API-03] is asked once for keys that are known, and again for one that is new", async () => {
    await using keys = await openKeys([one]);
    await using edge = await open(keys.address);
    for (let i = 0; i < 5; i += 1) expect(await statusOf(edge, await tokenOf(one))).toBe(200);
    expect(keys.asked()).toBe(1);
    keys.hold(two);
    expect(await statusOf(edge, await tokenOf(two))).toBe(200);
    expect(keys.asked()).toBe(2);
    // What was taken out of the set signs for nobody any more.
    expect(await statusOf(edge, await tokenOf(one))).toBe(401);
  });

  it("is not asked more often than it may be, whatever keys tokens name", async () => {
    await using keys = await openKeys([one]);
    await using edge = await open(keys.address, { jwksCooldownMs: 600_000 });
    expect(await statusOf(edge, await tokenOf(one))).toBe(200);
    for (let i = 0; i < 20; i += 1)
      expect(await statusOf(edge, await draft({ kid: `k${i}` }).sign(two.privateKey))).toBe(401);
    expect(keys.asked()).toBe(1);
  });

  it("that does not answer leaves its callers nobody; others are served, and they again when it is back", async () => {
    await using keys = await openKeys([one]);
    await using edge = await open(keys.address);
    await keys.close();
    const told = await edge.ask(gates, { as: await tokenOf(one) });
    expect([told.status, codeOf(told)]).toEqual([401, "T5_AUTHN_FAILED"]);
    expect(await statusOf(edge, "own")).toBe(200);
    await keys.reopen();
    expect(await statusOf(edge, await tokenOf(one))).toBe(200);
    // Keys that are known are still known in an outage.
    await keys.close();
    expect(await statusOf(edge, await tokenOf(one))).toBe(200);
  });

  it("that hangs is waited for no longer than the limit", async () => {
    await using keys = await openKeys([one]);
    await using edge = await open(keys.address, { jwksTimeoutMs: 50 });
    keys.answerWith(() => undefined);
    expect(await statusOf(edge, await tokenOf(one))).toBe(401);
    keys.answerWith((response) => void response.writeHead(200).write('{"keys":['));
    expect(await statusOf(edge, await tokenOf(one))).toBe(401);
    keys.answerWith(null);
    expect(await statusOf(edge, await tokenOf(one))).toBe(200);
  });

  it.each<readonly [string, (response: ServerResponse) => void]>([
    ["fails", (response) => response.writeHead(500).end("down")],
    ["sends elsewhere", (response) => response.writeHead(302, { location: "http://evil.test/keys" }).end()],
    ["says what is no JSON", (response) => response.end("<html>")],
    ["says what is no key set", (response) => response.end('{"keys":{}}')],
    ["has keys that are none", (response) => response.end('{"keys":[{"kid":"one","kty":"EC","alg":"ES256"}]}')],
    ["is too large", (response) => response.end(JSON.stringify({ keys: [one.jwk], more: "x".repeat(1_000_000) }))],
    ["ends in the middle", (response) => void response.destroy()],
  ])("that %s leaves its callers nobody, and the log hears of it", async (what, answer) => {
    await using keys = await openKeys([one]);
    keys.answerWith(answer);
    const told: string[] = [];
    const quiet = () => undefined;
    const logger = { debug: quiet, info: quiet, warn: quiet, error: (_: object, text = "") => void told.push(text) };
    await using edge = await openEdge({}, { tokens, logger, jwt: { ...names, jwks: keys.address, jwksCooldownMs: 0 } });
    expect(await statusOf(edge, await tokenOf(one))).toBe(401);
    // Keys that nobody could use look like keys of somebody else.
    expect(told).toEqual(what === "has keys that are none" ? [] : ["the authentication of a request failed"]);
    expect(await statusOf(edge, "own")).toBe(200);
  });
});

it.each([{ jwksTimeoutMs: 0 }, { jwksTimeoutMs: 0.5 }, { jwksCooldownMs: -1 }, { jwksCooldownMs: Number.NaN }])(
  "options %j make no app",
  async (more) => {
    await using edge = await openEdge();
    const make = async () =>
      createHttpApp(edge.t.kernel, { jwt: { ...names, jwks: new URL("http://127.0.0.1:1/keys"), ...more } });
    expect((await refusalOf(make())).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  },
);
