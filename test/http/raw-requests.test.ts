/**
 * Requests that a server must not read in two ways, or wait for without end: the right refusal or a closed connection.
 */
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { serveHttp } from "../../src/faces/http/index.ts";
import { held, intent, refusalOf } from "../gates/story.ts";
import { pathOf, submitPath } from "./edge-fixture.ts";
import { head, hear, openRawServer, type RawServer, statusesOf } from "./raw-socket.ts";

const json = "content-type: application/json";
const bearer = "authorization: Bearer own";
const body = JSON.stringify({ intent_hint: { intent_type: intent, inputs: {} } });
const length = `content-length: ${body.length}`;
const chunked = "transfer-encoding: chunked";
const post = `POST ${submitPath} HTTP/1.1`;
const smuggled = head("POST /v1/kernel/submit HTTP/1.1", ["host: inner", bearer, json, length]) + body;

/** The kernel serves as before, and holds so many workflows. */
async function expectSound({ edge, url }: RawServer, workflows = 0): Promise<void> {
  const headers = { authorization: "Bearer own" };
  expect((await fetch(`${url}/v1/kernel/gates`, { headers })).status).toBe(200);
  expect(await edge.t.kernel.workflows()).toHaveLength(workflows);
}

describe("a request that could be read in two ways", () => {
  const cases: readonly (readonly [string, (host: string) => string])[] = [
    ["a length and chunks", (host) => `${head(post, [host, bearer, json, length, chunked])}0\r\n\r\n${smuggled}`],
    ["chunks and a length", (host) => `${head(post, [host, bearer, json, chunked, length])}0\r\n\r\n${smuggled}`],
    ["two lengths", (host) => head(post, [host, bearer, json, length, "content-length: 2"]) + body],
    ["the same length twice", (host) => head(post, [host, bearer, json, length, length]) + body],
    ["a length of two", (host) => head(post, [host, bearer, json, `${length}, ${body.length}`]) + body],
    ["a signed length", (host) => head(post, [host, bearer, json, `content-length: +${body.length}`]) + body],
    ["an unknown encoding", (host) => head(post, [host, bearer, json, "transfer-encoding: gzip"]) + body],
    ["two encodings", (host) => `${head(post, [host, bearer, json, "transfer-encoding: gzip, chunked"])}0\r\n\r\n`],
    ["an encoding twice", (host) => `${head(post, [host, bearer, json, chunked, chunked])}0\r\n\r\n`],
    ["an odd encoding", (host) => `${head(post, [host, bearer, json, "transfer-encoding: xchunked"])}0\r\n\r\n`],
    ["a chunk size that is none", (host) => `${head(post, [host, bearer, json, chunked])}0x2\r\n{}\r\n0\r\n\r\n`],
    ["two hosts", (host) => head("GET /health HTTP/1.1", [host, "host: other"])],
    ["no host", () => head("GET /health HTTP/1.1", [bearer])],
    ["a host that is none", () => head("GET /health HTTP/1.1", ["host: a/b@c"])],
    ["two credentials", (host) => head("GET /v1/kernel/gates HTTP/1.1", [host, bearer, "authorization: Bearer admin"])],
    ["two types of body", (host) => head(post, [host, bearer, json, "content-type: text/plain", length]) + body],
    ["two origins", (host) => head("GET /health HTTP/1.1", [host, "origin: http://a", "origin: http://b"])],
    ["a folded header", (host) => head("GET /health HTTP/1.1", [host, "x-a: 1", " folded: 2"])],
    ["a space before the colon", (host) => head(post, [host, bearer, json, `content-length : ${body.length}`]) + body],
    ["a header without a name", (host) => head("GET /health HTTP/1.1", [host, ": 1"])],
    ["a bare carriage return", (host) => head("GET /health HTTP/1.1", [host, "x-a: 1\rx-b: 2"])],
    ["a zero byte", (host) => head("GET /health HTTP/1.1", [host, "x-a: 1\0"])],
    ["another host's address", (host) => head("GET http://other.test/health HTTP/1.1", [host])],
    ["another scheme's address", (host) => head("GET ftp://other.test/health HTTP/1.1", [host])],
    ["a target that is no path", (host) => head("GET health HTTP/1.1", [host])],
    ["a version that is none", (host) => head("GET /health HTTP/9.9", [host])],
    ["no request at all", () => "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"],
  ];

  it.each(cases)("[API-01] %s: refused, and nothing behind it is heard", async (_what, request) => {
    await using server = await openRawServer();
    const said = await server.say(request(`host: ${server.host}`), 2);
    expect(statusesOf(said)).toEqual([400]);
    expect(said).toMatch(/^connection: close/im);
    await expectSound(server);
  });

  it("an address of this very host is a path", async () => {
    await using server = await openRawServer();
    const said = await server.say(head(`GET ${server.url}/health HTTP/1.1`, [`host: ${server.host}`]));
    expect(statusesOf(said)).toEqual([200]);
  });

  it("is not one that sends its body in chunks, or two requests one behind the other", async () => {
    await using server = await openRawServer();
    const host = `host: ${server.host}`;
    const inChunks = `${head(post, [host, bearer, json, chunked])}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const said = await server.say(inChunks + head("GET /health HTTP/1.1", [host]), 2);
    expect(statusesOf(said)).toEqual([202, 200]);
    await expectSound(server, 1);
  });

  it.each(["CONNECT edge.test:80", "TRACE /v1/kernel/gates", "OPTIONS *", "BREW /v1/kernel/gates"])(
    "nor one that asks for what is not there: %s",
    async (first) => {
      await using server = await openRawServer();
      const said = await server.say(head(`${first} HTTP/1.1`, [`host: ${server.host}`, bearer, "connection: close"]));
      for (const status of statusesOf(said)) expect([400, 404, 405]).toContain(status);
      expect(said).not.toContain("Bearer");
      await expectSound(server);
    },
  );
});

describe("a path", () => {
  it.each([
    "/../v1/kernel/gates/../../../etc/passwd",
    "/v1/kernel/workflows/%2e%2e/%2e%2e/etc/passwd",
    "//v1/kernel/gates",
    "/v1//kernel/gates",
    "/v1/kernel/gates/",
    "/v1/kernel/gates%00",
    "/v1/kernel/workflows/ID%00",
    "/v1/kernel/workflows/ID%2foutcomes",
    "/v1/kernel/workflows/ID%2F..%2FID",
    "/v1/kernel/workflows/ID/..;/outcomes",
    "/v1/kernel/workflows/%",
    "/v1/kernel/workflows/%zz",
    "/v1/kernel/workflows/%ff%fe",
    "/v1/kernel/workflows/%c0%ae%c0%ae",
    "/v1/kernel/workflows/id",
    "/v1/kernel/workflows/wf_01KDVDNA0047C4FEZDQK8YZG0N' OR 1=1",
    "/v1/kernel/workflows/__proto__",
    "/v1/kernel/workflows/constructor/toString",
    "/V1/KERNEL/GATES",
    "/v1/kernel/stream/%2e%2e/events",
  ])("that is tricky is none: %s", async (path) => {
    await using server = await openRawServer();
    const { workflow_id } = await server.edge.t.run(intent);
    const target = path.replaceAll("ID", workflow_id).replaceAll(" ", "%20").replaceAll("'", "%27");
    const said = await server.say(head(`GET ${target} HTTP/1.1`, [`host: ${server.host}`, bearer]));
    expect(statusesOf(said)).toEqual([404]);
    expect(said).toContain("application/problem+json");
    await expectSound(server, 1);
  });

  it("with dots leads where a browser would go, and no further", async () => {
    await using server = await openRawServer();
    const said = await server.say(head("GET /v1/x/%2e%2e/kernel/gates HTTP/1.1", [`host: ${server.host}`]));
    expect(statusesOf(said)).toEqual([401]);
  });

  it.each([
    ["path", (host: string) => head(`GET /${"a".repeat(20_000)} HTTP/1.1`, [host])],
    ["header", (host: string) => head("GET /health HTTP/1.1", [host, `x-a: ${"a".repeat(20_000)}`])],
    ["list of headers", (host: string) => head("GET /health HTTP/1.1", [host, ...Array(9000).fill("x: y")])],
  ])("[API-01] a %s that is too long is refused with 431", async (_what, request) => {
    await using server = await openRawServer();
    const said = await server.say(request(`host: ${server.host}`));
    expect(statusesOf(said)).toEqual([431]);
    await expectSound(server);
  });

  it("another tenant's workflow, and one that never was, are answered the same at every address", async () => {
    await using server = await openRawServer();
    const { workflow_id } = await server.edge.t.run(intent);
    const never = `${workflow_id.slice(0, -1)}${workflow_id.endsWith("0") ? "1" : "0"}`;
    const strip = (text: string, id: string) => text.replaceAll(id, "ID").replace(/"(instance|trace_id)":"[^"]*"/g, "");
    const views = ["", "/outcomes", "/trace", "/explain", "/events"].map(
      (rest) => [pathOf("ID", rest), undefined] as const,
    );
    const commands = ["retry", "cancel"].map((name) => [pathOf("ID", `/${name}`), {}] as const);
    const streams = ["events", "progress"].map((name) => [`/v1/kernel/stream/ID/${name}`, undefined] as const);
    const gate = [pathOf("ID", "/gate"), { decision: "approve", gate_id: "gate-publish" }] as const;
    const seat = { type: "user", id: "bo" };
    const others = [
      [pathOf("ID", "/withdraw"), { gate_id: "gate-publish" }],
      [pathOf("ID", "/delegate"), { gate_id: "gate-publish", to: seat, expires_at: "2026-01-02T00:00:00Z" }],
      [pathOf("ID", "/retry"), { mode: "regenerate" }],
      ["/rpc", { jsonrpc: "2.0", id: "1", method: "kernel/outcomes", params: { workflow_id: "ID" } }],
    ] as const;
    for (const [path, sent] of [...views, ...commands, ...streams, ...others, gate]) {
      const ask = async (id: string) => {
        const said = sent === undefined ? undefined : JSON.stringify(sent).replace("ID", id);
        const response = await server.edge.fetch(path.replace("ID", id), { as: "foreign", body: said });
        const headers = [...response.headers].filter(([name]) => name !== "x-request-id");
        return { status: response.status, headers, text: strip(await response.text(), id) };
      };
      const [foreign, none] = [await ask(workflow_id), await ask(never)];
      expect(foreign).toEqual(none);
      expect([path, foreign.status]).toEqual([path, path === "/rpc" ? 200 : 404]);
    }
  });
});

describe("a body", () => {
  it("[API-01] that announces too much is refused at once, and one that sends too much while it arrives", async () => {
    await using server = await openRawServer({}, { limits: { maxBodyBytes: 1000 } });
    const host = `host: ${server.host}`;
    const announced = await server.say(head(post, [host, bearer, json, "content-length: 99999999"]));
    expect(statusesOf(announced)).toEqual([413]);
    const chunk = `400\r\n${" ".repeat(0x400)}\r\n`;
    const brought = await server.say(head(post, [host, bearer, json, chunked]) + chunk.repeat(4));
    expect(statusesOf(brought)).toEqual([413]);
    await expectSound(server);
  });

  it("that breaks off is nothing, and no failure of the server's", async () => {
    const errors: object[] = [];
    const log = () => undefined;
    const logger = { debug: log, info: log, warn: log, error: (detail: object) => void errors.push(detail) };
    const begun = held<Request>();
    const authenticate = (request: Request) => {
      begun.release(request);
      return null;
    };
    await using server = await openRawServer({}, { logger, authenticate });
    const socket = await server.open();
    socket.write(`${head(post, [`host: ${server.host}`, bearer, json, length])}${body.slice(0, 10)}`);
    const { signal } = await begun.promise;
    socket.destroy();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    await expectSound(server);
    expect(errors).toEqual([]);
  });
});

describe("a connection", () => {
  const closed = (socket: Socket) => hear(socket, Number.POSITIVE_INFINITY);

  it.each([
    ["says nothing", ""],
    ["says half a request line", "GET /hea"],
    ["never ends its headers", "GET /health HTTP/1.1\r\nhost: a\r\nx-a: 1\r\n"],
  ])("[API-01] that %s is closed, with 408 where it began", async (_what, bytes) => {
    await using server = await openRawServer({ headersTimeoutMs: 100 });
    const socket = await server.open();
    socket.write(bytes);
    expect([[], [408]]).toContainEqual(statusesOf(await closed(socket)));
    await expectSound(server);
  });

  it("that drips its headers is closed all the same", async () => {
    await using server = await openRawServer({ headersTimeoutMs: 100 });
    const socket = await server.open();
    socket.write("GET /health HTTP/1.1\r\nhost: a\r\n");
    let drops = 0;
    const drip = setInterval(() => {
      drops += 1;
      socket.write("x-a: 1\r\n");
    }, 10);
    await closed(socket);
    clearInterval(drip);
    expect(drops).toBeGreaterThan(1);
    await expectSound(server);
  });

  it("that never ends its body is closed with 408", async () => {
    await using server = await openRawServer({ requestTimeoutMs: 100 });
    const socket = await server.open();
    socket.write(`${head(post, [`host: ${server.host}`, bearer, json, length])}{`);
    expect([[], [408], [400]]).toContainEqual(statusesOf(await closed(socket)));
    await expectSound(server);
  });

  it("that was answered and says no more is closed", async () => {
    await using server = await openRawServer({ keepAliveTimeoutMs: 50 });
    const socket = await server.open();
    socket.write(head("GET /health HTTP/1.1", [`host: ${server.host}`]));
    expect(statusesOf(await closed(socket))).toEqual([200]);
  });

  it("whose other side has ended its half is answered and closed", async () => {
    await using server = await openRawServer();
    const socket = await server.open();
    socket.end(head("GET /health HTTP/1.1", [`host: ${server.host}`]));
    expect([[], [200]]).toContainEqual(statusesOf(await closed(socket)));
    await expectSound(server);
  });

  it("too many are closed; those that are there are served, and when they have gone others come in", async () => {
    await using server = await openRawServer({ maxConnections: 20 });
    const kept = await Promise.all(Array.from({ length: 20 }, () => server.open()));
    const more = await Promise.all(Array.from({ length: 300 }, () => server.open()));
    const said = await Promise.all(more.map(closed));
    expect(said.every((text) => text === "")).toBe(true);
    const [first] = kept as [Socket];
    first.write(head("GET /health HTTP/1.1", [`host: ${server.host}`]));
    expect(statusesOf(await hear(first))).toEqual([200]);
    const gone = kept.map(closed);
    for (const socket of kept) socket.destroy();
    await Promise.all(gone);
    // The server hears of it a little later.
    const isServed = () =>
      fetch(`${server.url}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    while (!(await isServed())) await new Promise<void>((resolve) => setImmediate(resolve));
    await expectSound(server);
  });

  it("that does not take its answer is cut off", async () => {
    const large = new Uint8Array(64_000_000);
    const cut = held<void>();
    const app = {
      fetch: async ({ signal }: Request) => {
        signal.addEventListener("abort", () => cut.release());
        return new Response(large);
      },
    };
    const big = await serveHttp(app, { port: 0, limits: { responseTimeoutMs: 100 } });
    const socket = connect(Number(new URL(big.url).port), "127.0.0.1");
    socket.on("error", () => undefined);
    socket.pause();
    socket.write(head("GET / HTTP/1.1", ["host: a"]));
    await cut.promise;
    expect(socket.bytesRead).toBeLessThan(large.length);
    socket.destroy();
    await big.close();
  });
});

it.each([{ maxConnections: 0 }, { headersTimeoutMs: -1 }, { requestTimeoutMs: 1.5 }])(
  "limits %j make no server",
  async (limits) => {
    const app = { fetch: async () => new Response(null) };
    expect((await refusalOf(serveHttp(app, { port: 0, limits }))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  },
);
