/** What readers of one workflow share: the reading of its log, the fold of its progress, the news. */
import { describe, expect, it } from "vitest";
import type { Channels, Follow } from "../../src/index.ts";
import { createTestKernel, letRun, type TestKernel } from "../../src/testing/index.ts";
import { counted, eventsOf, intent, publishing, step, story } from "../gates/story.ts";
import { countingLedger } from "./counting-ledger.ts";

const channels = ["events", "progress", "assistant"] as const;
const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Waits for a person, then speaks many words, each of which is a commit. */
const busy = (words: number) => {
  const speak = counted("Story.Speak", {}, async ({ stream }) => {
    for (let i = 0; i < words; i += 1) {
      stream(`word ${i}`);
      for (let turn = 0; turn < 4; turn += 1) await tick();
    }
    return { said: words };
  });
  return story([speak], [step("speak", speak, { gate: {} })]);
};

async function collect<C extends keyof Channels>(
  t: TestKernel,
  id: string,
  channel: C,
  options: Follow = {},
): Promise<readonly Channels[C][]> {
  const got: Channels[C][] = [];
  for await (const { item } of t.kernel.channel(channel, id, options)) got.push(item);
  return got;
}

/** A busy workflow with so many live readers; how often the store was read, and what each reader was told. */
async function play(readers: number, channel: keyof Channels = "events") {
  const { store, counts } = countingLedger();
  await using t = await createTestKernel({ ledger: store, capabilities: [busy(40)] });
  const { workflow_id: id } = await t.run(intent);
  const before = { ...counts };
  const reading = Array.from({ length: readers }, () => collect(t, id, channel));
  await letRun();
  await t.approve(id, "gate-speak");
  await t.kernel.settled(id);
  const told = await Promise.all(reading);
  const reads = counts.read + counts.last + counts.tail - before.read - before.last - before.tail;
  const commits = counts.append - before.append;
  return { told, reads, commits, ledger: await eventsOf(t, id), again: await collect(t, id, channel, { live: false }) };
}

describe("live readers of one workflow", () => {
  it("a thousand cost as many reads of its log as one: they grow with commits, not with readers", async () => {
    const alone = await play(1);
    const thousand = await play(1_000);
    expect(thousand.commits).toBeGreaterThan(40);
    expect(thousand.reads).toBeLessThanOrEqual(thousand.commits + 10);
    expect(Math.abs(thousand.reads - alone.reads)).toBeLessThan(10);
    for (const events of thousand.told) expect(events).toEqual(thousand.ledger);
  });

  it.each(channels)("of %s are told the same records, made once", async (channel) => {
    const { told, again } = await play(3, channel);
    const [first, ...others] = told;
    expect(first?.length).toBeGreaterThan(2);
    expect(first).toEqual(again);
    for (const other of others) {
      expect(other.length).toBe(first?.length);
      for (const [i, item] of other.entries()) expect(item).toBe(first?.[i]);
    }
  });

  it("cannot change what the others are told", async () => {
    const { told } = await play(2);
    const [[event]] = told as unknown as [[{ readonly payload: { intent: { type: string } } }]];
    expect(() => {
      event.payload.intent.type = "Something.Else";
    }).toThrow(TypeError);
  });
});

describe("a reader of the three streams", () => {
  it.each(channels)(
    "of %s who has fallen out of the ring reads the log by itself, without gap or repeat",
    async (channel) => {
      const { store, counts } = countingLedger();
      await using t = await createTestKernel({
        ledger: store,
        capabilities: [busy(40)],
        limits: { maxTailChars: 2_000 },
      });
      const { workflow_id: id } = await t.run(intent);
      const slow = t.kernel.channel(channel, id);
      const got: unknown[] = [(await slow.next()).value];
      const quick = collect(t, id, channel);
      await letRun();
      await t.approve(id, "gate-speak");
      await t.kernel.settled(id);
      const before = counts.read;
      for await (const told of slow) got.push(told);
      expect(counts.read).toBeGreaterThan(before);
      expect(got.map((told) => (told as { item: unknown }).item)).toEqual(await quick);
    },
  );

  it("who stops between two items, or while waiting, leaves no listener and no timer", async () => {
    await using t = await createTestKernel({ capabilities: [publishing().capability] });
    const { workflow_id: id } = await t.run(intent);
    const before = [t.kernel.vitals().listeners, t.clock.pending()];
    const stop = new AbortController();
    const waiting = channels.map((channel) => collect(t, id, channel, { signal: stop.signal }));
    const stopped = channels.map((channel) => t.kernel.channel(channel, id));
    for (const items of stopped) await items.next();
    await letRun();
    // One listener and one timer, whatever they read.
    expect([t.kernel.vitals().listeners, t.clock.pending()]).toEqual(before.map((count) => (count as number) + 1));
    for (const items of stopped) await items.return();
    stop.abort();
    await Promise.all(waiting);
    expect([t.kernel.vitals().listeners, t.clock.pending()]).toEqual(before);
  });

  it("is told when all that is committed has been told, and ends with the kernel", async () => {
    const t = await createTestKernel({ capabilities: [publishing().capability] });
    const { workflow_id: id } = await t.run(intent);
    const got: string[] = [];
    let caughtUp = 0;
    const onCaughtUp = () => {
      caughtUp = got.length;
    };
    const reading = (async () => {
      for await (const { event_type } of t.kernel.events(id, { onCaughtUp })) got.push(event_type);
    })();
    const ended = expect(reading).rejects.toMatchObject({ error: { code: "T0_KERNEL_STOPPED" } });
    await letRun();
    expect(caughtUp).toBe((await t.types(id)).length);
    await t.kernel.stop({ drainMs: 0 });
    await ended;
    expect(t.clock.pending()).toBe(0);
  });

  it("asks the store for nothing while nothing is committed, beyond one look at its position", async () => {
    const { store, counts } = countingLedger();
    await using t = await createTestKernel({ ledger: store, capabilities: [publishing().capability] });
    const { workflow_id: id } = await t.run(intent);
    const stop = new AbortController();
    const reading = Array.from({ length: 20 }, () => collect(t, id, "events", { signal: stop.signal }));
    await letRun();
    await t.clock.advance(1_000);
    const before = { ...counts };
    await t.clock.advance(60_000);
    expect(counts).toEqual(before);
    stop.abort();
    await Promise.all(reading);
  });
});
