/** The fold of the feed: what it tells of a row follows from the rows up to it, whatever it was asked before. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FeedFold } from "../../src/engine/follow/feed-fold.ts";
import { createTestKernel, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { feedAfter, markFeed } from "../../src/tiers/t6-metacognition/project-feed.ts";
import { eventsOf } from "../fixtures.ts";
import { gatedSteps, intent } from "../gates/story.ts";
import { runs } from "../properties/property-runs.ts";

describe("the fold of the feed", () => {
  it("tells of a row the same in any order, again, and with room for no record", async () => {
    const store = memoryLedger();
    await using t = await createTestKernel({ ledger: store, capabilities: [gatedSteps(2).capability] });
    const ids = [await t.run(intent), await t.run(intent)].map((state) => state.workflow_id);
    for (const id of ids) await t.approve(id, "gate-s1");
    for (const id of ids) await t.reject(id, "gate-s2");
    for (const id of ids) await t.rest(id);
    const rows = await store.tail(0, 1_000);
    const projection = { before: markFeed, after: feedAfter };
    const inOrder = new FeedFold({ store, projection, maxChars: 1_000_000, withEvents: false });
    const told: unknown[] = [];
    for (const { row, position } of rows) told.push(await inOrder.tell(row, position));
    expect(told.filter((item) => item !== null).length).toBeGreaterThan(8);
    const walk = fc.array(fc.nat({ max: rows.length - 1 }), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(walk, fc.constantFrom(1, 10_000, 1_000_000), async (asked, maxChars) => {
        const fold = new FeedFold({ store, projection, maxChars, withEvents: false });
        for (const i of asked) {
          const { row, position } = rows[i] as (typeof rows)[number];
          expect(await fold.tell(row, position)).toEqual(told[i]);
        }
      }),
      { numRuns: runs(60) },
    );
  });

  it("tells every turn with its events where they are asked for, and leaves none out", async () => {
    await using t = await createTestKernel({ capabilities: [gatedSteps(1).capability] });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id, "gate-s1");
    await t.rest(workflow_id);
    const items = await Array.fromAsync(t.kernel.feed({ after: 0, events: true, live: false }, testCaller));
    const told = items.flatMap((item) => ("events" in item ? (item.events ?? []) : []));
    expect(told).toEqual(await eventsOf(t, workflow_id));
    expect(items.flatMap((item) => ("gates" in item ? item.gates : []))).toHaveLength(2);
  });

  it("keeps nothing of refused requests: what is under way is not let go for them", async () => {
    const ledger = memoryLedger();
    await using t = await createTestKernel({ ledger, capabilities: [gatedSteps(1).capability] });
    await t.run(intent);
    const known = (await ledger.tail(0, 1_000)).length;
    for (let i = 0; i < 20; i += 1) await t.submit("No.Such.Thing").catch(() => undefined);
    const rows = await ledger.tail(0, 1_000);
    expect(rows.length).toBe(known + 20);
    const reads: string[] = [];
    const read = async (stream: string) => {
      reads.push(stream);
      return ledger.read(stream);
    };
    const chars = rows.slice(0, known).reduce((sum, { row }) => sum + row.envelope.length + (row.body?.length ?? 0), 0);
    const projection = { before: markFeed, after: feedAfter };
    const fold = new FeedFold({ store: { read }, projection, maxChars: chars + 100, withEvents: false });
    const [last] = rows.slice(known - 1);
    const order = [...rows.slice(0, known - 1), ...rows.slice(known), ...(last === undefined ? [] : [last])];
    for (const { row, position } of order) await fold.tell(row, position);
    expect(reads).toEqual([]);
  });
});
