/**
 * Steps that add steps while they run: one for each item of a list, with keys, a concurrency and failures that are
 * tolerated; and rounds until a condition holds, with a pause between them. Drawn from a stream of their own.
 */
import type { Condition } from "../../src/contract/condition.ts";
import type { Json } from "../../src/contract/json.ts";
import { drawBases } from "./draw-bases.ts";
import { drawGate } from "./draw-gate.ts";
import { type Draw, drawing } from "./drawing.ts";
import type { Behaviour, Story, StoryStep } from "./story.ts";
import { childIntent } from "./story-children.ts";
import { putIn } from "./story-lifecycle.ts";

/** The list of a step, and how it is gone through. */
export interface StoryList {
  readonly items: readonly { readonly id: string; readonly n: number }[];
  readonly isKeyed: boolean;
  readonly concurrency: number;
  readonly tolerate: number | "all" | "25%" | "50%";
  /** Whether each item runs a child in place of a call. */
  readonly runs?: true;
  /** The least number of an item that is not left out by the condition of its call. */
  readonly from: number;
}

/** The rounds of a step: how many it makes at most, the round after which it ends, the pause between two of them. */
export interface StoryRounds {
  readonly max: number;
  readonly until: number;
  readonly every_ms: number;
}

const stream = 0x2545f491;
const childStream = 0x6a09e667;

export function withGrowth(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (story.seed < drawBases.growth || !draw.chance(0.8)) return story;
  let { steps } = story;
  for (let i = 1, many = 1 + draw.upTo(2); i <= many; i += 1) {
    const isList = draw.chance(0.65);
    const made = isList ? { kind: "each", list: drawList(draw) } : { kind: "repeat", repeats: drawRounds(draw) };
    steps = putIn(draw, steps, {
      ...(made as Pick<StoryStep, "kind" | "list" | "repeats">),
      id: `g${i}`,
      operator: draw.upTo(story.operators.length),
      gate: draw.chance(0.2) ? drawGate(draw) : null,
      behaviours: Array.from({ length: draw.upTo(6) }, () => draw.pick(draw.chance(0.7) ? usual : rare)),
    });
  }
  return withChildrenOfItems({ ...story, steps });
}

/** Some lists run a child for each item, in a story that has children. Drawn from a stream of their own. */
function withChildrenOfItems(story: Story): Story {
  const draw = drawing(story.seed ^ childStream);
  if (story.childSteps.length === 0) return story;
  const steps = story.steps.map((step) =>
    step.list !== undefined && draw.chance(0.5)
      ? { ...step, gate: null, list: { ...step.list, runs: true as const } }
      : step,
  );
  return { ...story, steps };
}

const usual: readonly Behaviour[] = ["ok", "ok", "slow", "slow", "talks", "nothing"];
const rare: readonly Behaviour[] = ["throws", "sent_throws", "transient", "transient", "fatal", "fatal", "sent_never"];

function drawList(draw: Draw): StoryList {
  const size = draw.chance(0.1) ? 0 : draw.chance(0.1) ? 40 : 1 + draw.upTo(7);
  return {
    items: Array.from({ length: size }, (_, n) => ({ id: `i${size - n}`, n })),
    isKeyed: draw.chance(0.5),
    concurrency: 1 + draw.upTo(4),
    tolerate: draw.pick([0, 0, 1, 2, "all", "25%", "50%"]),
    from: draw.chance(0.2) ? draw.upTo(3) : 0,
  };
}

const drawRounds = (draw: Draw): StoryRounds => ({
  max: 1 + draw.upTo(4),
  until: 1 + draw.upTo(4),
  every_ms: draw.pick([0, 0, 300, 2_000, 20_000, 600_000]),
});

/** Returns whether the condition of a call holds for an item of its list. */
export const isTaken = ({ from }: StoryList, item: Json): boolean => (item as { readonly n: number }).n >= from;

/** The call that a step makes, as its plan has it. */
interface GrowingCall {
  readonly operator: string;
  readonly params: Readonly<Record<string, Json>>;
  readonly gate?: object;
}

/** Returns the members that the plan has of a step that adds steps; `id` is its id in the plan. */
export function growingDraft({ list, repeats }: StoryStep, id: string, call: GrowingCall): object {
  if (list === undefined) {
    const { max = 1, until = 1, every_ms = 0 } = repeats ?? {};
    const value = `{{${id}.output.by}}`;
    const params = { ...call.params, last: `{{${id}.output.by ?? "none"}}` };
    return { params: {}, do: { ...call, params }, until: endsIn(value, id, until), max, every_ms };
  }
  const { items, isKeyed, concurrency, tolerate, from, runs } = list;
  const when = from === 0 ? {} : { when: { value: "{{item.output.n}}", at_least: from } };
  return {
    params: { items: items as unknown as Json },
    do: runs
      ? { kind: "run", params: { intent: childIntent, inputs: { depth: 0 } }, ...when }
      : { ...call, params: { ...call.params, item: "{{item.output.id}}" }, ...when },
    ...(isKeyed && { key: "{{item.output.id}}" }),
    concurrency,
    tolerate,
  };
}

/** A round gives the id of the step that made it, in whichever plan it stands. */
const endsIn = (value: string, id: string, until: number): Condition => ({
  value,
  one_of: [`${id}:${until}`, ...[1, 2, 3, 4, 5, 6].map((n) => `${id}_r${n}:${until}`)],
});
