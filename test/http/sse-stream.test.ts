/** Server-sent events over a channel, without a server: backpressure, heartbeats, how a stream ends. */
import { describe, expect, it } from "vitest";
import { messagesOf, pieceBytes, type StreamItem } from "../../src/faces/http/sse-messages.ts";
import { sseStream } from "../../src/faces/http/sse-stream.ts";
import { createUnreadBytes } from "../../src/faces/http/unread-bytes.ts";
import { createVirtualClock, letRun } from "../../src/testing/index.ts";

const decoder = new TextDecoder();

/** The count of what streams leave unread, all together and those of each principal. */
const counting = (all: number, own = all) =>
  createUnreadBytes(["maxUnreadStreamBytes", all], ["maxUnreadStreamBytesPerCaller", own]);
const callerOf = (id: string) => ({ tenant_id: "acme", principal: { type: "user", id, role: "member" } });

interface Channel {
  readonly at_end?: "wait" | "end" | "fail";
  /** What each item has beside its number. */
  readonly more?: object;
  readonly unread?: ReturnType<typeof counting>;
  readonly by?: string;
  readonly maxBytes?: number;
}

/** A channel that gives numbers as they are asked for, up to `most`, then waits, ends or fails. */
function open(most: number, channel: Channel = {}) {
  const { at_end = "wait", more = {}, unread = counting(1), by = "ann", maxBytes = 1_000_000 } = channel;
  const clock = createVirtualClock();
  const seen = { taken: 0, ended: 0, returned: false, errors: [] as unknown[] };
  const stop = new AbortController();
  async function* numbers(): AsyncGenerator<StreamItem, void, void> {
    try {
      while (seen.taken < most) {
        seen.taken += 1;
        yield { sequence: seen.taken, item: { n: seen.taken, ...more } };
      }
      if (at_end === "fail") throw new Error("the ledger is away");
      if (at_end === "wait") await new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
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
  const hold = (message: Uint8Array) => unread.hold(callerOf(by), message);
  const messages = messagesOf(numbers(), { event: "kernel.event", hold, maxBytes });
  const reader = sseStream(messages, { ...timing, onEnd, onError }).getReader();
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
    const { clock, seen, read } = open(1, { at_end: "fail" });
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

describe("a message over one piece", () => {
  const more = { text: "é".repeat(pieceBytes) };
  const size = 3 * pieceBytes;

  it("is handed in pieces, is counted until the last is taken and the next asked for, and is whole", async () => {
    const unread = counting(size);
    const { seen, reader, read } = open(1, { more, unread, at_end: "end" });
    await read();
    let text = "";
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      expect(piece.value.length).toBeLessThanOrEqual(pieceBytes);
      if (text === "") expect(unread.bytes()).toBeGreaterThan(2 * pieceBytes);
      text += Buffer.from(piece.value).toString("latin1");
    }
    const data = JSON.stringify({ n: 1, ...more });
    expect(Buffer.from(text, "latin1").toString()).toBe(`id: 1\nevent: kernel.event\ndata: ${data}\n\n`);
    expect([unread.bytes(), unread.callers(), seen.errors]).toEqual([0, 0, []]);
  });

  it("is free however its stream ends, also where it comes when the client has gone", async () => {
    const unread = counting(size);
    for (const reads of [0, 1, 2]) {
      const { reader, read, seen } = open(2, { more, unread });
      for (let i = 0; i < reads; i += 1) await read();
      await reader.cancel();
      await letRun();
      expect([unread.bytes(), seen.ended]).toEqual([0, 1]);
    }
    const { clock, read } = open(2, { more, unread });
    await read();
    await letRun();
    expect(unread.bytes()).toBeGreaterThan(0);
    await clock.advance(30_000);
    expect(unread.bytes()).toBe(0);
  });

  it("ends a stream whose principal leaves too much unread, and no other stream of anybody", async () => {
    const unread = counting(10 * size, size);
    const first = open(9, { more, unread });
    await first.read();
    await letRun();
    const second = open(9, { more, unread });
    await second.read();
    expect(await second.read()).toBeNull();
    expect(second.seen).toMatchObject({ ended: 1, errors: [{ error: { code: "T0_HTTP_CALLER_UNREAD_LIMIT" } }] });
    const other = open(9, { more, unread, by: "bo" });
    const small = open(9, { unread });
    for (const stream of [other, small, first])
      for (let i = 0; i < 9; i += 1) expect(await stream.read()).not.toBeNull();
    expect([first.seen.ended, other.seen.ended, small.seen.ended]).toEqual([0, 0, 0]);
    for (const { reader } of [first, other, small]) await reader.cancel();
    expect(unread.bytes()).toBe(0);
  });

  it("ends its stream where it is larger than any may be", async () => {
    const { seen, read } = open(2, { more, maxBytes: size - pieceBytes });
    await read();
    expect(await read()).toBeNull();
    const error = { code: "T0_HTTP_MESSAGE_TOO_LARGE", detail: { sequence: 1 }, retry_eligible: false };
    expect(seen).toMatchObject({ ended: 1, errors: [{ error }] });
  });
});

describe("what is left unread", () => {
  it("counts once where several hold the same, of one caller and of all", () => {
    const unread = counting(100, 100);
    const thing = new Uint8Array(60);
    const ends = ["ann", "ann", "bo"].map((by) => unread.hold(callerOf(by), thing));
    expect([unread.bytes(), unread.callers()]).toEqual([60, 2]);
    expect(() => unread.hold(callerOf("bo"), new Uint8Array(60))).toThrow("maxUnreadStreamBytesPerCaller = 100");
    expect(() => unread.hold(callerOf("cy"), new Uint8Array(60))).toThrow("maxUnreadStreamBytes = 100");
    for (const end of ends) for (let twice = 0; twice < 2; twice += 1) end();
    expect([unread.bytes(), unread.callers()]).toEqual([0, 0]);
    unread.hold(callerOf("cy"), new Uint8Array(600))();
  });
});
