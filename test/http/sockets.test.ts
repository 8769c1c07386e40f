/** Streams over real sockets, with clients that behave badly. The kernel and everybody else go on. */
import { connect } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { createHttpApp, type HttpOptions, serveHttp } from "../../src/faces/http/index.ts";
import type { Caller, Follow, Kernel, LedgerEvent, Numbered } from "../../src/index.ts";
import { createTestKernel, createVirtualClock, letRun, type TestKernel } from "../../src/testing/index.ts";
import { intent, publishing } from "../gates/story.ts";
import { tokens } from "./edge-fixture.ts";
import { openRaw } from "./raw-stream.ts";
import { follow, messagesIn, streamPath } from "./sse-reader.ts";

const headers = { authorization: "Bearer own" };
const feedPath = "/v1/kernel/stream/feed";

async function serve(kernel: Kernel, t: TestKernel, options: Partial<HttpOptions> = {}) {
  const clock = createVirtualClock();
  const limits = { maxStreams: 5_000, maxStreamsPerCaller: 5_000, ...options.limits };
  const app = createHttpApp(kernel, { tokens, clock, ...options, limits });
  const server = await serveHttp(app, { port: 0 });
  const ask = (path: string, body?: object) =>
    fetch(`${server.url}${path}`, {
      headers: { ...headers, "content-type": "application/json" },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    });
  return {
    url: server.url,
    clock,
    ask,
    async [Symbol.asyncDispose]() {
      await server.close();
      await t.kernel.stop({ drainMs: 0 });
    },
  };
}

/** Lets sockets do their work until something is so; bounded. */
async function until(isSo: () => boolean): Promise<void> {
  for (let i = 0; i < 2_000 && !isSo(); i += 1) await letRun();
  expect(isSo()).toBe(true);
}

/** The kernel with a channel of events that never ends; it counts what is taken of it. */
function endless(kernel: Kernel) {
  const seen = { taken: 0, open: 0 };
  async function* numbers(
    after: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Numbered<LedgerEvent>, void, void> {
    seen.open += 1;
    try {
      for (let sequence = after + 1; signal?.aborted !== true; sequence += 1) {
        seen.taken += 1;
        yield { sequence, item: { text: "x".repeat(16_000) } as unknown as LedgerEvent };
      }
    } finally {
      seen.open -= 1;
    }
  }
  const channel = (name: "events", id: string, options: Follow = {}, caller?: Caller) =>
    id === "wf_endless" ? numbers(options.after ?? 0, options.signal) : kernel.channel(name, id, options, caller);
  return { seen, kernel: { ...kernel, channel } as unknown as Kernel };
}

describe("a client that never reads", () => {
  it("holds a bounded part of the stream, delays nobody, is cut off, and continues from its last id", async () => {
    const t = await createTestKernel({ capabilities: [publishing().capability] });
    const { seen, kernel } = endless(t.kernel);
    const told = vi.spyOn(console, "error").mockReturnValue(undefined);
    await using server = await serve(kernel, t);
    const { workflow_id: id } = await t.run(intent);
    const slow = await openRaw(server.url, streamPath("wf_endless", "events"), headers);
    slow.socket.pause();
    await until(() => seen.taken > 0);
    let before = -1;
    // Until the buffers of both sockets are full.
    while (before !== seen.taken) {
      before = seen.taken;
      await letRun();
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    expect(seen.taken).toBeLessThan(1_000);
    const other = follow(await server.ask(streamPath(id, "events")));
    await t.approve(id);
    await t.rest(id);
    await until(() => other.isClosed());
    expect(messagesIn(other.text()).at(-1)?.data).toMatchObject({ event_type: "WORKFLOW_COMPLETED" });
    await server.clock.advance(30_000);
    await until(() => seen.open === 0);
    slow.socket.resume();
    await slow.closed;
    expect(told.mock.calls.map(String)).toEqual(["Error: a stream was cut off: its reader took nothing for 30000 ms"]);
    told.mockRestore();
    const ids = slow.ids();
    expect(ids).toEqual(ids.map((_, i) => i + 1));
    const last = ids.at(-1) as number;
    const again = await openRaw(server.url, streamPath("wf_endless", "events"), {
      ...headers,
      "last-event-id": `${last}`,
    });
    await until(() => again.ids().length > 0);
    expect(again.ids()[0]).toBe(last + 1);
    again.socket.destroy();
    await until(() => seen.open === 0);
  });
});

describe("many clients", () => {
  it("a thousand streams opened and closed leave no listener and no timer, and the kernel serves", async () => {
    const t = await createTestKernel({ capabilities: [publishing().capability] });
    await using server = await serve(t.kernel, t);
    const { workflow_id: id } = await t.run(intent);
    const before = [t.kernel.vitals().listeners, t.clock.pending(), server.clock.pending()];
    const paths = [feedPath, ...["events", "progress", "assistant"].map((channel) => streamPath(id, channel))];
    for (let round = 0; round < 10; round += 1) {
      const open = await Promise.all(
        Array.from({ length: 100 }, (_, i) => openRaw(server.url, paths[i % paths.length] as string, headers)),
      );
      // A half goes away at once, before there is an answer.
      const [rude, polite] = [open.slice(0, 50), open.slice(50)];
      for (const { socket } of rude) socket.destroy();
      await until(() => polite.every(({ text }) => text().includes("retry:")));
      for (const { socket } of polite) socket.destroy();
      await Promise.all(open.map(({ closed }) => closed));
    }
    await until(() => t.kernel.vitals().listeners === before[0] && server.clock.pending() === before[2]);
    expect([t.kernel.vitals().listeners, t.clock.pending(), server.clock.pending()]).toEqual(before);
    expect((await server.ask("/v1/kernel/submit", { intent_hint: { intent_type: intent } })).status).toBe(202);
  });

  it("idle and half-open connections cost the kernel nothing: it serves beside them", async () => {
    const t = await createTestKernel({ capabilities: [publishing().capability] });
    await using server = await serve(t.kernel, t);
    const { workflow_id: id } = await t.run(intent);
    const before = [t.kernel.vitals().listeners, t.clock.pending()];
    const { hostname, port } = new URL(server.url);
    const sockets = Array.from({ length: 400 }, () => connect(Number(port), hostname));
    for (const socket of sockets) socket.on("error", () => undefined);
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
    // Half of them begin a request that they never end.
    for (const socket of sockets.slice(200)) socket.write(`GET ${feedPath} HTTP/1.1\r\nhost: edge.test\r\n`);
    const stream = follow(await server.ask(streamPath(id, "events")));
    expect(
      (await server.ask(`/v1/kernel/workflows/${id}/gate`, { gate_id: "gate-publish", decision: "approve" })).status,
    ).toBe(200);
    await t.rest(id);
    await until(() => stream.isClosed());
    for (const socket of sockets) socket.destroy();
    await letRun();
    expect([t.kernel.vitals().listeners, t.clock.pending()]).toEqual(before);
  });
});
