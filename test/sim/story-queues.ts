/**
 * Queues in which workflows of a story, and their children, wait for a place, by a key and a priority of the request.
 * Drawn from a stream of their own.
 */
import type { QueuePolicy } from "../../src/contract/queue.ts";
import type { QueueLimits } from "../../src/contract/queue-limits.ts";
import { ask, at, callerOf } from "./ask.ts";
import { drawBases } from "./draw-bases.ts";
import { type Draw, drawing } from "./drawing.ts";
import type { Stage } from "./play-story.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Action, Story } from "./story.ts";
import { weave } from "./story-features.ts";
import { scatter } from "./story-forks.ts";
import { storyIntent } from "./story-package.ts";

/** How many workflows run at once, of one key if there are keys, and how many children; null for no limit. */
export interface StoryQueues {
  readonly own: number | null;
  readonly isKeyed: boolean;
  readonly hasPriorities: boolean;
  readonly ofChildren: number | null;
  /** The bound on how many of them begin within a time; the same for children. */
  readonly rate?: NonNullable<QueuePolicy["rate"]>;
  /** The answer to a request while another workflow of its key runs, or how many may wait. */
  readonly bound?: Pick<QueuePolicy, "singleton" | "maxWaiting">;
  /** The time for which a request waits for a newer one, which supersedes it. */
  readonly debounce?: { readonly ms: number; readonly maxMs: number };
  /** What a person sets the limits of a queue to. */
  readonly orders?: readonly (QueueLimits | null)[];
}

const stream = 0x3c6ef372;

export function withQueues(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (story.seed < drawBases.queues || !draw.chance(0.8)) return story;
  const queues: StoryQueues = {
    own: draw.chance(0.85) ? draw.pick([1, 1, 1, 2, 2, 3]) : null,
    isKeyed: draw.chance(0.4),
    hasPriorities: draw.chance(0.5),
    ofChildren: story.childSteps.length > 0 && draw.chance(0.6) ? draw.pick([1, 1, 2]) : null,
  };
  return { ...story, queues, actions: weave(draw, story.actions, ["submit", "submit", "end_call", "cancel", "crash"]) };
}

const limitStream = 0x6c62272e;

/** Draws rates, singletons, rooms for those who wait, and limits that a person sets, from a stream of their own. */
export function withQueueLimits(story: Story): Story {
  const draw = drawing(story.seed ^ limitStream);
  if (story.seed < drawBases.queueLimits || story.queues === null || !draw.chance(0.75)) return story;
  const isSingle = draw.chance(0.35);
  const singleton = draw.pick(["refuse", "return_existing", "replace", "replace"] as const);
  const queues: StoryQueues = {
    ...story.queues,
    ...(draw.chance(0.5) && { rate: { limit: 1 + draw.upTo(2), perMs: draw.pick([300, 3_000, 60_000]) } }),
    ...(isSingle ? { own: 1, bound: { singleton } } : draw.chance(0.5) && { bound: { maxWaiting: draw.upTo(3) } }),
    orders: Array.from({ length: 3 }, () => drawLimits(draw)),
  };
  const actions = scatter(draw, story.actions, ["limit_queue", "limit_queue", "submit", "tick"], 6);
  return { ...story, queues, actions };
}

const debounceStream = 0x27d4eb2f;

/** Draws requests that newer ones of their key supersede, from a stream of their own. */
export function withDebounce(story: Story): Story {
  const draw = drawing(story.seed ^ debounceStream);
  if (story.seed < drawBases.schedules || !draw.chance(0.5)) return story;
  const { bound: _bound, ...queues } = story.queues ?? {
    isKeyed: draw.chance(0.5),
    hasPriorities: false,
    ofChildren: null,
    own: null,
  };
  const ms = draw.pick([300, 3_000, 12_000]);
  const debounce = { ms, maxMs: ms * draw.pick([1, 2, 4]) };
  const actions = scatter(draw, story.actions, ["submit", "submit", "submit", "tick", "crash"], 9);
  const own = queues.own ?? draw.pick([1, 1, 2]);
  return { ...story, queues: { ...queues, own, debounce }, actions };
}

function drawLimits(draw: Draw): QueueLimits | null {
  if (draw.chance(0.25)) return null;
  const rate = draw.chance(0.3) ? null : { limit: 1 + draw.upTo(3), per_ms: draw.pick([500, 5_000, 30_000]) };
  return {
    ...(draw.chance(0.7) && { concurrency: 1 + draw.upTo(3) }),
    ...(draw.chance(0.5) && { rate }),
  };
}

/** Somebody sets the limits of a queue, or lifts those that were set. */
export function limitQueue(stage: Stage, { of, how }: Action, process: SimulatedProcess): undefined {
  const limits = at(stage.story.queues?.orders ?? [], how);
  if (limits === undefined) return undefined;
  const name = of % 3 === 2 ? "children" : "story";
  return ask(stage, { process, what: "limit queue" }, (kernel) =>
    kernel.limitQueue({ ...callerOf(3), name, limits, reason: "as the story says" }),
  );
}

/** Returns the queue of the story's own workflows; releases of all versions share it. */
export const ownQueue = ({ queues }: Story): QueuePolicy | null =>
  queues === null || queues.own === null
    ? null
    : {
        ...{ name: "story", key: queues.isKeyed ? "{{input.line}}" : "", concurrency: queues.own, priority: 0 },
        ...rateOf(queues),
        ...queues.bound,
        ...(queues.debounce !== undefined && { debounce: queues.debounce }),
      };

const rateOf = ({ rate }: StoryQueues): Pick<QueuePolicy, "rate"> => (rate === undefined ? {} : { rate });

/** Returns the queue of the story's children. A child of a child works in the place of its parent. */
export const childQueue = ({ queues }: Story): QueuePolicy | null =>
  queues === null || queues.ofChildren === null
    ? null
    : { name: "children", key: "", concurrency: queues.ofChildren, priority: 0, ...rateOf(queues) };

/** Returns the members of a request that say what is asked for, and its turn. */
export function queuedAs({ queues }: Story, { by, how }: Action) {
  const inputs = queues?.isKeyed ? { line: `line ${how % 2}` } : {};
  const isRanked = queues !== null && queues.own !== null && queues.hasPriorities;
  return {
    intent_hint: { intent_type: storyIntent, inputs },
    ...(isRanked && { queue: { priority: by % 3 } }),
  };
}
