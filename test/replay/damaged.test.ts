/**
 * Damaged and foreign records: whatever stands in one whose chain is sound, its replay ends, with a difference or a
 * code.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventTypes } from "../../src/contract/events.ts";
import { isPlainObject } from "../../src/contract/json.ts";
import type { Turn, TurnEvent } from "../../src/contract/turn.ts";
import { KernelErrorException, type KernelOptions, type Replay, replayRows, type TurnRow } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { intent, publishing } from "../gates/story.ts";
import { anyStory, createStage, optionsOf, playStory } from "../invariants/stories.ts";
import { putTogether, takeApart } from "../ledgers/reseal.ts";
import { runs } from "../properties/property-runs.ts";

type Damage = (rows: readonly Turn[]) => readonly Turn[];

/** Does something to the events, each of which stays in its row. */
const ofEvents =
  (change: (events: TurnEvent[]) => readonly (TurnEvent | readonly TurnEvent[])[]): Damage =>
  (rows) => {
    const changed = change(rows.flatMap(({ events }) => events));
    let at = 0;
    return rows.map(({ envelope, events }) => {
      const here = changed.slice(at, at + events.length).flat();
      at += events.length;
      return { envelope, events: here };
    });
  };

const place = fc.nat({ max: 10_000 });
const at = (events: readonly unknown[], n: number): number => n % Math.max(1, events.length);

const truncated = place.map(
  (n): Damage => ofEvents((events) => events.map((one, i) => (i > at(events, n) ? [] : one))),
);
const dropped = place.map(
  (n): Damage => ofEvents((events) => events.map((one, i) => (i === at(events, n) ? [] : one))),
);
const doubled = place.map(
  (n): Damage => ofEvents((events) => events.map((one, i) => (i === at(events, n) ? [one, one] : one))),
);
const swapped = fc.tuple(place, place).map(
  ([a, b]): Damage =>
    ofEvents((events) => {
      const [i, j] = [at(events, a), at(events, b)];
      return events.map((one, k) => events[k === i ? j : k === j ? i : k] ?? one);
    }),
);
const renamed = fc
  .tuple(place, place)
  .map(
    ([a, b]): Damage =>
      ofEvents((events) =>
        events.map((one, i) =>
          i === at(events, a) ? { ...one, type: (events[at(events, b)] as TurnEvent).type } : one,
        ),
      ),
  );

/** A value somewhere in an event, exchanged: the path is drawn as it is walked. */
const altered = fc
  .tuple(place, fc.array(place, { minLength: 1, maxLength: 5 }), fc.jsonValue())
  .map(
    ([n, path, value]): Damage =>
      ofEvents((events) =>
        events.map((one, i) => (i === at(events, n) ? ofKnownType(exchange(one as never, path, value)) : one)),
      ),
  );

/** The event; none where its type is none that there is: nobody would seal that. */
const ofKnownType = (event: unknown): readonly TurnEvent[] =>
  isPlainObject(event) && eventTypes.some((type) => type === event["type"]) ? [event as unknown as TurnEvent] : [];

function exchange(holder: unknown, [step, ...rest]: readonly number[], value: unknown): unknown {
  if (step === undefined || typeof holder !== "object" || holder === null) return value;
  const keys = Object.keys(holder);
  if (keys.length === 0) return value;
  const key = keys[step % keys.length] as string;
  const inner = exchange((holder as Record<string, unknown>)[key], rest, value);
  return Array.isArray(holder)
    ? holder.map((one, i) => (String(i) === key ? inner : one))
    : { ...holder, [key]: inner };
}

const shifted = fc.tuple(place, fc.integer({ min: -100_000_000, max: 100_000_000 })).map(
  ([n, ms]): Damage =>
    (rows) =>
      rows.map((row, i) =>
        i === at(rows, n) ? { ...row, envelope: { ...row.envelope, now: row.envelope.now + ms } } : row,
      ),
);

const damages = fc.array(fc.oneof(truncated, dropped, doubled, swapped, renamed, altered, shifted), {
  minLength: 1,
  maxLength: 3,
});

/** How the replay of damaged rows ends: as a replay, or with a code. */
async function ends(rows: readonly TurnRow[], rules: KernelOptions): Promise<Replay | string> {
  try {
    return await replayRows(rows, rules);
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) return thrown.error.code;
    throw thrown;
  }
}

async function expectEnd(rows: readonly Turn[], damage: readonly Damage[], rules: KernelOptions): Promise<void> {
  const sealed = putTogether(damage.reduce((found, make) => make(found), rows));
  const end = await ends(sealed, rules);
  if (typeof end === "string") expect(end).toMatch(/^T\d_/);
  else expect(end.identical).toBe(end.difference === null);
}

describe("a record that somebody damaged, with a sound chain", () => {
  const unhandled: unknown[] = [];
  const hear = (thrown: unknown): void => void unhandled.push(thrown);
  beforeAll(() => void process.on("unhandledRejection", hear));
  afterAll(() => void process.off("unhandledRejection", hear));

  it("of any story ends in a replay that says what differs, or in an error with a code", async () => {
    await fc.assert(
      fc.asyncProperty(anyStory(), fc.array(damages, { minLength: 8, maxLength: 8 }), async (told, many) => {
        await using play = await playStory(told);
        const rows = takeApart(await Array.fromAsync(play.t.kernel.export(play.id)));
        const { seed: _seed, ...rules } = optionsOf(createStage(told));
        for (const damage of many) await expectEnd(rows, damage, rules);
      }),
      { numRuns: runs(30) },
    );
    expect(unhandled).toEqual([]);
  });

  it("differs at any event that was left out, doubled or put elsewhere", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    const rows = takeApart(await Array.fromAsync(t.kernel.export(workflow_id)));
    const count = rows.flatMap(({ events }) => events).length;
    const changes = [
      (i: number) => ofEvents((events) => events.map((one, k) => (k === i ? [] : one))),
      (i: number) => ofEvents((events) => events.map((one, k) => (k === i ? [one, one] : one))),
      (i: number) =>
        ofEvents((events) => events.map((one, k) => events[k === i ? k - 1 : k === i - 1 ? k + 1 : k] ?? one)),
    ];
    for (const change of changes)
      for (let i = 1; i < count - 1; i += 1) {
        const end = await ends(putTogether(change(i)(rows)), { capabilities: [capability] });
        expect(typeof end === "string" || end.difference !== null, `event ${i + 1}`).toBe(true);
      }
  });
});
