/**
 * Rules that mask, and persons who write at gates what may be masked: each text once, so that it is known wherever it
 * stands. Drawn from a stream of its own. A mask is of all releases.
 */
import type { Gate } from "../../src/contract/gate.ts";
import type { PolicyRule, RuleAnswer } from "../../src/contract/policy.ts";
import { type Draw, drawing } from "./drawing.ts";
import type { OutsideWorld } from "./outside-world.ts";
import type { GateWord } from "./say.ts";
import type { Action, Story } from "./story.ts";
import { weave } from "./story-features.ts";
import { nameOf } from "./story-plan.ts";

/** `holds`: what it is asked about holds a text that a person wrote. */
export interface StoryMask {
  readonly stage: "action" | "outcome";
  readonly operator: number;
  readonly paths: readonly string[];
  readonly where: "always" | "holds";
  readonly says: "REDACT" | "REQUIRE_APPROVAL" | "soon";
}

/** What a person wrote, once, and where in what the gate named as editable. */
export interface Written {
  readonly text: string;
  readonly stage: StoryMask["stage"];
  readonly operator: string;
  readonly path: string;
}

const stream = 0x5be0cd19;
const places = {
  action: ["of", "from", "from.*", "from.0", "more", "more.note", "more.notes.*.text", "none.there"],
  outcome: ["by", "more", "more.note"],
} as const;

export function withMasks(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (!draw.chance(0.12)) return story;
  const masks = Array.from({ length: 1 + draw.upTo(3) }, () => drawMask(draw, story));
  const { id } = draw.pick(story.steps);
  const gate = { reason: "a person may write", ...(draw.chance(0.4) ? { quorum: { approvals: 2 } } : {}) };
  const steps = story.steps.map((step) => (step.id === id && step.gate === null ? { ...step, gate } : step));
  return { ...story, masks, steps, actions: weave(draw, story.actions, ["edit"]) };
}

function drawMask(draw: Draw, { operators }: Story): StoryMask {
  const stage = draw.chance(0.7) ? "action" : "outcome";
  return {
    stage,
    operator: draw.upTo(operators.length),
    paths: places[stage].filter(() => draw.chance(0.4)),
    where: draw.pick(["always", "holds"]),
    says: stage === "outcome" ? draw.pick(["REDACT", "soon"]) : draw.pick(["REDACT", "REQUIRE_APPROVAL", "soon"]),
  };
}

const mark = "written by hand";

/** A rule of each; of an outcome nobody says who made it. */
export const maskRules = ({ masks }: Pick<Story, "masks">): PolicyRule[] =>
  masks.map(({ stage, operator, paths, where, says }, i) => ({
    name: `mask ${i}`,
    stages: [stage],
    evaluate: ({ subject }) => {
      const isMeant = stage === "outcome" || subject.operator === nameOf(operator);
      if (!isMeant || (where === "holds" && !JSON.stringify(subject.payload).includes(mark))) return null;
      const decision = says === "soon" ? "REDACT" : says;
      const answer: RuleAnswer = { decision, reason: "the story masks", redactions: [...paths] };
      return says === "soon" ? Promise.resolve(answer) : answer;
    },
  }));

/** An edit of this gate, of words that stand nowhere else. */
export function writtenOn(world: OutsideWorld, gate: Gate, { how }: Action): GateWord {
  const { editable, operator, payload_digest, basis_digest } = gate;
  const seen = { payload_digest, ...(basis_digest === undefined ? {} : { basis_digest }) };
  const stage = editable?.target === "outcome" ? "outcome" : "action";
  const write = (path: string): string => {
    const text = `${mark} ${world.count("texts")}.`;
    world.texts.push({ text, stage, operator, path });
    return text;
  };
  const more = () => ({ more: { note: write("more.note"), notes: [{ text: write("more.notes.0.text") }], kept: 1 } });
  const edits = {
    action: [() => ({ of: write("of") }), () => ({ from: [write("from.0"), "plain"] }), more],
    outcome: [() => ({ by: write("by") }), more],
  }[stage];
  const edit = Object.assign({}, ...edits.filter((_, i) => (how >> i) % 2 === 0).map((make) => make()));
  return { decision: how % 9 === 8 ? "reject" : "approve", payload: { ...seen, edit } };
}

/** Whether a path of a rule covers this one. */
export function covers(masked: string, path: string): boolean {
  const [parts, at] = [masked.split("."), path.split(".")];
  return (
    parts.length <= at.length && parts.every((part, i) => part === at[i] || (part === "*" && /^\d+$/.test(at[i] ?? "")))
  );
}
