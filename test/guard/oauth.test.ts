/** A guard as a resource of OAuth: a real issuer on this machine, and budgets of each user whom its tokens name. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { expect, it, onTestFinished } from "vitest";
import { createResourceServer } from "../../src/faces/http/resource-server.ts";
import { runHere } from "../cli/command-line.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { call, textOf } from "./guard-fixture.ts";
import { hostileServer, startGuard } from "./start-guard.ts";

const audience = "https://guard.test/mcp";
const index = new URL("../../src/index.ts", import.meta.url).href;
const hostText = `import { defineHost } from "${index}";
const limits = [{ scope: "principal", window: "total", invocations: 1 }];
export const host = defineHost({ budgets: { limits } });
`;

async function openIssuer() {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256" }] };
  const server = createServer(({ url }, answer) => {
    const metadata = { issuer, jwks_uri: `${issuer}/keys` };
    const found = { "/.well-known/oauth-authorization-server/team": metadata, "/team/keys": keys }[url ?? ""];
    answer.writeHead(found === undefined ? 404 : 200).end(JSON.stringify(found));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/team`;
  const sign = (sub: string, claims: object = {}, key = privateKey): Promise<string> => {
    const token = new SignJWT({ scope: "openid mcp:tools", iss: issuer, aud: audience, sub, ...claims });
    if (!("exp" in claims)) token.setExpirationTime("5m");
    return token.setProtectedHeader({ alg: "ES256", kid: "k1" }).sign(key);
  };
  return { issuer, sign };
}

interface Asking {
  readonly query?: string;
  readonly scheme?: string;
  readonly "mcp-session-id"?: string;
}

async function prepare(readOnlyHint = true) {
  const made = makeTempFolder();
  onTestFinished(() => made[Symbol.dispose]());
  const folder = made.path;
  const looks = { tools: [{ name: "act", inputSchema: { type: "object" }, annotations: { readOnlyHint } }] };
  const { server, called } = hostileServer(folder, looks);
  const { issuer, sign } = await openIssuer();
  writeFileSync(join(folder, "host.ts"), hostText);
  const keys = ["--issuer", issuer, "--audience", audience, "--host", "host.ts"];
  const guard = await startGuard({ folder, face: "http", wait: 5, server, options: keys });
  onTestFinished(guard.stop);
  const ask = (token?: string, { query = "", scheme = "Bearer", ...headers } = {} as Asking) =>
    fetch(`${guard.url}/mcp${query}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(token !== undefined && { authorization: `${scheme} ${token}` }),
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    });
  const connect = async (token: string): Promise<Client> => {
    const client = new Client({ name: "test", version: "1" });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${guard.url}/mcp`), { requestInit }));
    onTestFinished(() => client.close());
    return client;
  };
  return { guard, issuer, sign, ask, connect, called };
}

it("names its metadata to clients without a token, and refuses tokens that are not for it", async () => {
  const { guard, issuer, sign, ask } = await prepare();
  const metadata = "https://guard.test/.well-known/oauth-protected-resource/mcp";
  const named = `resource_metadata="${metadata}", scope="mcp:tools"`;
  for (const path of ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"])
    expect(await (await fetch(`${guard.url}${path}`)).json()).toEqual({
      resource: audience,
      authorization_servers: [issuer],
      scopes_supported: ["mcp:tools"],
      bearer_methods_supported: ["header"],
    });
  const refusedBy = async (token?: string, asking: Asking = {}) => {
    const answer = await ask(token, asking);
    return [answer.status, answer.headers.get("www-authenticate")];
  };
  expect(await refusedBy()).toEqual([401, `Bearer ${named}`]);
  const { privateKey: strange } = await generateKeyPair("ES256");
  const bad = [
    "no-token",
    await sign("ann", {}, strange),
    await sign("ann", { aud: "https://other.test/mcp" }),
    await sign("ann", { iss: "https://other.test" }),
    await sign("ann", { exp: 1 }),
    await sign("ann", { nbf: 4_000_000_000 }),
    await sign("", {}),
  ];
  for (const token of bad) expect(await refusedBy(token)).toEqual([401, `Bearer error="invalid_token", ${named}`]);
  // A client that brings no bearer did not know that it needs one: no error is named.
  const good = await sign("ann");
  expect(await refusedBy(good, { scheme: "Basic" })).toEqual([401, `Bearer ${named}`]);
  expect(await refusedBy(undefined, { query: `?access_token=${good}` })).toEqual([401, `Bearer ${named}`]);
  const narrow = await sign("ann", { scope: "openid" });
  expect(await refusedBy(narrow)).toEqual([403, `Bearer error="insufficient_scope", ${named}`]);
});

it.each([
  ["https://guard.test", "https://guard.test/.well-known/oauth-protected-resource"],
  ["https://guard.test/", "https://guard.test/.well-known/oauth-protected-resource"],
  ["https://guard.test/files/mcp", "https://guard.test/.well-known/oauth-protected-resource/files/mcp"],
])(
  "takes tokens for %s to the character, and names its metadata in the 401 of its path",
  async (resource, metadata) => {
    const callerOf = (id: string) => ({ tenant_id: 1, principal: { type: "user", id, role: "user" } });
    const at = { issuer: "https://a.test", jwks: new URL("https://a.test/jwks"), scope: "s", path: "/mcp", callerOf };
    const { jwt, callbacks, challenge } = createResourceServer({ ...at, resource });
    expect(jwt.audience).toBe(resource);
    const refuse = challenge(async () => new Response(null, { status: 401 }));
    const told = await refuse(new Request("http://127.0.0.1:1/mcp"));
    expect(told.headers.get("www-authenticate")).toBe(`Bearer resource_metadata="${metadata}", scope="s"`);
    const answer = await callbacks[new URL(metadata).pathname]?.(new Request(metadata));
    expect(await answer?.json()).toMatchObject({ resource, authorization_servers: ["https://a.test"] });
    const elsewhere = await refuse(new Request("http://127.0.0.1:1/v1/session"));
    expect(elsewhere.headers.has("www-authenticate")).toBe(false);
  },
);

it("answers at the host that its tokens name, and at no other one that is not of this machine", async () => {
  const { guard, sign } = await prepare();
  const statusAt = async (host: string): Promise<number | undefined> => {
    const accept = "application/json, text/event-stream";
    const headers = { host, accept, "content-type": "application/json", authorization: `Bearer ${await sign("ann")}` };
    const sent = request(`${guard.url}/mcp`, { method: "POST", headers });
    sent.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }));
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };
  expect(await statusAt("evil.test")).toBe(403);
  expect(await statusAt("guard.test")).toBe(await statusAt("127.0.0.1"));
});

it("asks for the token in each request, also within a session", async () => {
  const { guard, sign } = await prepare();
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const authorization = `Bearer ${await sign("ann")}`;
  const begun = await fetch(`${guard.url}/mcp`, { method: "POST", headers: { ...headers, authorization }, body });
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? expect.fail() };
  for (const method of ["POST", "GET", "DELETE"]) {
    const init = { method, headers: { ...headers, ...session }, ...(method === "POST" && { body }) };
    expect([method, (await fetch(`${guard.url}/mcp`, init)).status]).toEqual([method, 401]);
  }
});

it("ends with the next step where nobody publishes the keys of the issuer", async () => {
  const options = ["--issuer", "http://127.0.0.1:1", "--listen", "0", "--audience", audience];
  const { code, err } = await runHere("guard", ...options, "--upstream", "http://127.0.0.1:1/mcp");
  expect([code, err]).toEqual([1, expect.stringContaining("T0_OAUTH_DISCOVERY_FAILED")]);
  expect(err).toContain("--jwks");
});

it("counts the calls of each user by themselves, and refuses the one whose budget is spent", async () => {
  const { sign, connect, called } = await prepare();
  // The record of the tools that are seen for the first time counts too, for the user who lists them.
  await (await connect(await sign("first"))).listTools();
  const [ann, bob] = [await connect(await sign("ann")), await connect(await sign("bob"))];
  expect(textOf(await call(ann, "act", { n: 1 }))).toBe("called act 1");
  expect(textOf(await call(ann, "act", { n: 2 }))).toContain("T5_BUDGET_EXHAUSTED: the principal");
  expect(textOf(await call(bob, "act", { n: 3 }))).toBe("called act 3");
  expect(called()).toEqual(["act 1", "act 3"]);
});

interface Operation {
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

it("lets the token of a client reach the guard's address, and no other address of the app", async () => {
  const { guard, sign, connect, called } = await prepare(false);
  const [ann, bob] = [await connect(await sign("ann")), await sign("bob")];
  const waiting = call(ann, "act").catch(() => null);
  await expect.poll(async () => (await guard.gates()).length, { timeout: 10_000 }).toBe(1);
  const [{ workflow_id, gate_id } = expect.fail()] = await guard.gates();
  const headers = { authorization: `Bearer ${bob}`, "content-type": "application/json" };
  const { paths } = (await (await fetch(`${guard.url}/openapi.json`)).json()) as Document;
  const scoped = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { security }]) => security.some((way) => Object.values(way).flat().length > 0))
      .map(([method]) => [method.toUpperCase(), path.replace("{id}", workflow_id).replace("{gate_id}", gate_id)]),
  );
  expect(scoped.length).toBeGreaterThan(40);
  for (const [method = "", path = ""] of scoped) {
    const init = { method, headers, ...(method === "POST" && { body: "{}" }) };
    const answer = await fetch(`${guard.url}${path.replaceAll(/\{\w+\}/g, "x")}`, init);
    expect([method, path, answer.status]).toEqual([method, path, 403]);
    expect(await answer.text()).toContain("T5_AUTHZ_FORBIDDEN");
  }
  const params = { workflow_id, gate_id, decision: "approve" };
  for (const method of ["kernel/workflow", "kernel/gate", "kernel/submit"]) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const answer = await fetch(`${guard.url}/rpc`, { method: "POST", headers, body });
    expect([method, await answer.text()]).toEqual([method, expect.stringContaining("T5_AUTHZ_FORBIDDEN")]);
  }
  expect(await guard.gates()).toHaveLength(1);
  expect(called()).toEqual([]);
  await waiting;
});

it.each([
  [["--jwks", "https://a.test/jwks"], "give --issuer"],
  [["--issuer", "http://a.test"], "an address of https"],
  [["--issuer", "https://a.test", "--jwks", "http://a.test/jwks"], "an address of https"],
  [["--issuer", "https://a.test?x"], "no query"],
  [["--issuer", "https://a.test", "--jwks", "https://a.test/jwks"], "give --listen"],
  [["--issuer", "https://a.test", "--jwks", "https://a.test/jwks", "--listen", "0"], "give --audience"],
  [["--scope", "a b"], "It is one scope"],
])("refuses %j", async (options, told) => {
  const { code, err } = await runHere("guard", ...options, "--upstream", "http://127.0.0.1:1/mcp");
  expect([code, err]).toEqual([2, expect.stringContaining(told)]);
});
