/**
 * Signed words that are said again: a gate of several signed votes, and people who take theirs back and say it once
 * more with the signature of before. Drawn from a stream of its own.
 */
import { type Draw, drawing } from "./drawing.ts";
import type { Action, Deed, Story } from "./story.ts";

const stream = 0x52dce729;

export function withSignedWords(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (!draw.chance(0.12)) return story;
  const roots = story.steps.filter(({ depends_on }) => depends_on.length === 0);
  const { id } = draw.pick(roots);
  const gate = { reason: "people sign", signed: true, quorum: { approvals: 2 + draw.upTo(2) } };
  const steps = story.steps.map((step) => (step.id === id ? { ...step, gate } : step));
  const from = 1 + draw.upTo(story.actions.length);
  const actions = [...story.actions.slice(0, from), ...drawWords(draw), ...story.actions.slice(from)];
  return { ...story, steps, actions };
}

/** One signs as asked, and then says it again; a number that three divides would make a signature anew. */
function drawWords(draw: Draw): readonly Action[] {
  const say = (does: Deed, how: number): Action => ({
    does,
    how,
    at: draw.upTo(60),
    of: draw.upTo(60),
    by: draw.upTo(60),
  });
  const once = (): readonly Action[] => [
    say("decide", 2),
    ...Array.from({ length: 1 + draw.upTo(3) }, () => say("say_again", draw.pick([1, 2, 3, 4]))),
  ];
  return Array.from({ length: 1 + draw.upTo(3) }, once).flat();
}
