/**
 * Several people who speak to one resting workflow in one tick, some of them in vain, a few microtasks apart, at gates
 * that ask for several approvals. Drawn from a stream of its own, in which the stories that once failed stay as they
 * were.
 */
import type { Gate } from "../../src/contract/gate.ts";
import type { Kernel } from "../../src/kernel/kernel-interface.ts";
import { ask, callerOf } from "./ask.ts";
import { type Draw, drawing } from "./drawing.ts";
import type { Stage } from "./play-story.ts";
import { decideAt, elsewhere, findGate, wordOn } from "./say.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Action, Story } from "./story.ts";

const stream = 0xef049e3e;

/**
 * Most often the steps that can begin at once ask for two approvals or three, so that the throng finds a gate that is
 * open.
 */
export function withThrongs(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (!draw.chance(0.25)) return story;
  const isRoot = ({ depends_on }: Story["steps"][number]): boolean => depends_on.length === 0;
  const quorum = { approvals: 2 + draw.upTo(2) };
  const gate = { reason: "several speak at once", ...(draw.chance(0.8) ? { quorum } : {}) };
  const steps = story.steps.map((step) => (isRoot(step) && draw.chance(0.7) ? { ...step, gate } : step));
  const from = 1 + draw.upTo(story.actions.length);
  const throngs = Array.from({ length: 3 + draw.upTo(6) }, () => drawThrong(draw));
  return { ...story, steps, actions: [...story.actions.slice(0, from), ...throngs, ...story.actions.slice(from)] };
}

function drawThrong(draw: Draw): Action {
  return { does: "throng", of: draw.upTo(60), at: draw.upTo(60), by: draw.upTo(60), how: draw.upTo(60) };
}

type Word = "approve" | "otherwise" | "of another payload" | "of another tenant" | "retry" | "withdraw" | "cancel";

const refused: readonly Word[] = ["of another payload", "of another tenant", "retry", "withdraw"];
const taken: readonly Word[] = [...Array<Word>(16).fill("approve"), "otherwise", "otherwise", "otherwise", "cancel"];

/**
 * What is said, by whom, and when, follows from the action's numbers alone: some words count, and every few microtasks,
 * while the workflow is woken for them, decides and answers, comes one that is refused.
 */
export async function speakTogether(stage: Stage, action: Action, process: SimulatedProcess): Promise<void> {
  const gate = await findGate(process, action.of);
  if (gate === undefined) return;
  const draw = drawing(((action.of * 61 + action.at) * 61 + action.by) * 61 + action.how);
  const say = (word: Word, after: number): void => {
    const said = { ...action, by: draw.upTo(60), how: draw.upTo(60) };
    void microtasks(after).then(() => sayOne(stage, process, { word, gate, action: said }));
  };
  for (let n = 3 + draw.upTo(4); n > 0; n -= 1) say(draw.pick(taken), draw.pick([0, draw.upTo(8), draw.upTo(60)]));
  for (let after = draw.upTo(6); after < 60; after += 1 + draw.upTo(12)) say(draw.pick(refused), after);
}

async function microtasks(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await undefined;
}

interface Saying {
  readonly word: Word;
  readonly gate: Gate;
  readonly action: Action;
}

function sayOne(stage: Stage, process: SimulatedProcess, { word, gate, action }: Saying): void {
  const { workflow_id, gate_id, payload_digest } = gate;
  const caller = callerOf(action.by);
  const say = (command: (kernel: Kernel) => Promise<unknown>): void =>
    ask(stage, { process, what: `${word} together` }, command);
  const approve = { ...caller, gate_id, decision: "approve" } as const;
  switch (word) {
    case "approve":
      return decideAt(stage, { process, gate, action, word: { decision: "approve", payload: { payload_digest } } });
    case "otherwise":
      return decideAt(stage, { process, gate, action, word: wordOn(gate, action) });
    case "of another payload":
      return say((k) => k.decideGate(workflow_id, { ...approve, payload: { payload_digest: elsewhere } }));
    case "of another tenant":
      return say((k) => k.decideGate(workflow_id, { ...approve, tenant_id: 2 }));
    case "retry":
      return say((k) => k.retry(workflow_id, { ...caller, mode: "resume_failed_steps", feedback: "again" }));
    case "withdraw":
      return say((k) => k.withdrawVote(workflow_id, { ...caller, gate_id }));
    default:
      return say((k) => k.cancel(workflow_id, caller));
  }
}
