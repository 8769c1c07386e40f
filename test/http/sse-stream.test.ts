/** Server-sent events over a channel, without a server: backpressure, heartbeats, how a stream ends. */
import { describe, expect, it } from "vitest";
import { sseStream, type Told } from "../../src/faces/http/sse-stream.ts";
import { createVirtualClock, letRun } from "../../src/testing/index.ts";

const decoder = new TextDecoder();

/** A channel that gives numbers as they are asked for, up to `most`, then waits, ends or fails. */
function open(most: number, then: "wait" | "end" | "fail" = "wait") {
  const clock = createVirtualClock();
  const seen = { taken: 0, ended: 0, returned: false, errors: [] as unknown[] };
  const stop = new AbortController();
  async function* numbers(): AsyncGenerator<Told, void, void> {
    try {
      while (seen.taken < most) {
        seen.taken += 1;
        yield { sequence: seen.taken, item: { n: seen.taken } };
      }
      if (then === "fail") throw new Error("the ledger is away");
      if (then === "wait") await new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
    } finally {
      seen.returned = true;
    }
  }
  const onEnd = () => {
    seen.ended += 1;
    stop.abort();
  };
  const onError = (thrown: unknown) => void seen.errors.push(thrown);
  const timing = { clock, heartbeatMs: 1_000, retryMs: 1, maxStallMs: 30_000 };
  const reader = sseStream(numbers(), { event: "kernel.event", ...timing, onEnd, onError }).getReader();
  const read = async (): Promise<string | null> => {
    const { done, value } = await reader.read();
    return done ? null : decoder.decode(value);
  };
  return { clock, seen, reader, read };
}

/** How often `then` was called of one promise, at most. */
function countListeners() {
  const asked = new WeakMap<object, number>();
  let most = 0;
  const { then } = Promise.prototype;
  const count: typeof then = function (this: Promise<unknown>, ...told) {
    const now = (asked.get(this) ?? 0) + 1;
    asked.set(this, now);
    most = Math.max(most, now);
    return Reflect.apply(then, this, told);
  };
  const put = (value: typeof then): void => void Reflect.set(Promise.prototype, "then", value);
  put(count);
  return { most: () => most, end: () => put(then) };
}

describe("a stream of server-sent events", () => {
  it("takes from the channel only what its client reads", async () => {
    const { seen, reader, read } = open(Number.POSITIVE_INFINITY);
    await letRun();
    expect(seen.taken).toBeLessThanOrEqual(1);
    for (let i = 0; i < 5; i += 1) await read();
    await letRun();
    expect(seen.taken).toBeLessThanOrEqual(6);
    await reader.cancel();
  });

  it("cuts off a client that takes nothing for maxStallMs, and lets go of channel and timers", async () => {
    const { clock, seen, reader, read } = open(Number.POSITIVE_INFINITY);
    await read();
    await read();
    await clock.advance(29_999);
    expect(seen.ended).toBe(0);
    await clock.advance(1);
    expect(seen).toMatchObject({ ended: 1, returned: true, errors: [expect.any(Error)] });
    await expect(reader.read()).rejects.toThrow("took nothing for 30000 ms");
    expect(clock.pending()).toBe(0);
  });

  it("does not cut off a client that reads slowly, or for whom there is nothing but heartbeats", async () => {
    const { clock, seen, read } = open(3);
    for (let i = 0; i < 3; i += 1) {
      await clock.advance(29_999);
      await read();
    }
    await read();
    for (let i = 0; i < 100; i += 1) {
      const next = read();
      await clock.advance(1_000);
      expect(await next).toBe(": heartbeat\n\n");
    }
    expect(seen.ended).toBe(0);
  });

  it("lets no heartbeat wait behind another", async () => {
    const { clock, read } = open(0);
    await read();
    await clock.advance(20_000);
    expect(await read()).toBe(": heartbeat\n\n");
    const next = read();
    await letRun();
    expect(clock.pending()).toBe(1);
    await clock.advance(1_000);
    expect(await next).toBe(": heartbeat\n\n");
  });

  it("leaves nothing behind for a heartbeat, however long nothing comes", async () => {
    const { clock, read, reader } = open(0);
    await read();
    const listeners = countListeners();
    try {
      for (let i = 0; i < 50; i += 1) {
        const next = read();
        await clock.advance(1_000);
        await next;
      }
    } finally {
      listeners.end();
    }
    expect(listeners.most()).toBeLessThan(5);
    await reader.cancel();
  });

  it("closes when its channel fails, so that the client comes back, and tells the host alone why", async () => {
    const { clock, seen, read } = open(1, "fail");
    await read();
    expect(await read()).toContain('data: {"n":1}');
    expect(await read()).toBeNull();
    expect(seen.errors).toMatchObject([{ message: "the ledger is away" }]);
    expect([seen.ended, clock.pending()]).toEqual([1, 0]);
  });

  it("ends once, whether the client goes away while waiting or between two items", async () => {
    for (const most of [1, Number.POSITIVE_INFINITY]) {
      const { clock, seen, reader, read } = open(most);
      await read();
      await read();
      await letRun();
      await reader.cancel();
      await letRun();
      expect(seen).toMatchObject({ ended: 1, returned: true, errors: [] });
      expect(clock.pending()).toBe(0);
    }
  });
});
