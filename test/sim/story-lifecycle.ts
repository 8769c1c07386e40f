/**
 * Steps that sleep or fail by the plan's choice, conditions, joins that wait for any end, limits of a package. They are
 * drawn from a stream of their own, and for seeds from their base on (`draw-bases.ts`).
 */
import type { Condition } from "../../src/contract/condition.ts";
import type { Json } from "../../src/contract/json.ts";
import { drawBases } from "./draw-bases.ts";
import { type Draw, drawing } from "./drawing.ts";
import type { Story, StoryStep } from "./story.ts";
import { weave } from "./story-features.ts";

/** A condition of a step on the output of another that comes before it. */
export interface StoryWhen {
  readonly of: string;
  readonly test: keyof typeof tests;
}

export type Kind = "sleep" | "wait" | "fail" | "run" | "ask" | "each" | "repeat";

const tests = {
  exists: (value: Json): Condition => ({ value, exists: true }),
  missing: (value: Json): Condition => ({ value, exists: false }),
  nobody: (value: Json): Condition => ({ value, equals: "nobody" }),
  somebody: (value: Json): Condition => ({ not: { value, one_of: ["nobody"] } }),
  itself: (value: Json): Condition => ({
    all: [{ value, exists: true }],
    any: [
      { value, at_least: 1 },
      { value, equals: value },
    ],
  }),
} as const;

/** Returns the condition as a plan has it. */
export const conditionOf = ({ test }: StoryWhen, value: string): Condition => tests[test](value);

const truths: Readonly<Record<StoryWhen["test"], (isThere: boolean) => boolean>> = {
  exists: (isThere) => isThere,
  missing: (isThere) => !isThere,
  nobody: () => false,
  somebody: () => true,
  itself: (isThere) => isThere,
};

/** Returns whether a condition holds, by whether the value is there that it is about. */
export const isTrue = ({ test }: StoryWhen, isThere: boolean): boolean => truths[test](isThere);

const stream = 0x3c6ef372;
const day = 86_400_000;
const start = Date.UTC(2026, 0, 1);

export function withLifecycle(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (story.seed < drawBases.lifecycle || !draw.chance(0.7)) return story;
  const slept = draw.chance(0.7) ? addSleeps(draw, story.steps) : story.steps;
  const joined = draw.chance(0.5) ? slept.map((step) => withSettled(draw, step)) : slept;
  const chosen = draw.chance(0.6) ? joined.map((step) => withCondition(draw, step, joined)) : joined;
  const steps = draw.chance(0.3) ? addFailing(draw, chosen) : chosen;
  const packageLimits = draw.chance(0.25) ? drawLimits(draw) : {};
  return { ...story, steps, packageLimits, actions: weave(draw, story.actions, ["pass"]) };
}

const drawLimits = (draw: Draw): Story["packageLimits"] => ({
  ...(draw.chance(0.7) ? { maxReplans: draw.upTo(4) } : {}),
  ...(draw.chance(0.4) ? { maxSteps: 3 + draw.upTo(60) } : {}),
});

export const quiet = { operator: -1, gate: null, outcome: false, applies: null, behaviours: [] } as const;

/** A step is put in at a place: what comes before may be what it waits for, and what comes after may wait for it. */
export function putIn(
  draw: Draw,
  steps: readonly StoryStep[],
  made: Pick<StoryStep, "id" | "kind"> & Partial<StoryStep>,
): StoryStep[] {
  const place = draw.upTo(steps.length + 1);
  const before = steps.slice(0, place);
  const depends_on = before.map(({ id }) => id).filter(() => draw.chance(Math.min(0.5, 1.5 / steps.length)));
  const after = steps
    .slice(place)
    .map((step) => (draw.chance(0.4) ? { ...step, depends_on: [...step.depends_on, made.id] } : step));
  return [...before, { ...quiet, ...made, depends_on }, ...after];
}

const spans = [0, 1, 300, 2_000, 2_000, 20_000, 20_000, 600_000, 40 * day] as const;

const drawSleep = (draw: Draw): StoryStep["params"] =>
  draw.chance(0.75)
    ? { ms: draw.pick(spans) }
    : { until: new Date(start + draw.pick([-day, 10_000, 3_600_000])).toISOString() };

function addSleeps(draw: Draw, steps: readonly StoryStep[]): readonly StoryStep[] {
  let added = steps;
  for (let i = 1, many = 1 + draw.upTo(3); i <= many; i += 1)
    added = putIn(draw, added, { id: `z${i}`, kind: "sleep", params: drawSleep(draw) });
  return added;
}

/** Most have a condition: a story in which nothing but a failing step goes on tells little. */
function addFailing(draw: Draw, steps: readonly StoryStep[]): readonly StoryStep[] {
  const added = putIn(draw, steps, { id: "f1", kind: "fail", params: { code: "NOT_SO", message: "the plan fails" } });
  return added.map((step) => {
    if (step.id !== "f1" || step.depends_on.length === 0) return step;
    const settled = draw.chance(0.6) ? step.depends_on : [];
    const test = draw.pick<StoryWhen["test"]>(["missing", "missing", "nobody", "exists"]);
    const when = { of: draw.pick(step.depends_on), test };
    return draw.chance(0.85) ? { ...step, settled, when } : { ...step, settled };
  });
}

function withSettled(draw: Draw, step: StoryStep): StoryStep {
  const settled = step.depends_on.filter(() => draw.chance(0.35));
  return settled.length === 0 ? step : { ...step, settled };
}

function withCondition(draw: Draw, step: StoryStep, steps: readonly StoryStep[]): StoryStep {
  if (step.depends_on.length === 0 || !draw.chance(0.35)) return step;
  const nearer = draw.pick(step.depends_on);
  const further = steps.find(({ id }) => id === nearer)?.depends_on ?? [];
  const of = further.length > 0 && draw.chance(0.25) ? draw.pick(further) : nearer;
  return { ...step, when: { of, test: draw.pick(Object.keys(tests) as StoryWhen["test"][]) } };
}
