/** Lists over HTTP: bounded pages of summaries, every filter as a parameter, the whole by its id. */
import { describe, expect, it } from "vitest";
import type { GatePage, WorkflowPage } from "../../src/index.ts";
import { counted, intent, publishing, step, story } from "../gates/story.ts";
import { codeOf, openEdge, pathOf } from "./edge-fixture.ts";

describe("[API-08] lists over HTTP", () => {
  it("48 large workflows are pages of kilobytes, and each gate is read whole at its own address", async () => {
    const text = "x".repeat(200_000);
    const send = counted("Note.Send", { effect: "write_draft", preview: () => ({ preview: text }) });
    const steps = [step("send", send, { gate: {}, params: { text } })];
    await using edge = await openEdge({ capabilities: [story([send], steps)] });
    for (let i = 0; i < 48; i += 1) await edge.t.run(intent, { text });
    const bytesOf = async (path: string) => (await (await edge.fetch(path)).text()).length;
    expect(await bytesOf("/v1/kernel/workflows?limit=48")).toBeLessThan(48_000);
    expect(await bytesOf("/v1/kernel/gates?limit=48")).toBeLessThan(48 * 5_000);
    const { body } = await edge.ask<GatePage>("/v1/kernel/gates?limit=1");
    const [{ workflow_id = "", truncated, payload } = {}] = body.gates;
    expect([truncated, payload]).toEqual([true, null]);
    const whole = await edge.ask(pathOf(workflow_id, "/gates/gate-send"));
    expect(whole).toMatchObject({ status: 200, body: { payload: { text }, preview: text } });
    const ofOne = `/v1/kernel/gates?workflow_id=${workflow_id}`;
    const { gates } = (await edge.ask<GatePage>(ofOne)).body;
    expect(gates).toMatchObject([{ truncated: true, payload: { text }, editable: null }]);
    expect(await bytesOf(ofOne)).toBeLessThan(text.length + 5_000);
    const none = await edge.ask(pathOf(workflow_id, "/gates/gate-none"));
    expect([none.status, codeOf(none)]).toEqual([404, "T5_GATE_NOT_FOUND"]);
  });

  it("of one workflow carries each payload once, and all of a gate that is short", async () => {
    const diff = `+${"y".repeat(50_000)}`;
    const send = counted("Note.Send", { effect: "write_draft", preview: () => ({ preview: "as asked", diff }) });
    await using edge = await openEdge({
      capabilities: [story([send], [step("send", send, { gate: {}, params: { text: "short" } })])],
    });
    const { workflow_id } = await edge.t.run(intent);
    const { body } = await edge.ask<GatePage>(`/v1/kernel/gates?workflow_id=${workflow_id}`);
    expect(body.gates).toMatchObject([
      { truncated: true, preview: "as asked", payload: { text: "short" }, editable: { value: { text: "short" } } },
    ]);
    expect(body.gates[0]?.diff?.length).toBe(1000);
    const whole = await edge.ask(pathOf(workflow_id, "/gates/gate-send"));
    expect(whole.body).toMatchObject({ diff });
  });

  it("take every filter as a parameter, and tell the total where it is asked for", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    const first = (await edge.t.run(intent, {}, { input: { text: "Tell the board" } })).workflow_id;
    const second = (await edge.t.run(intent, {}, { input: { text: "Tell nobody" } })).workflow_id;
    const list = async (query: string) => {
      const { body } = await edge.ask<WorkflowPage>(`/v1/kernel/workflows?${query}`);
      return [body.workflows.map(({ workflow_id }) => workflow_id), body.total];
    };
    expect(await list("total=true&limit=1")).toEqual([[second], 2]);
    expect(await list("text=BOARD")).toEqual([[first], undefined]);
    expect(await list("principal=1&since=2026-01-01&until=2999-01-01T00:00:00%2B02:00")).toEqual([
      [second, first],
      undefined,
    ]);
    expect(await list("principal=bo&total=true")).toEqual([[], 0]);
    expect(await list("idempotency_key=order-7&total=true")).toEqual([[], 0]);
    expect(await list(`before=${first}`)).toEqual([[second], undefined]);
    const gates = async (query: string) =>
      (await edge.ask<GatePage>(`/v1/kernel/gates?${query}`)).body.gates.map(({ workflow_id }) => workflow_id);
    expect(await gates("mine=true&operator=Note.Publish&limit=1")).toEqual([second]);
    expect(await gates("role=admin")).toEqual([]);
    expect(await gates("due_before=2999-01-01")).toEqual([]);
    const more = "intent_type=Note.Story&principal=1&risk=low&voted=false&since=2020-01-01&until=2999-01-01";
    expect(await gates(`text=BOARD&sort=oldest&mine=true&${more.replace("Note.Story", intent)}`)).toEqual([first]);
    const { next } = (await edge.ask<GatePage>("/v1/kernel/gates?sort=due&limit=1")).body;
    expect(await gates(`sort=due&after=${next}`)).toEqual([second]);
    expect(await list("sort=oldest&limit=1")).toEqual([[first], undefined]);
  });

  it.each([
    "workflows?since=yesterday",
    "workflows?total=yes",
    "workflows?after=wf_1",
    "workflows?after=wf_01KDVDNA0047C4FEZDQK8YZG0N",
    "gates?after=nowhere",
    "gates?mine=1",
    "gates?sort=up",
    "gates?risk=none",
    "gates?due_before=soon",
  ])("%s is refused with the parameter's name or what a cursor is", async (path) => {
    await using edge = await openEdge();
    const told = await edge.ask(`/v1/kernel/${path}`);
    expect([told.status, codeOf(told)]).toEqual([400, "T0_VALIDATION_SCHEMA_MISMATCH"]);
  });

  it("who may read and decide nothing has no gates that are theirs: 403", async () => {
    await using edge = await openEdge();
    const told = await edge.ask("/v1/kernel/gates?mine=true", { as: "reader" });
    expect([told.status, codeOf(told)]).toEqual([403, "T5_AUTHZ_FORBIDDEN"]);
  });
});
