/** What stands after the question mark: a route takes what its schema tells and nothing else. */
import { describe, expect, it } from "vitest";
import { intent, publishing } from "../gates/story.ts";
import { codeOf, openEdge, pathOf } from "./edge-fixture.ts";
import { streamPath } from "./sse-reader.ts";

const unknownId = "wf_01ARZ3NDEKTSV4RRFFQ69G5FAV";
const errorsOf = ({ body }: { readonly body: object }): unknown => (body as { readonly errors?: unknown }).errors;

describe("a query", () => {
  it("[API-07] with a name that its address does not take is refused at every address, also an open one", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    for (const { method, path } of edge.app.routes) {
      const address = path.replace(":intent_type", intent).replace(":name", "gate").replace(":id", unknownId);
      const told = await edge.ask(`${address}?nobody_knows=1`, { as: "admin", method: method.toUpperCase() });
      expect([path, told.status, codeOf(told)]).toEqual([path, 400, "T0_VALIDATION_SCHEMA_MISMATCH"]);
      expect(errorsOf(told)).toMatchObject([{ parameter: "nobody_knows" }]);
    }
  });

  it.each([
    ["/v1/kernel/workflows?stat=completed", "stat", "did you mean state?"],
    ["/v1/kernel/gates?workflow-id=x", "workflow-id", "did you mean workflow_id?"],
    ["/v1/kernel/machines?state=x", "state", "this address takes no parameters"],
    ["/v1/kernel/gates?__proto__=x", "__proto__", /takes workflow_id/],
    ["/v1/kernel/gates?constructor=x", "constructor", /takes workflow_id/],
  ])("[API-07] %s: says what was meant", async (path, parameter, detail) => {
    await using edge = await openEdge();
    const told = await edge.ask(path);
    expect([told.status, errorsOf(told)]).toEqual([
      400,
      [{ parameter, detail: typeof detail === "string" ? detail : expect.stringMatching(detail) }],
    ]);
  });

  it.each([
    "/v1/kernel/workflows?after=garbage",
    `/v1/kernel/workflows?after=${unknownId}/gate-x`,
    "/v1/kernel/workflows?after=",
    "/v1/kernel/gates?after=garbage",
    `/v1/kernel/gates?after=${unknownId}`,
    `/v1/kernel/gates?workflow_id=${unknownId}'`,
    "/v1/kernel/workflows?limit=1&limit=2",
    "/v1/kernel/workflows?state=completed&state=poorly",
    "/v1/kernel/workflows?intent_type=",
    `${pathOf(unknownId)}/events?after=-1`,
    `${streamPath(unknownId, "events")}?after=1&after=2`,
    "/v1/kernel/stream/feed?only=everything",
    `/v1/kernel/capabilities/${intent}?version=newest`,
  ])("[API-07] %s: a cursor or value that is none is refused, and never passed over", async (path) => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    const told = await edge.ask(path);
    expect([told.status, codeOf(told)]).toEqual([400, "T0_VALIDATION_SCHEMA_MISMATCH"]);
    expect(errorsOf(told)).toMatchObject([{ parameter: expect.stringMatching(/^\w+$/) }]);
  });

  it("[API-03] that holds its schema is heeded: the cursor that a page gave leads on", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    await edge.t.run(intent);
    await edge.t.run(intent);
    for (const list of ["workflows", "gates"] as const) {
      const path = `/v1/kernel/${list}?limit=1`;
      const { body: first } = await edge.ask(path);
      const { body: second } = await edge.ask(`${path}&after=${encodeURIComponent(String(first["next"]))}`);
      const ids = [first, second].flatMap((page) =>
        (page[list] as { workflow_id: string }[]).map((one) => one.workflow_id),
      );
      expect(new Set(ids).size).toBe(2);
    }
    const states = "/v1/kernel/workflows?state=waiting_for_user,completed&state=failed";
    expect((await edge.ask(states)).body["workflows"]).toHaveLength(2);
  });

  it("[API-07] of JSON-RPC is as strict: params that a method does not take are invalid params", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    const call = async (method: string, params: object) =>
      (await edge.post("/rpc", { jsonrpc: "2.0", id: 1, method, params })).body;
    for (const [method, params] of [
      ["kernel/workflows", { stat: "completed" }],
      ["kernel/gates", { limits: 3 }],
      ["kernel/events", { workflow_id: unknownId, befor: 1 }],
      ["kernel/workflow", { workflow_id: unknownId, view: "short" }],
    ] as const) {
      const name = Object.keys(params).at(-1);
      expect(await call(method, params)).toMatchObject({
        error: { code: -32602, data: { errors: [{ pointer: `#/params/${name}` }] } },
      });
    }
  });
});
