/** Events from outside over HTTP: what a sender is answered, and what is refused before anything is kept. */
import { describe, expect, it } from "vitest";
import type { EmitResponse, TokenUrlResponse } from "../../src/index.ts";
import { closing, signed as event } from "../lifecycle/closing-deal.ts";
import { codeOf, type EdgeUnderTest, openEdge } from "./edge-fixture.ts";

const emitPath = "/v1/kernel/emit";
const week = 7 * 86_400_000;

const open = () => openEdge({ capabilities: [closing] });
async function begin({ t }: EdgeUnderTest): Promise<string> {
  const id = await t.submit("Deal.Close");
  await t.clock.settle();
  expect((await t.kernel.workflow(id)).state).toBe("waiting");
  return id;
}
const emit = (edge: EdgeUnderTest, body: object, as = "own") => edge.post<EmitResponse>(emitPath, body, as);

describe("an event over HTTP", () => {
  it("ends the wait of the step that waits for it, and the same event again gets the same answer", async () => {
    await using edge = await open();
    const workflow_id = await begin(edge);
    const first = await emit(edge, event);
    expect(first).toMatchObject({
      status: 200,
      body: { event_id: "e-1", status: "resumed", resumed: [{ workflow_id, step_id: "sign" }], kept_until: null },
    });
    expect((await edge.t.rest(workflow_id)).state).toBe("completed");
    const again = await emit(edge, event);
    expect(again).toMatchObject({ status: 200, body: { ...first.body, duplicate: true } });
  });

  it("for which no step waits is kept for the one that comes later, within its tenant", async () => {
    await using edge = await open();
    const kept_until = new Date(edge.t.clock.now() + week).toISOString();
    const { event_id: _drawn, ...unnamed } = event;
    const foreign = await emit(edge, unnamed, "foreign");
    expect(foreign.body).toMatchObject({ status: "kept", kept_until, resumed: [], duplicate: false });
    await begin(edge);
    const kept = await emit(edge, { ...event, key: "c-2" });
    expect(kept.body).toMatchObject({ status: "kept", kept_until, resumed: [], duplicate: false });
  });

  it("of another content under the same id is refused, and the first one stays", async () => {
    await using edge = await open();
    await emit(edge, event);
    const other = await edge.post(emitPath, { ...event, payload: { by: "bo" } });
    expect([other.status, codeOf(other)]).toEqual([422, "T4_EVENT_ID_REUSED"]);
    const id = await edge.t.submit("Deal.Close");
    expect((await edge.t.rest(id)).state).toBe("completed");
    expect((await emit(edge, event)).body).toMatchObject({ status: "resumed", resumed: [{ workflow_id: id }] });
  });

  it("whose payload does not have the form that is asked is refused and not kept; the wait goes on", async () => {
    await using edge = await open();
    const id = await begin(edge);
    const invalid = await edge.post(emitPath, { ...event, payload: { by: 7 } });
    expect([invalid.status, codeOf(invalid)]).toEqual([422, "T4_EVENT_INVALID"]);
    expect((await edge.t.kernel.workflow(id)).state).toBe("waiting");
    expect((await emit(edge, event)).body).toMatchObject({ status: "resumed", duplicate: false });
  });

  it.each(["reader", "support"])("of %s, who may not send events, is refused with 403", async (as) => {
    await using edge = await open();
    const refused = await edge.post(emitPath, event, as);
    expect([refused.status, codeOf(refused)]).toEqual([403, "T5_AUTHZ_FORBIDDEN"]);
    expect((await emit(edge, event)).body).toMatchObject({ duplicate: false });
  });

  it("without credentials is refused with 401", async () => {
    await using edge = await open();
    expect((await edge.ask(emitPath, { body: event, as: null })).status).toBe(401);
  });

  it.each([
    ["an unknown member", { ...event, subject: "c-1" }],
    ["no name", { key: "c-1" }],
    ["no key", { name: "contract.signed" }],
    ["a name with a space", { ...event, name: "contract signed" }],
    ["an id with a line end", { ...event, event_id: "e\n1" }],
    ["a broadcast that is no boolean", { ...event, broadcast: "yes" }],
    ["the name of another principal", { ...event, principal: { type: "user", id: 2, role: "admin" } }],
  ])("with %s is refused, and nothing is kept", async (_what, body) => {
    await using edge = await open();
    const refused = await edge.post(emitPath, body);
    expect([400, 403]).toContain(refused.status);
    expect(codeOf(refused)).toMatch(/^T[05]_/);
    expect((await emit(edge, event)).body).toMatchObject({ duplicate: false });
  });
});

describe("the one-time address of a wait over HTTP", () => {
  const waitTokens = { secrets: ["a key that is long enough for this."], url: "http://edge.test/v1/waits/" };
  const openWaits = async () => {
    const limits = { maxFailedCallsPerSecond: 1, maxFailedCallBurst: 3 };
    const edge = await openEdge({ capabilities: [closing], waitTokens }, { limits });
    const id = await begin(edge);
    const { body } = await edge.post<TokenUrlResponse>(`/v1/kernel/workflows/${id}/token-url`, { step_id: "sign" });
    return { edge, id, path: new URL(body.url).pathname };
  };
  const answer = (edge: EdgeUnderTest, path: string, body: unknown) => edge.ask(path, { body, as: null });

  it("takes the payload from a sender without credentials, once; nothing but POST changes anything", async () => {
    const { edge, id, path } = await openWaits();
    await using _ = edge;
    for (const method of ["GET", "HEAD", "OPTIONS", "DELETE"]) await edge.fetch(path, { method, as: null });
    expect((await edge.t.kernel.workflow(id)).state).toBe("waiting");
    const invalid = await answer(edge, path, { by: 7 });
    expect([invalid.status, codeOf(invalid)]).toEqual([422, "T4_EVENT_INVALID"]);
    const first = await answer(edge, path, { by: "ada" });
    expect([first.status, first.body]).toEqual([200, { status: "received", duplicate: false }]);
    expect((await edge.t.rest(id)).state).toBe("completed");
    expect((await answer(edge, path, { by: "ada" })).body).toEqual({ status: "received", duplicate: true });
    const other = await answer(edge, path, { by: "bo" });
    expect([other.status, codeOf(other)]).toEqual([409, "T4_WAIT_TOKEN_USED"]);
    const form = await edge.ask(path, { body: "by=ada", as: null, headers: { "content-type": "text/plain" } });
    expect(form.status).toBe(415);
  });

  it("is refused with 404 if it is unknown, and with 429 once too many were", async () => {
    const { edge, path } = await openWaits();
    await using _ = edge;
    const unknown = await answer(edge, `${path}x`, null);
    expect([unknown.status, codeOf(unknown)]).toEqual([404, "T4_WAIT_TOKEN_UNKNOWN"]);
    const statuses = new Set<number>();
    for (let tried = 0; tried < 9 && !statuses.has(429); tried += 1)
      statuses.add((await answer(edge, `${path}x${tried}`, null)).status);
    expect([...statuses]).toEqual([404, 429]);
    expect((await answer(edge, path, { by: "ada" })).status).toBe(200);
  });

  it.each(["reader", "foreign"])("is not told to %s", async (as) => {
    const { edge, id } = await openWaits();
    await using _ = edge;
    const refused = await edge.post(`/v1/kernel/workflows/${id}/token-url`, { step_id: "sign" }, as);
    expect(refused.status).toBe(as === "foreign" ? 404 : 403);
  });
});
