/**
 * The users of a guard: several tokens of a file, and users whom a trusted proxy names in a header. The guard is a real
 * process; the proxy is one of another loopback address.
 */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { runHere, runProcess } from "../cli/command-line.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { call, textOf } from "./guard-fixture.ts";
import { hostileServer, startGuard } from "./start-guard.ts";

const index = new URL("../../src/index.ts", import.meta.url).href;
const hostText = `import { defineHost } from "${index}";
const limits = [{ scope: "principal", window: "total", invocations: 1 }];
export const host = defineHost({ budgets: { limits } });
`;
const tokens = `tokens:
  - { token: token-of-lister, principal: { id: lister } }
  - { token: token-of-ann, principal: { id: ann } }
  - { token: token-of-bob, principal: { type: agent, id: bob } }
  - { token: token-of-sam, principal: { id: sam, role: support } }
  - { token: token-of-eve, principal: { id: eve }, tenant_id: other }
`;
const proxyAddress = "127.0.0.2";
const header = "X-Forwarded-User";

async function start(...options: readonly string[]) {
  const made = makeTempFolder();
  const folder = made.path;
  const looks = { tools: [{ name: "act", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }] };
  const { server, called } = hostileServer(folder, looks);
  writeFileSync(join(folder, "host.ts"), hostText);
  writeFileSync(join(folder, "users.yaml"), tokens);
  const guard = await startGuard({ folder, face: "http", wait: 5, server, options: ["--host", "host.ts", ...options] });
  const stop = async (): Promise<void> => {
    await guard.stop();
    made[Symbol.dispose]();
  };
  return { guard, folder, called, stop };
}

async function open(...options: readonly string[]) {
  const started = await start(...options);
  onTestFinished(started.stop);
  return started;
}

/** Connects a client with headers of its own. */
async function connect(url: string, headers: Readonly<Record<string, string>>): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

let shared: ReturnType<typeof start> | undefined;
/** One guard for requests that change nothing. */
function trustingGuard() {
  shared ??= start(...trusting);
  return shared;
}
afterAll(async () => (await shared)?.stop());

/** Asks the guard once, from an address of this machine; every value of a header is a header of its own. */
async function ask(url: string, headers: object, localAddress = "127.0.0.1", path = "/mcp") {
  const usual = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const method = path === "/mcp" ? "POST" : "GET";
  const sent = request(`${url}${path}`, { method, localAddress, headers: { ...usual, ...headers } });
  sent.end(method === "POST" ? JSON.stringify(hello) : undefined);
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const body = await text(answer);
  const isProblem = answer.headers["content-type"] === "application/problem+json";
  const { extensions } = isProblem ? (JSON.parse(body) as { extensions: { code: string } }) : {};
  return { status: answer.statusCode, code: extensions?.code };
}

const hello = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};

/** A proxy that signs users in by their bearer, and names them to the guard in the header, as such proxies do. */
async function openProxy(guard: string): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const user = incoming.headers.authorization?.replace("Bearer ", "") ?? "";
    const { authorization: _1, [header.toLowerCase()]: _2, host: _3, ...headers } = incoming.headers;
    const { method = "GET", url = "/" } = incoming;
    const onward = request(`${guard}${url}`, {
      method,
      localAddress: proxyAddress,
      headers: { ...headers, [header]: user },
    });
    onward.on("response", (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Calls twice as each of two users: the budget of each is one call, beside the record of new tools. */
async function callAs(open: (user: string) => Promise<Client>, called: () => readonly string[]): Promise<void> {
  await (await open("lister")).listTools();
  const [ann, bob] = [await open("ann"), await open("bob")];
  expect(textOf(await call(ann, "act", { n: 1 }))).toBe("called act 1");
  expect(textOf(await call(ann, "act", { n: 2 }))).toContain("T5_BUDGET_EXHAUSTED: the principal");
  expect(textOf(await call(bob, "act", { n: 3 }))).toBe("called act 3");
  expect(called()).toEqual(["act 1", "act 3"]);
}

it("knows each token of a file as the principal, role and tenant that it names, with a budget of its own", async () => {
  const { guard, folder, called } = await open("--tokens", "users.yaml");
  await callAs((user) => connect(guard.url, bearer(`token-of-${user}`)), called);
  await (await connect(guard.url, bearer("token-of-eve"))).listTools();
  const sam = await connect(guard.url, bearer("token-of-sam"));
  expect(textOf(await call(sam, "act", {}))).toContain("T5_AUTHZ_FORBIDDEN: role support lacks");
  const refused = await ask(guard.url, bearer("token-of-nobody"));
  expect([refused.status, refused.code]).toEqual([401, "T5_AUTHN_FAILED"]);
  await guard.stop();
  const requestersIn = async (tenant: string): Promise<readonly string[]> => {
    const { out } = await runProcess(folder, "list", "--db", "guard.db", "--tenant", tenant, "--json");
    const { workflows } = JSON.parse(out) as {
      readonly workflows: readonly { principal: { type: string; id: string } }[];
    };
    return workflows.map(({ principal: { type, id } }) => `${type} ${id}`).sort();
  };
  expect(await requestersIn("1")).toEqual(["agent bob", "user ann", "user ann", "user lister"]);
  expect(await requestersIn("other")).toEqual(["user eve"]);
});

const trusting = ["--trust-header", header, "--trusted-proxy", proxyAddress];

it("knows the users whom a trusted proxy names, each with a budget of its own", async () => {
  const { guard, called } = await open(...trusting);
  const proxy = await openProxy(guard.url);
  await callAs((user) => connect(proxy, bearer(user)), called);
});

const spoofed = "T0_HTTP_PROXY_UNTRUSTED";
const unread = "T0_HTTP_PROXY_HEADER";
const here = "127.0.0.1";

it.each<readonly [string, string, readonly string[], number, string | undefined]>([
  ["a user whom the proxy names", proxyAddress, ["ann"], 200, undefined],
  ["nobody", proxyAddress, [], 401, "T5_AUTHN_FAILED"],
  ["a user from another address", here, ["ann"], 403, spoofed],
  ["an empty name from another address", here, [""], 403, spoofed],
  ["an empty name", proxyAddress, [""], 400, unread],
  ["a space as a name", proxyAddress, [" "], 400, unread],
  ["two headers", proxyAddress, ["ann", "bob"], 400, unread],
  ["the same header twice", proxyAddress, ["ann", "ann"], 400, unread],
  ["two names", proxyAddress, ["ann, bob"], 400, unread],
  ["two names without a space", proxyAddress, ["ann,bob"], 400, unread],
  ["a name that is no ASCII", proxyAddress, ["\u00e4nn"], 400, unread],
  ["a name without end", proxyAddress, ["a".repeat(257)], 400, unread],
])("answers to %s", async (_what, localAddress, names, status, code) => {
  const { guard, called } = await trustingGuard();
  const told = await ask(guard.url, names.length === 0 ? {} : { [header.toLowerCase()]: names }, localAddress);
  expect([told.status, told.code]).toEqual([status, code]);
  expect(called()).toEqual([]);
});

it("reads the header before a token beside it, and refuses both from another address", async () => {
  const { guard } = await trustingGuard();
  const both = { ...bearer("a-client-of-this-test"), [header]: "ann" };
  expect(await ask(guard.url, both, here)).toMatchObject({ status: 403, code: spoofed });
  expect(await ask(guard.url, bearer("a-client-of-this-test"), here)).toMatchObject({ status: 200 });
  expect(await ask(guard.url, both, proxyAddress)).toMatchObject({ status: 200 });
});

it("lets a user of the proxy reach the guard's address, and no other address of the app", async () => {
  const { guard } = await trustingGuard();
  const told = await ask(guard.url, { [header]: "ann" }, proxyAddress, "/v1/kernel/workflows");
  expect([told.status, told.code]).toEqual([403, "T5_AUTHZ_FORBIDDEN"]);
});

const proxied = ["--trust-header", header, "--trusted-proxy", here];
it.each([
  [["--trust-header", header], "go together"],
  [["--trusted-proxy", here], "go together"],
  [proxied, "give --listen"],
  [["--tokens", "users.yaml"], "give --listen"],
  [["--trust-header", "Authorization"], "header of its own"],
  [["--trust-header", "X Y"], "header of its own"],
  [["--trusted-proxy", "proxy.test"], "an address, or a network"],
  [["--trusted-proxy", "10.0.0.0/33"], "an address, or a network"],
])("refuses %j", async (options, told) => {
  const { code, err } = await runHere("guard", ...options, "--upstream", "http://127.0.0.1:1/mcp");
  expect([code, err]).toEqual([2, expect.stringContaining(told)]);
});

const one = (more: string): string => `tokens: [{ token: secret-1, principal: { id: ann }${more} }]`;
it.each([
  ["no YAML", "tokens: [", "at line 1"],
  ["no token", "tokens: []", "tokens"],
  ["an unknown key", one(", scopes: [all]"), "scopes"],
  ["an unknown key of the file", `users: []\n${one("")}`, "users"],
  ["no principal", "tokens: [{ token: secret-1 }]", "principal"],
  ["an unknown role", "tokens: [{ token: secret-1, principal: { id: ann, role: boss } }]", "the role boss is unknown"],
  ["a token that no header carries", "tokens: [{ token: 'secret 1', principal: { id: ann } }]", "has letters"],
  ["a token twice", `tokens: [${"{ token: secret-1, principal: { id: ann } }, ".repeat(2)}]`, "the same token"],
  ["a key twice", `${one("")}\ntokens: []`, "unique"],
])("refuses a file of tokens with %s, and shows no token", async (_what, text, told) => {
  using folder = makeTempFolder();
  const file = join(folder.path, "users.yaml");
  writeFileSync(file, text);
  const options = ["--listen", "0", "--tokens", file, "--upstream", "http://127.0.0.1:1/mcp"];
  const { code, out, err } = await runHere("guard", ...options);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toContain("T0_CLI_FILE_INVALID");
  expect(err).toContain(told);
  expect(err).not.toContain("secret");
});
