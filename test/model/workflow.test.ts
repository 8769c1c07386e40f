/** The workflow lifecycle, each declared transition taken by a real kernel on a real file. */
import { describe, expect, it } from "vitest";
import { createCoverage, titleOf, walkPath } from "./driver.ts";
import type { ChartPath } from "./paths.ts";
import { Subject } from "./subject.ts";
import { createDriver, model, replansOf } from "./workflow-walk.ts";

const coverage = createCoverage();

async function open(path: ChartPath): Promise<Subject> {
  const subject = await Subject.open({ limits: { maxReplans: replansOf(path) } });
  subject.script.queue("done", "succeed");
  await subject.submit();
  return subject;
}

describe("[CARD-10] [EXE-01] each path through the workflow lifecycle, on the real kernel", () => {
  it.each(model.paths.map((path) => [titleOf(path), path] as const))("%s", async (_title, path) => {
    await using subject = await open(path);
    await walkPath(model, path, createDriver(path, subject), coverage);
  });
});

describe("what these walks have covered", () => {
  it("[CARD-10] [CARD-11] [EXE-01] every declared transition of the workflow was taken by the kernel", () => {
    expect(model.pairs.filter((pair) => !coverage.pairs.has(pair))).toEqual([]);
  });

  it("[CARD-11] [EXE-01] every state was rested in and read back", () => {
    expect(model.states.filter((state) => !coverage.states.has(state))).toEqual([]);
  });
});
