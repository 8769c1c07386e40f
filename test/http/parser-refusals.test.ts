/** What Node's parser refuses before there is a request is told as all refusals are: as a problem document. */
import { describe, expect, it } from "vitest";
import type { ProblemDetails } from "../../src/index.ts";
import { head, hear, openRawServer, type RawServer } from "./raw-socket.ts";

interface Heard {
  readonly status: number;
  readonly head: string;
  readonly problem: ProblemDetails;
}

async function refusalOf(server: RawServer, bytes: string | Uint8Array): Promise<Heard> {
  const socket = await server.open();
  socket.write(bytes);
  const said = await hear(socket, Number.POSITIVE_INFINITY);
  const [first = "", body = "{}"] = said.split("\r\n\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
  return { status, head: first.toLowerCase(), problem: JSON.parse(body) as ProblemDetails };
}

describe("a refusal by the parser", () => {
  const cases: readonly (readonly [string, number, string, (host: string) => string])[] = [
    ["a request line that is none", 400, "T0_HTTP_REQUEST_MALFORMED", () => "HELLO\r\n\r\n"],
    ["a version that is none", 400, "T0_HTTP_REQUEST_MALFORMED", (host) => head("GET / HTTP/9.9", [host])],
    ["a handshake of TLS", 400, "T0_HTTP_REQUEST_MALFORMED", () => "\x16\x03\x01\x02\x00\x01\r\n\r\n"],
    [
      "a length and chunks",
      400,
      "T0_HTTP_REQUEST_MALFORMED",
      (host) => `${head("POST /rpc HTTP/1.1", [host, "content-length: 2", "transfer-encoding: chunked"])}{}`,
    ],
    ["no host", 400, "T0_HTTP_REQUEST_MALFORMED", () => head("GET /health HTTP/1.1", [])],
    ["a tunnel", 400, "T0_HTTP_REQUEST_MALFORMED", () => head("CONNECT a.test:80 HTTP/1.1", ["host: a.test:80"])],
    [
      "too many headers",
      431,
      "T0_HTTP_HEADERS_TOO_LARGE",
      (host) => head("GET /health HTTP/1.1", [host, `x-a: ${"a".repeat(20_000)}`]),
    ],
    [
      "an address too long",
      431,
      "T0_HTTP_HEADERS_TOO_LARGE",
      (host) => head(`GET /${"a".repeat(20_000)} HTTP/1.1`, [host]),
    ],
  ];
  it.each(cases)(
    "[API-07] of %s is a problem with a code, a next step and the request's id",
    async (_what, status, code, bytes) => {
      await using server = await openRawServer();
      const heard = await refusalOf(server, bytes(`host: ${server.host}`));
      expect([heard.status, heard.problem.status, heard.problem.extensions.code]).toEqual([status, status, code]);
      expect(heard.problem.extensions.next).toMatch(/\w/);
      expect(heard.head).toContain("content-type: application/problem+json");
      expect(heard.head).toContain(`x-request-id: ${heard.problem.instance}`.toLowerCase());
      expect(heard.head).toContain("connection: close");
      expect((await fetch(`${server.url}/health`)).status).toBe(200);
    },
  );

  it.each([
    ["headers that do not end", "GET /health HTTP/1.1\r\nhost: a\r\n"],
    [
      "a body that does not end",
      [
        "POST /rpc HTTP/1.1\r\nhost: a\r\nauthorization: Bearer own",
        "content-type: application/json\r\ncontent-length: 10\r\n\r\n{",
      ].join("\r\n"),
    ],
  ])("[API-07] of %s in time is a problem with 408", async (_what, bytes) => {
    await using server = await openRawServer({ headersTimeoutMs: 100, requestTimeoutMs: 150 });
    const { status, problem } = await refusalOf(server, bytes);
    expect([status, problem.extensions.code]).toEqual([408, "T0_HTTP_REQUEST_TIMEOUT"]);
  });

  it("[API-07] is not written into an answer that has begun: the connection is closed", async () => {
    await using server = await openRawServer({}, { heartbeatMs: 1 });
    const socket = await server.open();
    socket.write(head("GET /v1/kernel/stream/feed HTTP/1.1", [`host: ${server.host}`, "authorization: Bearer own"]));
    await new Promise((resolve) => socket.once("data", resolve));
    socket.write("\0\0 this is no request\r\n\r\n");
    expect(await hear(socket, Number.POSITIVE_INFINITY)).not.toContain("HTTP/1.1 4");
  });

  it("[API-07] an expectation that nobody knows is passed over", async () => {
    await using server = await openRawServer();
    const said = await server.say(head("GET /health HTTP/1.1", [`host: ${server.host}`, "expect: wonders"]));
    expect(said).toMatch(/^HTTP\/1\.1 200 /);
  });
});
