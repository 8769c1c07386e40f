/**
 * Steps that apply one outcome by the same call, and so share an idempotency key: each with a gate and manners of its
 * own, and hooks that refuse one of them while another's call is made, in doubt, or being told of. Drawn from a stream
 * of its own.
 */
import { drawGate } from "./draw-gate.ts";
import { type Draw, drawing } from "./drawing.ts";
import type { Behaviour, Story, StoryOperator, StoryStep } from "./story.ts";
import { type Manner, type StoryHooks, some, wild } from "./story-features.ts";

const stream = 0x1b873593;

export function withSiblings(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (!draw.chance(0.3)) return story;
  const own = { ...plainStep, operator: draw.upTo(story.operators.length), id: "d", outcome: true };
  const drafted = draw.chance(0.75) ? own : draw.pick(story.steps);
  const others = story.steps.map((step) => (step.id === drafted.id ? { ...step, outcome: true } : step));
  const steps = drafted === own ? [...others, own] : others;
  const siblings = drawSiblings(draw, drafted.id, drawOperator(draw, story.operators));
  const hooks = draw.chance(0.7) ? [...story.hooks, drawHooks(draw, steps.length)] : story.hooks;
  return { ...story, hooks, steps: [...steps, ...siblings] };
}

const plainStep = { depends_on: [], gate: null, applies: null, behaviours: [] } as const;

/** Most often one whose calls may not be repeated. */
function drawOperator(draw: Draw, operators: readonly StoryOperator[]): number {
  const isOnce = ({ effect, idempotent, ruling }: StoryOperator): boolean =>
    !idempotent && effect !== "none" && effect !== "read" && ruling !== "DENY";
  const once = [...operators.keys()].filter((i) => isOnce(operators[i] as StoryOperator));
  return once.length > 0 && draw.chance(0.8) ? draw.pick(once) : draw.upTo(operators.length);
}

function drawSiblings(draw: Draw, drafted: string, operator: number): readonly StoryStep[] {
  return Array.from({ length: 2 + draw.upTo(2) }, (_, i) => ({
    id: `k${i + 1}`,
    depends_on: i > 0 && draw.chance(0.1) ? [drafted, `k${i}`] : [drafted],
    operator,
    gate: draw.chance(0.15) ? drawGate(draw) : null,
    outcome: false,
    applies: drafted,
    as: "k1",
    behaviours: some(draw, doubtful, i === 0 ? 2 : 4).slice(i === 0 ? 0 : 1),
  }));
}

/**
 * Calm at all other steps: who takes their time to be told that the first sibling failed, and refuses the next
 * meanwhile.
 */
function drawHooks(draw: Draw, others: number): StoryHooks {
  const from = (first: number, list: readonly Manner[]): readonly Manner[] => [
    ...Array<Manner>(first).fill("at_once"),
    ...some(draw, list, 5),
  ];
  return { before: from(others + 1, refusing), after: null, onError: from(others, slow) };
}

const doubtful: readonly Behaviour[] = [
  ...(["throws", "sent_throws", "sent_throws", "sent_throws", "transient", "fatal"] as const),
  ...(["never", "sent_never", "sent_never", "ok_on_abort", "slow", "slow", "odd"] as const),
];
const refusing: readonly Manner[] = ["at_once", "transient", "transient", ...wild];
const slow: readonly Manner[] = ["late", "late", "never", "soon", "at_once", "throws"];
