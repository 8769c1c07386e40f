/**
 * A rolling deploy: processes of one story that run another release of the host's code beside the first one, with
 * operators that are otherwise or not known, another template, rules that decide otherwise. Drawn from a stream of its
 * own.
 *
 * D1  What a release changes may have a version of its own, or not: a host may forget to say so.
 * D2  Whoever is opened last of all knows whatever any release has known.
 */
import { enrichGate } from "./draw-gate.ts";
import { type Draw, drawing } from "./drawing.ts";
import type { GateInput, Story, StoryOperator } from "./story.ts";
import { type Features, weave } from "./story-features.ts";

export interface StoryRelease {
  /** Of the package it brings. */
  readonly version: "1.0" | "2.0";
  /** Whether it brings the package of before as well. */
  readonly pins: boolean;
  /** What its operators are otherwise, and those that it does not know, by their places. */
  readonly operators: Readonly<Record<number, Partial<StoryOperator>>>;
  readonly lacks: readonly number[];
  /** What its template has no more, and the gates that it has now. */
  readonly omits: readonly string[];
  readonly gates: Readonly<Record<string, GateInput>>;
  readonly rulings: Partial<Pick<Features, "planRuling" | "outcomeRuling" | "gateRuling">>;
  readonly policyVersion: string | null;
}

export interface StoryDeploy {
  readonly release: StoryRelease;
  /** Which of the processes, in their order, run it; later ones do. */
  readonly runs: readonly boolean[];
}

const stream = 0x7feb352d;
const rolling = ["stop", "open", "tick", "end_call"] as const;

export function withDeploy(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (!draw.chance(0.2)) return story;
  const runs = Array.from({ length: 12 }, () => draw.chance(0.5));
  const deploy = { release: drawRelease(draw, story), runs };
  // Processes of a release are stopped, and others opened, with what they have under way.
  const actions = draw.chance(0.5) ? weave(draw, story.actions, rolling) : story.actions;
  return { ...story, deploy, actions };
}

function drawRelease(draw: Draw, { operators, steps }: Story): StoryRelease {
  const places = [...operators.keys()];
  const ids = steps.map(({ id }) => id);
  const changed = draw.chance(0.7) ? places.filter(() => draw.chance(0.4)) : [];
  const gated = draw.chance(0.3) ? ids.filter(() => draw.chance(0.3)) : [];
  const rulings = draw.chance(0.3) ? drawRulings(draw) : {};
  return {
    version: draw.pick(["1.0", "2.0"]),
    pins: draw.chance(0.5),
    operators: Object.fromEntries(changed.map((i) => [i, drawChange(draw)])),
    lacks: draw.chance(0.3) ? places.slice(1).filter(() => draw.chance(0.3)) : [],
    omits: draw.chance(0.3) ? ids.filter(() => draw.chance(0.3)) : [],
    gates: Object.fromEntries(gated.map((id) => [id, enrichGate(draw, null)])),
    rulings,
    policyVersion: draw.chance(0.6) ? "story-2" : null,
  };
}

const drawRulings = (draw: Draw): StoryRelease["rulings"] => ({
  planRuling: draw.pick(["none", "late", "REQUIRE_APPROVAL", "DENY"]),
  outcomeRuling: draw.pick(["none", "late", "TRANSFORM", "REDACT", "DENY"]),
  gateRuling: draw.pick(["none", "late", "DENY"]),
});

/** Under the version of before, or a new one. */
function drawChange(draw: Draw): Partial<StoryOperator> {
  const maybe = (change: Partial<StoryOperator>): Partial<StoryOperator> => (draw.chance(0.4) ? change : {});
  return {
    ...maybe({ timeoutSec: draw.pick([1, 30]) }),
    ...maybe({ retry: draw.pick(["NONE", "STANDARD", "AGGRESSIVE"]) }),
    ...maybe({ effect: draw.pick(["none", "read", "write_draft", "final_write"]) }),
    ...maybe({ idempotent: draw.chance(0.5) }),
    ...maybe({ ruling: draw.pick(["none", "later", "REQUIRE_APPROVAL", "TRANSFORM", "REDACT", "DENY"]) }),
    ...maybe({ version: "2.0" }),
  };
}

/** What runs in the nth process that was opened; null where it is the first release. */
export function releaseOf({ deploy }: Story, n: number): StoryRelease | null {
  if (deploy === null) return null;
  return (deploy.runs[n] ?? true) ? deploy.release : null;
}

/** Knows what either has known. */
export const wholeOf = (release: StoryRelease): StoryRelease => ({ ...release, pins: true, lacks: [] });

/** The story as a process of this release plays it. */
export function releasedAs(story: Story, release: StoryRelease | null): Story {
  if (release === null) return story;
  const operators = story.operators.map((operator, i) => ({ ...operator, ...release.operators[i] }));
  return { ...story, ...release.rulings, operators };
}

/** Its template: what is left of the steps, with the gates that they have now. */
export function templateOf({ steps }: Story, release: StoryRelease | null): Story["steps"] {
  if (release === null) return steps;
  const left = steps.filter(({ id, operator }) => !release.omits.includes(id) && !release.lacks.includes(operator));
  const ids = new Set(left.map(({ id }) => id));
  return left.map(({ when, ...step }) => ({
    ...step,
    ...(when !== undefined && ids.has(when.of) ? { when } : {}),
    gate: release.gates[step.id] ?? step.gate,
    depends_on: step.depends_on.filter((id) => ids.has(id)),
    ...(step.settled === undefined ? {} : { settled: step.settled.filter((id) => ids.has(id)) }),
    applies: step.applies !== null && ids.has(step.applies) ? step.applies : null,
  }));
}
