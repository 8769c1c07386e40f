/**
 * Queues in which workflows of a story, and their children, wait for a place, by a key and a priority of the request.
 * Drawn from a stream of their own.
 */
import { drawBases } from "./draw-bases.ts";
import { drawing } from "./drawing.ts";
import type { Action, Story } from "./story.ts";
import { weave } from "./story-features.ts";
import { storyIntent } from "./story-package.ts";

/** How many workflows run at once, of one key if there are keys, and how many children; null for no limit. */
export interface StoryQueues {
  readonly own: number | null;
  readonly isKeyed: boolean;
  readonly hasPriorities: boolean;
  readonly ofChildren: number | null;
}

export interface QueueOfStory {
  readonly name: string;
  readonly key: string;
  readonly concurrency: number;
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

/** Returns the queue of the story's own workflows; releases of all versions share it. */
export const ownQueue = ({ queues }: Story): QueueOfStory | null =>
  queues === null || queues.own === null
    ? null
    : { name: "story", key: queues.isKeyed ? "{{input.line}}" : "", concurrency: queues.own };

/** Returns the queue of the story's children. A child of a child works in the place of its parent. */
export const childQueue = ({ queues }: Story): QueueOfStory | null =>
  queues === null || queues.ofChildren === null ? null : { name: "children", key: "", concurrency: queues.ofChildren };

/** Returns the members of a request that say what is asked for, and its turn. */
export function queuedAs({ queues }: Story, { by, how }: Action) {
  const inputs = queues?.isKeyed ? { line: `line ${how % 2}` } : {};
  const isRanked = queues !== null && queues.own !== null && queues.hasPriorities;
  return {
    intent_hint: { intent_type: storyIntent, inputs },
    ...(isRanked && { queue: { priority: by % 3 } }),
  };
}
