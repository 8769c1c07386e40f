/** The shared tail against a plain log: whatever its readers do, each is told the log, once and in order. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Pull, SharedTail, TailReader } from "../../src/engine/follow/shared-tail.ts";
import { moreThan, runs } from "../properties/property-runs.ts";

const pageSize = 3;

interface Log {
  readonly length: () => number;
  readonly reads: () => number;
  /** How often somebody began to read: the tail, and who had fallen out of its ring. */
  readonly opens: () => number;
  readonly append: (count: number) => void;
  readonly tell: () => void;
  readonly tail: (maxChars: number, from?: number) => SharedTail<number>;
  readonly fail: (times: number) => void;
}

/** A log of the numbers from 1 on, read a page at a time. */
function createLog(): Log {
  let length = 0;
  let reads = 0;
  let opens = 0;
  let failures = 0;
  const hearers = new Set<() => void>();
  const open = (after: number): Pull<number> => {
    let position = after;
    opens += 1;
    return async () => {
      reads += 1;
      if (failures > 0) {
        failures -= 1;
        throw new Error("the log is away");
      }
      const items = Array.from({ length: Math.min(pageSize, length - position) }, (_, i) => position + i + 1);
      await Promise.resolve();
      if (items.length === 0) return null;
      position += items.length;
      const size = { rows: items.length, chars: items.length };
      return { items, through: position, ...size, isLast: items.length < pageSize, ended: false };
    };
  };
  const listen = (hear: () => void) => {
    hearers.add(hear);
    return () => void hearers.delete(hear);
  };
  return {
    length: () => length,
    reads: () => reads,
    opens: () => opens,
    append: (count) => {
      length += count;
    },
    tell: () => {
      for (const hear of hearers) hear();
    },
    tail: (maxChars, from = 0) => new SharedTail({ open, listen }, { from, maxChars }),
    fail: (times) => {
      failures = times;
    },
  };
}

/** A reader that keeps what it was told. */
function createReader(tail: SharedTail<number>, after: number) {
  const reader = new TailReader(tail, after);
  const told: number[] = [];
  const step = async (): Promise<boolean> => {
    const from = reader.cursor;
    const stretch = await reader.next();
    told.push(...(stretch?.items.filter((item) => item > from) ?? []));
    return stretch !== null;
  };
  return {
    told,
    after,
    step,
    drain: async () => {
      while (await step());
    },
  };
}

const upTo = (after: number, length: number): number[] =>
  Array.from({ length: Math.max(0, length - after) }, (_, i) => after + i + 1);

const doings = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("append" as const), count: fc.integer({ min: 1, max: 9 }), told: fc.boolean() }),
    { weight: 3, arbitrary: fc.record({ do: fc.constant("read" as const), who: fc.nat({ max: 1 }) }) },
    fc.record({ do: fc.constant("join" as const), after: fc.nat({ max: 20 }) }),
    fc.record({ do: fc.constant("together" as const) }),
  ),
  { minLength: 10, maxLength: 60 },
);

describe("a shared tail", () => {
  it("tells every reader all that follows its cursor, once and in order, however small the ring", async () => {
    let gone = 0;
    await fc.assert(
      fc.asyncProperty(doings, fc.integer({ min: 1, max: 12 }), async (walk, maxChars) => {
        const log = createLog();
        const tail = log.tail(maxChars);
        const readers = [createReader(tail, 0)];
        for (const move of walk) {
          if (move.do === "append") {
            log.append(move.count);
            if (move.told) log.tell();
          } else if (move.do === "join") {
            readers.push(createReader(tail, Math.min(move.after, log.length())));
          } else if (move.do === "together") await Promise.all(readers.map((reader) => reader.step()));
          else await readers[move.who % readers.length]?.step();
        }
        log.tell();
        await Promise.all(readers.map((reader) => reader.drain()));
        if (log.opens() > 1) gone += 1;
        for (const { told, after } of readers) expect(told).toEqual(upTo(after, log.length()));
      }),
      { numRuns: runs(300) },
    );
    // Some of them had fallen out of the ring.
    expect(gone).toBeGreaterThan(moreThan(10));
  });

  it("is read once for all who wait at its end, and not at all where nobody does", async () => {
    const log = createLog();
    const tail = log.tail(1_000);
    const readers = Array.from({ length: 100 }, () => createReader(tail, 0));
    await Promise.all(readers.map((reader) => reader.drain()));
    expect(log.reads()).toBe(1);
    log.append(2);
    log.tell();
    expect(log.reads()).toBe(1);
    await Promise.all(readers.map((reader) => reader.drain()));
    expect(log.reads()).toBe(2);
  });

  it("reads again where something was appended while it read", async () => {
    const log = createLog();
    const reader = createReader(log.tail(1_000), 0);
    const reading = reader.drain();
    log.append(1);
    log.tell();
    await reading;
    expect(reader.told).toEqual([1]);
  });

  it("a read that failed is told to whoever asked, and made again for who asks next", async () => {
    const log = createLog();
    const tail = log.tail(1_000);
    log.append(5);
    log.fail(1);
    const reader = createReader(tail, 0);
    await expect(reader.drain()).rejects.toThrow("the log is away");
    await reader.drain();
    expect(reader.told).toEqual([1, 2, 3, 4, 5]);
  });

  it("wakes who waits when there is more, on the signal, and when it is closed", async () => {
    const log = createLog();
    const tail = log.tail(1_000);
    const stop = new AbortController();
    const reader = createReader(tail, 0);
    await reader.drain();
    const aborted = tail.more(0, stop.signal);
    stop.abort();
    await aborted;
    const more = tail.more(0, undefined);
    log.append(1);
    log.tell();
    await more;
    await reader.drain();
    expect(reader.told).toEqual([1]);
    const closed = tail.more(1, undefined);
    tail.close(new Error("over"));
    await closed;
    await expect(reader.step()).rejects.toThrow("over");
  });
});
