/**
 * What a story may have besides processes, people and faults: a host's hooks, checks, previews, securities and planner,
 * each with its manners; rules at every stage; gates that ask for more; budgets, odd limits; rounds of plans; what
 * people say otherwise than gates ask.
 *
 * F1  Drawn from a stream of its own: what else a seed says stays as it is. Each feature is in a share of the stories
 *     alone.
 * F2  Each list of answers runs dry, and what comes after it is answered at once, so that every story can be healed.
 * F3  A rule, and a check of params, says the same whenever it is asked about the same, in time: a replay asks it
 *     again. Not drawn: changes of memory between replicas, agents' turns.
 */
import { isDeepStrictEqual } from "node:util";
import type { Budgets } from "../../src/contract/budget.ts";
import type { Limits } from "../../src/engine/actors/runtime.ts";
import { enrichGate } from "./draw-gate.ts";
import { type Draw, drawing } from "./drawing.ts";
import type { Action, Behaviour, Deed, Story, StoryOperator, StoryStep } from "./story.ts";
import type { StoryMask } from "./story-masks.ts";
import type { StoryModels } from "./story-models.ts";
import type { StoryPerson } from "./story-persons.ts";
import type { StoryQueues } from "./story-queues.ts";
import type { StorySchedule } from "./story-schedules.ts";

/**
 * How somebody of the host's answers: `soon` in another turn of the loop, `late` when the story says so, or too late;
 * or throws.
 */
export const manners = [
  "at_once",
  "soon",
  "late",
  "never",
  "throws",
  "transient",
  "fatal",
  "policy",
  "nothing",
] as const;
export type Manner = (typeof manners)[number];

/** `odd`: what is no preview; `basis`: one that rests on what stands; `moved`: on what may have changed since. */
export type Shows = Manner | "odd" | "basis" | "moved";
/** `no`: it may not pass; `no_late`: the same, when the story says so. */
export type Verdict = Manner | "no" | "no_soon";
export type Plans = Manner | "nonsense";

/** A hook of the host's by its phases: how it answers, step by step and attempt by attempt; null where it has none. */
export interface StoryHooks {
  readonly before: readonly Manner[] | null;
  readonly after: readonly Manner[] | null;
  readonly onError: readonly Manner[] | null;
}

export interface Features {
  readonly hooks: readonly StoryHooks[];
  readonly security: Readonly<Record<"params" | "output" | "chunk", readonly Verdict[]>> | null;
  /** How the planner answers, one question after another; null: the package's own plan. */
  readonly planner: readonly Plans[] | null;
  /** How many more rounds a plan says that it continues with. */
  readonly rounds: number;
  readonly budgets: Budgets | null;
  readonly limits: Partial<Limits>;
  /** What rules say beside those on actions. */
  readonly planRuling: "none" | "soon" | "late" | "REQUIRE_APPROVAL" | "DENY";
  readonly outcomeRuling: "none" | "soon" | "late" | "TRANSFORM" | "REDACT" | "DENY";
  /** The last of the people may not decide, or the rule about it takes its time. */
  readonly gateRuling: "none" | "soon" | "late" | "DENY";
  readonly persons: readonly StoryPerson[];
  /** Whether requests are about something, in threads, and memory is written. */
  readonly memory: boolean;
  readonly models: StoryModels | null;
  readonly masks: readonly StoryMask[];
  /** The limits that the package sets for its own workflows. */
  readonly packageLimits: { readonly maxSteps?: number; readonly maxReplans?: number };
  /** The steps of the children that its steps run; none if none does. */
  readonly childSteps: readonly StoryStep[];
  /** The queues of its workflows and of their children; null if all may run at once. */
  readonly queues: StoryQueues | null;
  /** Whether people may add messages to its workflows. */
  readonly takesInput: boolean;
  /** The schedules that people set; none if there are none. */
  readonly schedules: readonly StorySchedule[];
  /** The intent types that every second process leaves to the others. */
  readonly leaves: readonly string[];
  /** What happens after all work has ended; it is then seen to its end once more. */
  readonly encore: readonly Action[];
}

export const noFeatures: Features = {
  hooks: [],
  security: null,
  planner: null,
  rounds: 0,
  budgets: null,
  limits: {},
  planRuling: "none",
  outcomeRuling: "none",
  gateRuling: "none",
  persons: [],
  memory: false,
  models: null,
  masks: [],
  packageLimits: {},
  childSteps: [],
  queues: null,
  takesInput: false,
  schedules: [],
  leaves: [],
  encore: [],
};

/** Those that a story has. */
export function featuresOf(story: Features): Partial<Features> {
  const names = Object.keys(noFeatures) as (keyof Features)[];
  const had = names.filter((name) => !isDeepStrictEqual(story[name], noFeatures[name]));
  return Object.fromEntries(had.map((name) => [name, story[name]]));
}

type Plain = Omit<Story, keyof Features>;

/** Any number of its own: it makes the stream of the features another one than that of the story. */
const stream = 0x2545f491;

export function withFeatures(plain: Plain): Story {
  const draw = drawing(plain.seed ^ stream);
  const features = drawFeatures(draw);
  const operators = draw.chance(0.4) ? plain.operators.map((one) => enrichOperator(draw, one)) : plain.operators;
  const steps = draw.chance(0.35) ? plain.steps.map((step) => enrichStep(draw, step)) : plain.steps;
  const said = draw.chance(0.5) ? weave(draw, plain.actions) : plain.actions;
  return { ...plain, ...features, operators, steps, actions: said };
}

export const some = <T>(draw: Draw, from: readonly T[], most: number): readonly T[] =>
  Array.from({ length: 1 + draw.upTo(most) }, () => draw.pick(from));

const calm: readonly Manner[] = ["at_once", "at_once", "soon", "soon", "late"];
export const wild: readonly Manner[] = [...calm, "never", "throws", "transient", "fatal", "policy", "nothing"];
const verdicts: readonly Verdict[] = [...calm, ...calm, "no", "no_soon", "throws", "never"];
/** Params are checked again where a story is replayed: of the same ones the same is said, in time. */
const firm: readonly Verdict[] = ["at_once", "at_once", "at_once", "soon", "soon", "no", "no_soon", "throws"];
const showings: readonly Shows[] = [...wild, "odd", "basis", "basis", "moved", "moved", "moved"];

function drawFeatures(draw: Draw): Features {
  const has = draw.chance;
  const hooks = has(0.2) ? Array.from({ length: 1 + draw.upTo(3) }, () => drawHooks(draw)) : [];
  const [params, output, chunk] = [firm, verdicts, verdicts].map((from) => some(draw, from, 6));
  return {
    ...noFeatures,
    hooks,
    security: has(0.12) ? ({ params, output, chunk } as Features["security"]) : null,
    planner: has(0.1) ? some(draw, [...wild, "nonsense"], 3) : null,
    rounds: has(0.12) ? 1 + draw.upTo(2) : 0,
    budgets: has(0.1) ? drawBudgets(draw) : null,
    limits: has(0.15) ? drawLimits(draw) : {},
    planRuling: has(0.1) ? draw.pick(["soon", "late", "REQUIRE_APPROVAL", "REQUIRE_APPROVAL", "DENY"]) : "none",
    outcomeRuling: has(0.15) ? draw.pick(["soon", "late", "TRANSFORM", "REDACT", "DENY"]) : "none",
    gateRuling: has(0.15) ? draw.pick(["soon", "late", "DENY"]) : "none",
  };
}

function drawHooks(draw: Draw): StoryHooks {
  const phase = (): readonly Manner[] | null => (draw.chance(0.6) ? some(draw, wild, 7) : null);
  return { before: phase(), after: phase(), onError: phase() };
}

function drawBudgets(draw: Draw): Budgets {
  const maybe = (of: Budgets): Budgets => (draw.chance(0.3) ? of : {});
  const limits = [
    { scope: "tenant", invocations: 2 + draw.upTo(20) },
    { scope: "tenant", money: 1 + draw.upTo(10), window: "hour" },
    { scope: "workflow", invocations: 1 + draw.upTo(6) },
    { scope: "operator", invocations: 1 + draw.upTo(8) },
    { scope: "principal", wall_ms: 100_000 + draw.upTo(1_000_000) },
  ] as const;
  return {
    ...maybe({ maxCost: 1 + draw.upTo(10) }),
    ...maybe({ perToken: 2 + draw.upTo(20) }),
    ...maybe({ governor: { tokens: 10 + draw.upTo(100) } }),
    limits: limits.filter(() => draw.chance(0.4)),
  };
}

/** Odd sizes: the least there may be, and some more. */
const oddSizes = {
  maxConcurrentSteps: [1, 2],
  maxRounds: [1, 2],
  maxOutputChars: [40, 400],
  maxBatch: [1, 2],
  maxBurst: [1, 2],
  restAfterMs: [0, 1, 100_000_000],
  maxRestingEvents: [0, 1, 10],
  maxStreamChunks: [0, 1],
  maxCallRecords: [0, 1],
  maxGateEntries: [0, 1],
  maxReports: [0, 1],
  maxRecentEvents: [0, 1],
  maxCachedBundles: [0, 1],
  maxBundleChars: [600],
  maxRowChars: [1, 400, 4_000],
  tailPollMs: [100, 60_000],
} as const satisfies Partial<Readonly<Record<keyof Limits, readonly number[]>>>;

function drawLimits(draw: Draw): Partial<Limits> {
  const drawn = Object.entries(oddSizes).filter(() => draw.chance(0.2));
  return Object.fromEntries(drawn.map(([name, sizes]) => [name, draw.pick<number>(sizes)]));
}

const rulings: readonly StoryOperator["ruling"][] = ["REDACT", "late", "late_TRANSFORM", "TRANSFORM", "later"];

function enrichOperator(draw: Draw, operator: StoryOperator): StoryOperator {
  return {
    ...operator,
    ruling: draw.chance(0.25) ? draw.pick(rulings) : operator.ruling,
    check: draw.chance(0.2) ? some(draw, wild, 5) : null,
    preview: draw.chance(0.4) ? some(draw, showings, 5) : null,
    cost: draw.upTo(4),
  };
}

const speaking: readonly Behaviour[] = ["emits", "uses", "talks_much", "blocked"];

function enrichStep(draw: Draw, step: StoryStep): StoryStep {
  const gate = step.gate !== null || draw.chance(0.2) ? enrichGate(draw, step.gate) : null;
  return draw.chance(0.4)
    ? { ...step, gate, behaviours: [draw.pick(speaking), ...step.behaviours] }
    : { ...step, gate };
}

const words: readonly Deed[] = [
  ...(["say", "say", "say", "say_again", "say_again", "foretell", "foretell"] as const),
  ...(["report", "settle", "rebase", "rebase"] as const),
];

/** Puts what people say otherwise between what happens anyway; that keeps its order. */
export function weave(draw: Draw, actions: readonly Action[], from = words): readonly Action[] {
  const between = (): readonly Action[] =>
    draw.chance(0.3)
      ? [{ does: draw.pick(from), at: draw.upTo(60), of: draw.upTo(60), by: draw.upTo(60), how: draw.upTo(60) }]
      : [];
  return actions.flatMap((action) => [action, ...between()]);
}
