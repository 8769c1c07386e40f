/** The step lifecycle, each declared transition taken by a real kernel on a real file. */
import { describe, expect, it } from "vitest";
import { createCoverage, titleOf, walkPath } from "./driver.ts";
import type { ChartPath } from "./paths.ts";
import { createDriver, model, movesBasis, prepare } from "./step-walk.ts";
import { Subject } from "./subject.ts";

const coverage = createCoverage();

async function open(path: ChartPath): Promise<Subject> {
  const subject = await Subject.open({ limits: { maxReplans: 0, ...(movesBasis(path) && { maxConcurrentSteps: 1 }) } });
  prepare(subject.script, path);
  await subject.submit();
  return subject;
}

describe("[CARD-10] each path through the step lifecycle, on the real kernel", () => {
  it.each(model.paths.map((path) => [titleOf(path), path] as const))("%s", async (_title, path) => {
    await using subject = await open(path);
    await walkPath(model, path, createDriver(path, subject), coverage);
  });
});

describe("what these walks have covered", () => {
  it("[CARD-10] [CARD-11] every transition that the step lifecycle declares was taken by the kernel", () => {
    expect(model.pairs.filter((pair) => !coverage.pairs.has(pair))).toEqual([]);
  });

  it("[CARD-11] [EXE-02] every state was rested in and read back", () => {
    expect(model.states.filter((state) => !coverage.states.has(state))).toEqual([]);
  });
});
