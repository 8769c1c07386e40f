/**
 * People who meet at one gate: they decide, edit, lend their seats, take votes back and say things twice at the same
 * moment, through any process, while a rule about them takes its time and the gate's own time runs out. Drawn from a
 * stream of its own.
 */
import { type Draw, drawing } from "./drawing.ts";
import type { Action, Deed, GateInput, Story } from "./story.ts";

const stream = 0x165667b1;

export function withContests(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (!draw.chance(0.15)) return story;
  const roots = story.steps.filter(({ depends_on }) => depends_on.length === 0);
  const { id, operator } = draw.pick(roots);
  const gate = drawContested(draw);
  const asks = draw.chance(0.2);
  const operators = story.operators.map((one, i) => (asks && i === operator ? { ...one, asks } : one));
  const steps = story.steps.map((step) => (step.id === id ? { ...step, gate } : step));
  const gateRuling = draw.pick(["late", "late", "soon", story.gateRuling] as const);
  const from = 1 + draw.upTo(story.actions.length);
  const meetings = Array.from({ length: 1 + draw.upTo(3) }, () => drawMeeting(draw)).flat();
  const actions = [...story.actions.slice(0, from), ...meetings, ...story.actions.slice(from)];
  return { ...story, operators, steps, gateRuling, actions };
}

/** Most seats may be lent, and taken by anybody; time is short. */
function drawContested(draw: Draw): GateInput {
  const action = draw.pick(["deny", "allow", "suspend", "escalate", "escalate"] as const);
  const quorum = { approvals: 1 + draw.upTo(3), rejections: 1 + draw.upTo(2) };
  return {
    reason: "several look at once",
    ...(draw.chance(0.7) ? { quorum } : {}),
    ...(draw.chance(0.3) ? { advisors: ["guest"] } : {}),
    ...(draw.chance(0.2) ? { separation: true } : {}),
    ...(draw.chance(0.7) ? { expiry: { after_ms: draw.pick([1_000, 3_000]), action } } : {}),
  };
}

const words: readonly Deed[] = [
  ...(["decide", "decide", "decide", "say", "say", "say", "name_none", "name_none"] as const),
  ...(["delegate", "delegate", "withdraw", "say_again", "rebase", "cancel", "stop"] as const),
];
const pauses: readonly Deed[] = ["end_call", "end_call", "next", "tick"];

/** Words at the first gate that anybody sees, with hardly a pause between them; some are said twice. */
function drawMeeting(draw: Draw): readonly Action[] {
  const said: Action[] = [];
  const say = (does: Deed): Action => ({ does, of: 0, at: draw.upTo(60), by: draw.upTo(60), how: draw.upTo(60) });
  const speak = (): Action => {
    const isAgain = said.length > 0 && draw.chance(0.3);
    const word = isAgain ? { ...draw.pick(said), at: draw.upTo(60) } : say(draw.pick(words));
    said.push(word);
    return word;
  };
  return Array.from({ length: 3 + draw.upTo(9) }, () => (draw.chance(0.75) ? speak() : say(draw.pick(pauses))));
}
