/** Compensation over the faces: the order over HTTP, JSON-RPC and MCP, the drawing, the explanation, the lists. */
import { beforeEach, expect, it } from "vitest";
import { readRun } from "../../src/observers/drawing/plan-model.ts";
import { renderPlanMermaid } from "../../src/observers/drawing/render-plan-mermaid.ts";
import { renderPlanSvg } from "../../src/observers/drawing/render-plan-svg.ts";
import { codeOf, openEdge } from "../http/edge-fixture.ts";
import { call, openMcp } from "../mcp/mcp-fixture.ts";
import { asks, booking, empty, trip, undo, world } from "./booked-trip.ts";

beforeEach(empty);

/** A booking whose undo a person approves, and one that waits for a person. */
const steps = [booking("a", [], { undo: { ...undo("{{a.output.room}}"), ...asks } }), booking("b", ["a"], asks)];
const capabilities = [trip(steps)];

it("HTTP and JSON-RPC take the order, answer it alike when it is given again, and refuse unknown keys", async () => {
  await using edge = await openEdge({ capabilities });
  const { workflow_id: id } = await edge.t.run("Trip.Plan");
  const path = `/v1/kernel/workflows/${id}/cancel`;
  expect(codeOf((await edge.post(path, { undone: true })) as never)).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  expect(await edge.post(path, { undo: true })).toMatchObject({ status: 200, body: { status: "compensating" } });
  const params = { workflow_id: id, undo: true };
  const { body } = await edge.post("/rpc", { jsonrpc: "2.0", id: 1, method: "kernel/cancel", params });
  expect(body).toMatchObject({ result: { status: "compensating" } });
  expect(codeOf((await edge.post(path, {})) as never)).toBe("T4_WORKFLOW_CONFLICT");
  await edge.t.approve(id, "gate-undo:a");
  await edge.t.rest(id);
  const { body: shown } = await edge.ask(`/v1/kernel/workflows/${id}`);
  expect(shown).toMatchObject({ state: "cancelled", compensated: "all" });
  expect([...world.booked]).toEqual([]);
});

it("MCP takes the order", async () => {
  await using face = await openMcp({ capabilities });
  const id = await face.t.submit("Trip.Plan");
  await face.t.rest(id);
  const client = await face.connect("own");
  await call(client, "cancel-workflow", { workflow_id: id, undo: true });
  await face.t.rest(id);
  await face.t.approve(id, "gate-undo:a");
  expect(await face.t.rest(id)).toMatchObject({ state: "cancelled", compensated: "all" });
});

it("what has ended is rolled back over HTTP, JSON-RPC and MCP, and another tenant does not find it", async () => {
  await using face = await openMcp({ capabilities: [trip([booking("a")])] });
  const { t } = face;
  const id = await t.submit("Trip.Plan");
  await t.rest(id);
  const client = await face.connect("own");
  const refused = await call(await face.connect("foreign"), "rollback-workflow", { workflow_id: id });
  expect(refused.structuredContent).toMatchObject({ error: { code: "T4_WORKFLOW_NOT_FOUND" } });
  await call(client, "rollback-workflow", { workflow_id: id, reason: "by mistake" });
  expect(await t.rest(id)).toMatchObject({ state: "cancelled", compensated: "all" });
  expect((await call(client, "rollback-workflow", { workflow_id: id })).structuredContent).toMatchObject({
    status: "cancelled",
    compensated: "all",
  });

  await using edge = await openEdge({ capabilities: [trip([booking("a")])] });
  const { workflow_id } = await edge.t.run("Trip.Plan");
  const path = `/v1/kernel/workflows/${workflow_id}/rollback`;
  expect(codeOf((await edge.post(path, { undo: true })) as never)).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  expect(await edge.post(path, {})).toMatchObject({ status: 200, body: { status: "compensating", compensated: null } });
  await edge.t.rest(workflow_id);
  const { body } = await edge.post("/rpc", {
    jsonrpc: "2.0",
    id: 1,
    method: "kernel/rollback",
    params: { workflow_id },
  });
  expect(body).toMatchObject({ result: { status: "cancelled", compensated: "all" } });
});

it("a workflow is forked over HTTP, JSON-RPC and MCP", async () => {
  await using face = await openMcp({ capabilities: [trip([booking("a"), booking("b", ["a"])])] });
  const { t } = face;
  const { workflow_id: id } = await t.run("Trip.Plan");
  const client = await face.connect("own");
  const refused = await call(await face.connect("foreign"), "fork-workflow", { workflow_id: id, at: "b" });
  expect(refused.structuredContent).toMatchObject({ error: { code: "T4_WORKFLOW_NOT_FOUND" } });
  const { structuredContent } = await call(client, "fork-workflow", { workflow_id: id, at: "b" });
  expect(structuredContent).toMatchObject({ status: "accepted", forked_from: id });
  const { workflow_id: fork } = structuredContent as { readonly workflow_id: string };
  expect(await t.rest(fork)).toMatchObject({ state: "completed", forked_from: { workflow_id: id } });

  await using edge = await openEdge({ capabilities: [trip([booking("a"), booking("b", ["a"])])] });
  const { workflow_id } = await edge.t.run("Trip.Plan");
  const path = `/v1/kernel/workflows/${workflow_id}/fork`;
  expect(codeOf((await edge.post(path, { at: "b", from: 1 })) as never)).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  expect(codeOf((await edge.post(path, { at: "none" })) as never)).toBe("T4_FORK_INVALID");
  expect(await edge.post(path, { at: "b" })).toMatchObject({ body: { forked_from: workflow_id } });
  const params = { workflow_id, at: 1 };
  const { body } = await edge.post("/rpc", { jsonrpc: "2.0", id: 1, method: "kernel/fork", params });
  expect(JSON.stringify(body)).toContain("T4_FORK_INVALID");
});

it("an undo has its place in the drawing, the explanation and the lists", async () => {
  await using edge = await openEdge({ capabilities });
  const { t } = edge;
  const { workflow_id: id } = await t.run("Trip.Plan");
  await t.reject(id, "gate-b");
  const plan = readRun(await t.rest(id));
  expect(renderPlanMermaid(plan)).toContain("undo:a");
  expect(renderPlanSvg(plan)).toContain("undo:a");
  expect(JSON.stringify(await t.kernel.explain(id))).toContain("is undone (call 1)");
  const { body } = await edge.ask<{ workflows: readonly object[] }>("/v1/kernel/workflows?state=compensating");
  expect(body.workflows).toEqual([]);
  expect((await edge.ask<{ gates: readonly object[] }>("/v1/kernel/gates")).body.gates).toMatchObject([
    { gate_id: "gate-undo:a", step_id: "undo:a" },
  ]);
});
