/** The edge, watched: what is told of a request, and who may read the measurements. */
import { describe, expect, it } from "vitest";
import type { HttpSeen } from "../../src/faces/http/index.ts";
import { createObserver } from "../../src/observers/telemetry/index.ts";
import { letRun } from "../../src/testing/index.ts";
import { codeOf, openEdge, pathOf, submitPath, tokens } from "../http/edge-fixture.ts";
import { createWorld, job, step, work } from "../recovery/shared-file.ts";
import { readSamples } from "./read-samples.ts";

const scraper = {
  token: "scraper",
  tenant_id: 1,
  principal: { type: "service", id: "prom", role: "user" },
  scopes: ["metrics:read"],
};
const capabilities = () => [job([step("s1", "T.Act")], [work(createWorld(), "T.Act")])];
const submission = { tenant_id: 1, intent_hint: { intent_type: "Test.Job", inputs: {} } };

describe("/metrics", () => {
  it("is there where the host has measurements, for credentials that name the scope and for nobody else", async () => {
    const observer = createObserver();
    const options = { tokens: [...tokens, scraper], metrics: observer.prometheus, observe: observer.http };
    await using edge = await openEdge({ telemetry: observer, capabilities: capabilities() }, options);
    await edge.post(submitPath, submission);
    for (const as of ["own", "admin", "reader", "foreign"]) {
      const refused = await edge.ask("/metrics", { as });
      expect([as, refused.status, codeOf(refused)]).toEqual([as, 403, "T5_AUTHZ_FORBIDDEN"]);
    }
    expect((await edge.ask("/metrics", { as: null })).status).toBe(401);
    const answer = await edge.fetch("/metrics", { as: "scraper" });
    expect(answer.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    const { sum } = readSamples(await answer.text());
    const route = { http_request_method: "POST", http_route: submitPath, http_response_status_code: "202" };
    expect(sum("http_server_request_duration_seconds_count", route)).toBe(1);
    expect(sum("http_server_request_duration_seconds_count", { http_route: "/metrics" })).toBe(5);
    expect((await edge.ask("/v1/kernel/workflows", { as: "scraper" })).status).toBe(403);
  });

  it("is not there where the host has none", async () => {
    await using edge = await openEdge({}, { tokens: [...tokens, scraper] });
    expect((await edge.ask("/metrics", { as: "scraper" })).status).toBe(404);
  });
});

describe("what is told of a request", () => {
  it("is the template of its route, how it was answered and who asked; never the address", async () => {
    const seen: HttpSeen[] = [];
    await using edge = await openEdge(
      { capabilities: capabilities() },
      { observe: (request) => void seen.push(request) },
    );
    const { body } = await edge.post<{ workflow_id: string }>(submitPath, submission);
    await edge.ask(`${pathOf(body.workflow_id)}?SECRET=1`);
    await edge.ask("/no/such/SECRET", { as: null });
    await edge.ask("/no/such/SECRET");
    await edge.ask("/health", { as: null });
    await edge.ask("/v1/kernel/workflows", { method: "SECRET" });
    expect(
      seen.map(({ method, route, status, caller }) => [method, route, status, caller?.principal.id ?? null]),
    ).toEqual([
      ["POST", submitPath, 202, 1],
      ["GET", "/v1/kernel/workflows/:id", 400, 1],
      ["GET", "unmatched", 401, null],
      ["GET", "unmatched", 404, 1],
      ["GET", "/health", 200, null],
      ["_OTHER", "/v1/kernel/workflows", 405, 1],
    ]);
    expect(JSON.stringify(seen)).not.toContain("SECRET");
  });

  it("goes nowhere without an observer, and one that throws harms no answer", async () => {
    const observe = () => {
      throw new Error("broken");
    };
    await using edge = await openEdge({}, { observe });
    expect((await edge.ask("/health")).status).toBe(200);
  });

  it("an observer, a logger and a telemetry that fail later harm neither the run nor the process", async () => {
    const unheard: unknown[] = [];
    const hear = (reason: unknown) => void unheard.push(reason);
    process.on("unhandledRejection", hear);
    const fail = async () => {
      throw new Error("the collector is away");
    };
    const logger = { debug: fail, info: fail, warn: fail, error: fail };
    const observer = createObserver({ logger });
    for (const telemetry of [{ mark: fail, committed: fail }, observer]) {
      const seen = async (request: HttpSeen) => {
        observer.http(request);
        await fail();
      };
      await using edge = await openEdge({ telemetry, logger, capabilities: capabilities() }, { observe: seen, logger });
      expect((await edge.post(submitPath, submission)).status).toBe(202);
      expect((await edge.post(submitPath, { tenant_id: 1, intent_hint: { intent_type: "No.Such" } })).status).toBe(400);
      await letRun();
    }
    process.off("unhandledRejection", hear);
    expect(unheard).toEqual([]);
    expect(await observer.prometheus()).toMatch(/countersign_telemetry_failures_total [1-9]/);
  });
});
