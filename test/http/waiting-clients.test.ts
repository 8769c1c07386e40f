/** Clients whose submits wait for a place: they leave with their connection, join by their key, and may come again. */
import { describe, expect, it } from "vitest";
import { serveHttp } from "../../src/faces/http/index.ts";
import { counted, held, intent, step, story } from "../gates/story.ts";
import { codeOf, openEdge, requestOf, submitPath } from "./edge-fixture.ts";

const hint = { intent_hint: { intent_type: intent, inputs: {} } };
const key = { "idempotency-key": "k-1" };

/** An edge with one place, which a workflow has until `busy` is released. */
async function openFull(limits: object = {}) {
  const busy = held<object>();
  const slow = counted("Note.Slow", {}, () => busy.promise);
  const capabilities = [story([slow], [step("slow", slow)])];
  const edge = await openEdge({ capabilities, fallbackIntent: intent, limits: { maxInFlight: 1, ...limits } });
  await edge.t.submit(intent);
  await edge.t.clock.settle();
  const { kernel } = edge.t;
  const waiting = () => kernel.vitals().submits;
  const rows = async () => (await kernel.verify()).checked;
  return { edge, busy, waiting, rows };
}

describe("a client whose submit waits for a place", () => {
  it.each([
    ["a submit", submitPath, hint],
    ["a job", "/v1/kernel/jobs", { query: "a note" }],
    ["JSON-RPC", "/rpc", { jsonrpc: "2.0", id: 1, method: "kernel/submit", params: hint }],
  ])("leaves the queue when it disconnects: %s", async (_what, path, body) => {
    const { edge, busy, waiting, rows } = await openFull();
    await using _e = edge;
    const before = await rows();
    const gone = new AbortController();
    const answer = edge.app.fetch(new Request(requestOf(path, { body }), { signal: gone.signal }));
    await edge.t.clock.settle();
    expect(waiting()).toBe(1);
    gone.abort();
    await answer;
    await edge.t.clock.settle();
    expect([waiting(), await rows()]).toEqual([0, before]);
    busy.release({});
    await edge.t.clock.settle();
    expect(await edge.t.kernel.workflows()).toHaveLength(1);
  });

  it("leaves the queue when its socket closes", async () => {
    const { edge, busy, waiting } = await openFull();
    await using _e = edge;
    const server = await serveHttp(edge.app, { port: 0 });
    const gone = new AbortController();
    const { headers } = requestOf(submitPath, { body: hint });
    const asked = fetch(new URL(submitPath, server.url), {
      method: "POST",
      headers,
      body: JSON.stringify(hint),
      signal: gone.signal,
    });
    const until = async (count: number) => {
      while (waiting() !== count) await new Promise<void>((resolve) => setImmediate(resolve));
    };
    await until(1);
    gone.abort();
    await expect(asked).rejects.toThrow();
    await until(0);
    busy.release({});
    await server.close();
  });

  it("is joined by the same submit under its key: one place, one workflow, the same answer", async () => {
    const { edge, busy, waiting } = await openFull();
    await using _e = edge;
    const gone = new AbortController();
    const first = edge.app.fetch(
      new Request(requestOf(submitPath, { body: hint, headers: key }), { signal: gone.signal }),
    );
    const others = [1, 2].map(() => edge.ask(submitPath, { body: hint, headers: key }));
    await edge.t.clock.settle();
    expect(waiting()).toBe(1);
    gone.abort();
    expect((await first).status).toBe(503);
    busy.release({});
    const [one, other] = await Promise.all(others);
    expect([one?.status, other?.status]).toEqual([202, 202]);
    expect(one?.body).toEqual(other?.body);
    const again = await edge.ask(submitPath, { body: hint, headers: key });
    expect([again.status, again.body]).toEqual([202, one?.body]);
    expect(await edge.t.kernel.workflows()).toHaveLength(2);
  });

  it("is accepted when its wait is over, and told when to come again where the queue is full", async () => {
    const { edge, busy } = await openFull({ submitWaitMs: 2_500, maxWaitingSubmits: 1 });
    await using _e = edge;
    const late = edge.post(submitPath, hint);
    await edge.t.clock.advance(2_500);
    const accepted = await late;
    expect(accepted.status).toBe(202);
    const { status, headers, body } = await edge.post(submitPath, hint);
    expect([status, headers.get("retry-after"), body["retry_after"]]).toEqual([429, "1", 1]);
    const rpc = { jsonrpc: "2.0", id: 1, method: "kernel/submit", params: hint };
    expect(JSON.stringify((await edge.post("/rpc", rpc)).body)).toContain('"retry_after_ms":1000');
    busy.release({});
  });

  it("is seen by who asks whether the kernel is ready", async () => {
    const { edge, busy } = await openFull();
    await using _e = edge;
    const late = edge.post(submitPath, hint);
    await edge.t.clock.settle();
    const ready = async () => (await edge.ask("/ready", { as: null })).body;
    expect(await ready()).toEqual({ status: "ready", places_taken: 1, submits_waiting: 1 });
    await edge.t.kernel.stop({ drainMs: 0 });
    expect([(await late).status, codeOf(await late)]).toEqual([503, "T0_KERNEL_STOPPED"]);
    busy.release({});
  });
});
