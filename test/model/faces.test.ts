/**
 * The paths through the charts of workflows and steps once more, with the orders of people given over HTTP or MCP and
 * the state read there: the same paths lead to the same states. One kernel serves all walks, so those are left out in
 * which a process dies. A watched step parks for a time, an event or its items, by turns; every other workflow is
 * paused before each of its events, which changes nothing.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCoverage, type Driver, titleOf, walkPath } from "./driver.ts";
import { FaceSubject, type Faces, NotOverFaces, openFaces } from "./face-subject.ts";
import type { ChartPath, Model } from "./paths.ts";
import * as steps from "./step-walk.ts";
import * as workflows from "./workflow-walk.ts";

let faces: Faces;
beforeAll(async () => {
  faces = await openFaces();
});
afterAll(() => faces[Symbol.asyncDispose]());

const kinds = ["sleep", "wait", "each"] as const;

interface Walk {
  readonly model: Model;
  readonly replansOf: (path: ChartPath) => number;
  readonly prepare: (subject: FaceSubject, path: ChartPath) => void;
  readonly createDriver: (path: ChartPath, subject: FaceSubject) => Driver;
  /** The transitions that take a process that dies, or one of other limits. */
  readonly left: readonly string[];
}

const walks: Readonly<Record<string, Walk>> = {
  workflow: {
    ...workflows,
    prepare: ({ script }) => script.queue("done", "succeed"),
    left: [
      "planned + WORKFLOW_FAILED",
      "running + GATE_EXPIRED",
      "waiting_for_user + WORKFLOW_FAILED",
      "waiting_for_user + WORKFLOW_CANCELLING",
      "waiting + WORKFLOW_FAILED",
      "cancelling + USER_APPROVED",
      "cancelling + USER_REJECTED",
    ],
  },
  step: {
    ...steps,
    replansOf: () => 0,
    prepare: ({ script, parks }, path) => steps.prepare(script, path, parks),
    left: [
      "running.judging + GATE_REVISED(basis)",
      "running.judging + ACTION_STARTED(recovered)",
      "running.judging + ACTION_IN_DOUBT",
      "running.awaiting_approval + GATE_REVISED(basis)",
      "running.calling + ACTION_STARTED(recovered)",
      "running.calling + STEP_FAILED",
      "running.calling + ACTION_IN_DOUBT",
      "running.in_doubt + USER_APPROVED",
      "running.in_doubt + USER_REJECTED",
      "running.in_doubt + ACTION_SETTLED(failed)",
      "running.in_doubt + ACTION_SETTLED(retry)",
      "running.in_doubt + ACTION_SETTLED(done)",
      "running.backing_off + ACTION_STARTED(recovered)",
      "running.backing_off + STEP_FAILED",
      "running.backing_off + ACTION_IN_DOUBT",
    ],
  },
};

/** Walks the paths over the faces by turns, and returns the transitions that were taken. */
async function walkAll({ model, replansOf, prepare, createDriver }: Walk): Promise<ReadonlySet<string>> {
  const coverage = createCoverage();
  const walked = model.paths.filter((path) => !steps.movesBasis(path));
  for (const [i, path] of walked.entries()) {
    const door = faces.doors[i % 2] as Faces["doors"][number];
    const parks = kinds[i % kinds.length] as (typeof kinds)[number];
    await using subject = new FaceSubject({ faces, door, parks, replans: replansOf(path) });
    prepare(subject, path);
    await subject.submit();
    const driver = createDriver(path, subject);
    try {
      await walkPath(model, path, i % 4 < 2 ? driver : pausing(driver, subject), coverage);
    } catch (thrown) {
      const isLeft = String(thrown).includes(NotOverFaces.text);
      if (!isLeft) throw new Error(`${titleOf(path)}, over ${door.name}: ${String(thrown)}`, { cause: thrown });
    }
  }
  return coverage.pairs;
}

const pausing = (driver: Driver, subject: FaceSubject): Driver => ({
  ...driver,
  async bring(event, next) {
    await subject.pauseAndResume();
    await driver.bring(event, next);
  },
});

describe("[CARD-10] the paths through a chart, over HTTP and MCP", () => {
  it.each(Object.entries(walks))("lead to the states of the chart of a %s", async (_name, walk) => {
    const taken = await walkAll(walk);
    expect(walk.model.pairs.filter((pair) => !taken.has(pair))).toEqual(walk.left);
  });
});
