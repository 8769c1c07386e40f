/** The order in which the ready queue tells what waits: by sequence, whatever was put in when. */
import { describe, expect, it } from "vitest";
import { ReadyQueue } from "../../src/engine/actors/ready-queue.ts";

describe("what waits for a step", () => {
  it("is told in sequence, also where it came to wait later", () => {
    const queue = new ReadyQueue<string>();
    const add = (id: string, sequence: number, dependencies: readonly string[]) =>
      queue.add({ id, priority: 0, sequence, dependencies });
    add("late", 3, ["b"]);
    add("early", 1, ["a"]);
    add("between", 2, ["a"]);
    queue.replace("a", ["b"]);
    expect(queue.dependentsOf("b")).toEqual(["early", "between", "late"]);
    expect(queue.entries().map(({ id }) => id)).toEqual(["early", "between", "late"]);
  });
});
