// The ready queue alone, against the plainest thing that could be right: sort all that is ready, take the first.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ReadyQueue } from "../../src/engine/actors/ready-queue.ts";
import { runs } from "../properties/property-runs.ts";

interface Entry {
  readonly id: number;
  readonly priority: number;
  readonly sequence: number;
  readonly dependencies: readonly number[];
}

class PlainQueue {
  readonly entries = new Map<number, Entry>();
  next(): number | undefined {
    const ready = [...this.entries.values()].filter(({ dependencies }) => dependencies.length === 0);
    return ready.sort((a, b) => b.priority - a.priority || a.sequence - b.sequence)[0]?.id;
  }
  without(dependency: number, ...instead: readonly number[]): void {
    for (const [id, entry] of this.entries) {
      if (!entry.dependencies.includes(dependency)) continue;
      const dependencies = new Set([...entry.dependencies.filter((other) => other !== dependency), ...instead]);
      this.entries.set(id, { ...entry, dependencies: [...dependencies] });
    }
  }
}

const id = fc.integer({ min: 0, max: 9 });
const act = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constant("add" as const),
      id,
      priority: fc.nat({ max: 3 }),
      ids: fc.array(id, { maxLength: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constantFrom("complete" as const, "remove" as const), id }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("take" as const) }) },
  fc.record({ act: fc.constant("replace" as const), id, ids: fc.array(id, { maxLength: 2 }) }),
);
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

function playBoth(queue: ReadyQueue<number>, plain: PlainQueue, each: Act, sequence: number): void {
  switch (each.act) {
    case "add": {
      const dependencies = [...new Set(each.ids)];
      queue.add({ id: each.id, priority: each.priority, sequence, dependencies: each.ids });
      if (!plain.entries.has(each.id))
        plain.entries.set(each.id, { id: each.id, priority: each.priority, sequence, dependencies });
      return;
    }
    case "complete":
      queue.complete(each.id);
      return plain.without(each.id);
    case "remove":
      queue.remove(each.id);
      plain.entries.delete(each.id);
      return;
    case "take":
      expect(queue.next()).toBe(plain.next());
      queue.remove(plain.next() ?? -1);
      plain.entries.delete(plain.next() ?? -1);
      return;
    case "replace":
      queue.replace(
        each.id,
        each.ids.filter((other) => other !== each.id),
      );
      return plain.without(each.id, ...each.ids.filter((other) => other !== each.id));
  }
}

describe("the ready queue", () => {
  it("[TOK-04] [TOK-05] [TOK-08] answers as sorting all that is ready would, whatever is done to it", () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
        const [queue, plain] = [new ReadyQueue<number>(), new PlainQueue()];
        for (const [sequence, each] of acts.entries()) {
          playBoth(queue, plain, each, sequence);
          expect([queue.next(), queue.size]).toEqual([plain.next(), plain.entries.size]);
        }
        const sorted = [...plain.entries.values()].sort((a, b) => a.sequence - b.sequence);
        expect(queue.entries().map((e) => [e.id, [...e.dependencies].sort()])).toEqual(
          sorted.map((e) => [e.id, [...e.dependencies].sort()]),
        );
        for (const other of sorted) expect(queue.dependenciesOf(other.id).length).toBe(other.dependencies.length);
        for (let dependency = 0; dependency < 10; dependency += 1)
          expect(queue.dependentsOf(dependency)).toEqual(
            sorted.filter(({ dependencies }) => dependencies.includes(dependency)).map((entry) => entry.id),
          );
      }),
      { numRuns: runs(1000) },
    );
  });

  it("[C-49] gives the entry of the highest priority, and among equals that of the lowest sequence", () => {
    const queue = new ReadyQueue<string>();
    for (const [sequence, [name, priority]] of (
      [
        ["a", 1],
        ["b", 5],
        ["c", 5],
        ["d", 3],
      ] as const
    ).entries())
      queue.add({ id: name, priority, sequence, dependencies: [] });
    const order: string[] = [];
    for (let next = queue.next(); next !== undefined; next = queue.next()) {
      order.push(next);
      queue.remove(next);
    }
    expect(order).toEqual(["b", "c", "d", "a"]);
  });

  it("[C-49] an entry that comes back takes the place that its sequence gives it", () => {
    const queue = new ReadyQueue<string>();
    for (const [sequence, name] of ["a", "b"].entries())
      queue.add({ id: name, priority: 0, sequence, dependencies: [] });
    queue.remove("a");
    expect(queue.next()).toBe("b");
    queue.add({ id: "a", priority: 0, sequence: 0, dependencies: [] });
    expect(queue.next()).toBe("a");
  });

  it("[TOK-08] a hundred thousand entries, each waiting for others, come out in a moment", { timeout: 20_000 }, () => {
    const queue = new ReadyQueue<number>();
    const count = 100_000;
    for (let i = 0; i < count; i += 1)
      queue.add({ id: i, priority: i % 256, sequence: i, dependencies: i > 9 ? [i - 1, i - 9] : [] });
    let taken = 0;
    for (let next = queue.next(); next !== undefined; next = queue.next()) {
      queue.remove(next);
      queue.complete(next);
      taken += 1;
    }
    expect([taken, queue.size]).toEqual([count, 0]);
  });
});
