/** Issuers of access tokens: where the address of their keys is found, and what is never taken for theirs. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { discoverKeys } from "../../src/faces/guard/discover-issuer.ts";
import { isSecure } from "../../src/faces/guard/secure-address.ts";
import { fetchBounded } from "../../src/faces/http/fetch-bounded.ts";

/** An answer: a document, or a status with a place to go on. */
type Answer = object | string | { readonly status: number; readonly location?: string };

const isStatus = (answer: Answer): answer is { status: number; location?: string } =>
  typeof answer === "object" && "status" in answer;

/** An authorization server with these answers by path; it keeps what it was asked. */
async function openServer(answersOf: (origin: string) => Readonly<Record<string, Answer>>) {
  const asked: string[] = [];
  let answers: Readonly<Record<string, Answer>> = {};
  const server = createServer(({ url = "" }, outgoing) => {
    asked.push(url);
    const answer = answers[url] ?? { status: 404 };
    if (isStatus(answer)) outgoing.writeHead(answer.status, answer.location ? { location: answer.location } : {}).end();
    else outgoing.end(typeof answer === "string" ? answer : JSON.stringify(answer));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  answers = answersOf(origin);
  return { origin, asked };
}

const find = async (issuer: string): Promise<string> =>
  (await discoverKeys(issuer, (address, init) => fetchBounded(address, { maxBytes: 10_000, redirects: 3 }, init))).href;

const oauth = "/.well-known/oauth-authorization-server";
const openid = "/.well-known/openid-configuration";
const keysOf = (issuer: string, jwks_uri = "https://keys.test/jwks") => ({ issuer, jwks_uri });

it.each([
  ["OAuth metadata of an issuer with a path, first", "/one", [`${oauth}/one`]],
  ["OpenID metadata before the path", "/one", [`${oauth}/one`, `${openid}/one`]],
  ["OpenID metadata behind the path", "/one", [`${oauth}/one`, `${openid}/one`, `/one${openid}`]],
  ["OAuth metadata of an issuer without a path, first", "", [oauth]],
  ["OpenID metadata of an issuer without a path", "", [oauth, openid]],
])("finds the keys by %s", async (_what, path, order) => {
  const last = order.at(-1) ?? "";
  const { origin, asked } = await openServer((at) => ({ [last]: keysOf(`${at}${path}`) }));
  expect(await find(`${origin}${path}`)).toBe("https://keys.test/jwks");
  expect(asked).toEqual(order);
});

it("goes on to the next metadata where the first name no keys, and follows redirects within the origin", async () => {
  const { origin } = await openServer((at) => ({
    [oauth]: { issuer: at },
    [openid]: { status: 307, location: "/moved" },
    "/moved": keysOf(at),
  }));
  expect(await find(origin)).toBe("https://keys.test/jwks");
});

const refused: readonly (readonly [string, (origin: string) => Readonly<Record<string, Answer>>, string])[] = [
  [
    "metadata of another issuer",
    () => ({ [oauth]: keysOf("https://other.test") }),
    "has the metadata of https://other",
  ],
  ["an issuer that differs by a slash", (at) => ({ [oauth]: keysOf(`${at}/`) }), "has the metadata of"],
  ["keys over http from elsewhere", (at) => ({ [oauth]: keysOf(at, "http://keys.test/jwks") }), "over https"],
  ["keys of no address", (at) => ({ [oauth]: keysOf(at, "file:///etc/passwd") }), "over https"],
  [
    "a redirect to another origin",
    () => ({ [oauth]: { status: 302, location: "http://127.0.0.1:1/" } }),
    "redirects to",
  ],
  ["redirects without end", () => ({ [oauth]: { status: 302, location: oauth } }), "redirects"],
  ["metadata beyond the limit", (at) => ({ [oauth]: { ...keysOf(at), more: "x".repeat(20_000) } }), "more than 10000"],
  ["no JSON", () => ({ [oauth]: "<html>" }), "is no JSON"],
  ["JSON that is no metadata", () => ({ [oauth]: "[]" }), "has no metadata"],
  ["a server that fails", () => ({ [oauth]: { status: 503 } }), "answers with 503"],
  ["no metadata", () => ({}), "publishes no metadata"],
  ["metadata without keys", (at) => ({ [oauth]: { issuer: at } }), "publishes no metadata that name its keys"],
];
it.each(refused)("refuses %s, and asks nobody else after that", async (_what, answersOf, told) => {
  const { origin, asked } = await openServer(answersOf);
  await expect(find(origin)).rejects.toMatchObject({
    error: { code: "T0_OAUTH_DISCOVERY_FAILED", message: expect.stringContaining(told) },
  });
  const goesOn = told.startsWith("publishes");
  expect(asked.includes(openid)).toBe(goesOn);
});

it("refuses an issuer that nobody answers for", async () => {
  await expect(find("http://127.0.0.1:1")).rejects.toMatchObject({
    error: { code: "T0_OAUTH_DISCOVERY_FAILED", message: expect.stringMatching(/cannot be read: (connect|bad port)/) },
  });
});

it.each([
  ["https://auth.test", true],
  ["http://127.0.0.1:8080/a", true],
  ["http://localhost", true],
  ["http://[::1]:80", true],
  ["http://auth.test", false],
  ["http://127.0.0.1.evil.test", false],
  ["http://localhost.evil.test", false],
  ["ftp://127.0.0.1", false],
  ["auth.test", false],
])("takes %s for safe against readers between: %s", (address, safe) => {
  expect(isSecure(address)).toBe(safe);
});
