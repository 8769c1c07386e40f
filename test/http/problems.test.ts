/** Problem documents: what is wrong where, and no invitation to send the same again where that cannot help. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { fieldErrorsOf } from "../../src/contract/field-error.ts";
import { nearestOf } from "../../src/contract/known-keys.ts";
import { intent, publishing } from "../gates/story.ts";
import { type Asked, openEdge, pathOf, submitPath } from "./edge-fixture.ts";

interface Problem {
  readonly retry_after?: number;
  readonly errors?: readonly { readonly pointer?: string; readonly detail: string }[];
  readonly extensions: { readonly code: string; readonly retry_eligible: boolean };
}

describe("errors of a request's parts", () => {
  it("[API-01] are told by JSON pointer, with a key that nobody knows named itself", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    const told = await edge.post<Problem>(submitPath, {
      intent_hint: { intent_type: 7 },
      scope: { scope_type: "repository" },
      source: "x",
    });
    expect(told.status).toBe(400);
    const pointers = told.body.errors?.map(({ pointer }) => pointer) ?? [];
    expect(pointers).toEqual(expect.arrayContaining(["#/intent_hint/intent_type", "#/scope/scope_id"]));
    for (const { detail } of told.body.errors ?? []) expect(detail).not.toBe("");
  });

  it("[API-07] of a job, of a command and of JSON-RPC are told alike", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    const { workflow_id: id } = await edge.t.run(intent);
    const job = await edge.post<Problem>("/v1/kernel/jobs", { query: "q", depth: "deep" });
    expect(job.body.errors).toMatchObject([{ pointer: "#/depth" }]);
    const retry = await edge.post<Problem>(pathOf(id, "/retry"), { mode: "again" });
    expect(retry.body.errors).toMatchObject([{ pointer: "#/mode" }]);
    const rpc = { jsonrpc: "2.0", id: 1, method: "kernel/retry", params: { workflow_id: id, mode: "again" } };
    expect((await edge.post("/rpc", rpc)).body).toMatchObject({ error: { data: { errors: [{ pointer: "#/mode" }] } } });
  });

  it("[API-01] of a capability's inputs point into the request", async () => {
    const { capability } = publishing();
    const strict = { ...capability, input: z.strictObject({ "a/b~c": z.int() }) };
    await using edge = await openEdge({ capabilities: [strict] });
    const inputs = { "a/b~c": "one", more: 1 };
    const told = await edge.post<Problem>(submitPath, { intent_hint: { intent_type: intent, inputs } });
    expect(told.body.errors?.map(({ pointer }) => pointer)).toEqual([
      "#/intent_hint/inputs/a~1b~0c",
      "#/intent_hint/inputs/more",
    ]);
  });

  it("[API-01] of a choice are those of the alternative that fits best, and no more than 32 are told", () => {
    const choice = z.union([z.string(), z.object({ kind: z.literal("a"), size: z.object({ high: z.int() }) })]);
    const wrong = choice.safeParse({ kind: "a", size: { high: "x" } }).error as z.ZodError;
    expect(fieldErrorsOf(wrong)).toMatchObject([{ pointer: "#/size/high" }]);
    const all = z.array(z.int()).safeParse(Array.from({ length: 100 }, () => "x")).error as z.ZodError;
    expect(fieldErrorsOf(all, ["list"])).toHaveLength(32);
    expect(fieldErrorsOf(all, ["list"])[2]?.pointer).toBe("#/list/2");
  });

  it("[VAL-03] a word is near to another with at most two letters wrong, and a third of it", () => {
    expect(nearestOf("gates", ["gate", "state"])).toBe("gate");
    expect(nearestOf("workflwo_id", ["workflow_id", "after"])).toBe("workflow_id");
    expect(nearestOf("x", ["y"])).toBeNull();
    expect(nearestOf("limit", [])).toBeNull();
    expect(nearestOf("colour", ["flavour"])).toBeNull();
  });
});

describe("when to come again", () => {
  const cases: readonly (readonly [string, string, Asked])[] = [
    ["a body that is none", submitPath, { body: "{" }],
    ["a schema that does not hold", submitPath, { body: {} }],
    ["nobody", "/v1/kernel/gates", { as: null }],
    ["a role that may not", submitPath, { as: "stranger", body: {} }],
    ["an address that is none", "/v1/nothing", {}],
    ["a workflow that is not there", pathOf("wf_01ARZ3NDEKTSV4RRFFQ69G5FAV"), {}],
    ["another method", "/v1/kernel/gates", { method: "DELETE" }],
    ["another type", submitPath, { body: "{}", headers: { "content-type": "text/plain" } }],
  ];
  it.each(cases)("[BRG-11] is not told for %s: the same again would be refused again", async (_what, path, asked) => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    const { status, headers, body } = await edge.ask<Problem>(path, asked);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(body.extensions.retry_eligible).toBe(false);
    expect([headers.get("retry-after"), (body.retry_after ?? -1) < 0]).toEqual([null, true]);
  });

  it("[BRG-11] is told, alike in header and body, for what another attempt may mend", async () => {
    await using edge = await openEdge({}, { limits: { maxRequestBurst: 1, maxRequestsPerSecond: 1 } });
    await edge.ask("/v1/session");
    const { status, headers, body } = await edge.ask<Problem>("/v1/session");
    expect([status, headers.get("retry-after"), body.retry_after]).toEqual([429, "1", 1]);
  });
});

describe("a body's Content-Encoding", () => {
  it.each(["gzip", "br", "deflate", "x-made-up", "identity, gzip"])(
    "[API-01] %s is refused with 415, and what may be said",
    async (encoding) => {
      await using edge = await openEdge({ capabilities: [publishing().capability] });
      const hint = { intent_hint: { intent_type: intent } };
      const headers = { "content-encoding": encoding };
      for (const path of [submitPath, "/v1/kernel/jobs", "/rpc"]) {
        const told = await edge.ask<Problem>(path, { body: hint, headers });
        expect([told.status, told.body.extensions.code]).toEqual([415, "T0_HTTP_CONTENT_ENCODING"]);
        expect(told.headers.get("accept-encoding")).toBe("identity");
      }
      expect(await edge.t.kernel.workflows()).toEqual([]);
      expect((await edge.ask(submitPath, { body: hint, headers: { "content-encoding": "Identity" } })).status).toBe(
        202,
      );
    },
  );
});
