/** `countersign serve` logs to stderr and measures; stdout says where it listens and nothing else. */
import { describe, expect, it } from "vitest";
import { serveHere } from "../cli/serve-here.ts";
import { readSamples } from "./read-samples.ts";

type Line = Readonly<Record<string, unknown>>;

async function serve(...args: readonly string[]) {
  const server = await serveHere("own", ...args);
  return {
    ...server,
    lines: () => server.err.map((line) => JSON.parse(line) as Line),
    get: (path: string, token = "own") =>
      fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${token}` } }),
  };
}

describe("countersign serve", () => {
  it("behind a proxy signs browsers in, and speaks MCP, at the address that it is told", async () => {
    const server = await serve("--origin", "https://api.example");
    const link = new URL(server.login);
    expect(link.origin).toBe("https://api.example");
    const enter = (origin: string) =>
      fetch(`${server.url}/login`, {
        method: "POST",
        body: link.searchParams,
        redirect: "manual",
        headers: { origin },
      });
    expect((await enter("http://evil.test")).status).toBe(403);
    const entered = await enter("https://api.example");
    expect([entered.status, entered.headers.get("set-cookie")]).toEqual([
      303,
      expect.stringMatching(/^__Host-.*; Secure$/),
    ]);
    const mcp = async (origin: string) => {
      const headers = { authorization: "Bearer own", origin, accept: "application/json, text/event-stream" };
      const clientInfo = { name: "a page", version: "1" };
      const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
      return (
        await fetch(`${server.url}/mcp`, {
          method: "POST",
          body,
          headers: { ...headers, "content-type": "application/json" },
        })
      ).status;
    };
    expect([await mcp("https://api.example"), await mcp("http://evil.test")]).toEqual([200, 403]);
    await server.stop();
  });

  it("writes a line a request to stderr, as JSON, and none of them to stdout", async () => {
    const server = await serve();
    await server.get("/v1/kernel/workflows?text=SECRET");
    await server.get("/v1/kernel/gates", "SECRET");
    await server.stop();
    expect(server.out).toHaveLength(1);
    const told = server.lines().map(({ method, route, status, principal_id }) => [method, route, status, principal_id]);
    expect(told).toEqual([
      ["GET", "/v1/kernel/workflows", 200, "local"],
      ["GET", "/v1/kernel/gates", 401, null],
    ]);
    for (const line of server.lines())
      expect(line).toMatchObject({ level: "info", request_id: expect.any(String), ms: expect.any(Number) });
    expect(JSON.stringify(server.lines())).not.toContain("SECRET");
  });

  it("shows its measurements to the token it was given for that, and to no other", async () => {
    const server = await serve("--metrics-token", "scrape", "--log-level", "warn");
    expect((await server.get("/metrics")).status).toBe(403);
    expect((await server.get("/v1/kernel/workflows", "scrape")).status).toBe(403);
    const answer = await server.get("/metrics", "scrape");
    const { all, sum } = readSamples(await answer.text());
    await server.stop();
    expect(sum("http_server_request_duration_seconds_count", { http_response_status_code: "403" })).toBe(2);
    expect(all.filter((s) => s.name === "countersign_workflows_awake").map((s) => s.value)).toEqual([0]);
    expect(server.lines()).toEqual([]);
  });

  it("has no /metrics without such a token", async () => {
    const server = await serve("--log-level", "silent");
    expect((await server.get("/metrics")).status).toBe(404);
    await server.stop();
  });
});
