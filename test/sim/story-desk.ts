/**
 * People who decide much at once or are away, and processes that share work: several decisions in one request,
 * stand-ins, few places, work that other processes drive, forks of children. Drawn from a stream of its own.
 */
import { ask, at, callerOf, people } from "./ask.ts";
import { drawBases } from "./draw-bases.ts";
import { type Draw, drawing } from "./drawing.ts";
import { judgeDecisions } from "./judge-desk.ts";
import type { Stage } from "./play-story.ts";
import { findGate, hearSaid, signedAs, wordOn } from "./say.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Action, Deed, Story, StoryStep } from "./story.ts";
import { childIntent } from "./story-children.ts";
import { scatter } from "./story-forks.ts";

const stream = 0x6a09e667;
/** The intent type of the story's own workflows, which `story-package.ts` defines. */
const storyIntent = "Story.Sim.Play";

export function withDesk(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (story.seed < drawBases.desk) return story;
  const deeds: readonly Deed[] = [
    ...(["decide_many", "decide_many", "stand_in", "stand_in", "end_stand_in", "decide", "submit"] as const),
    ...(story.childSteps.length === 0 ? [] : (["fork_child"] as const)),
    ...(["open", "crash"] as const),
  ];
  return {
    ...story,
    steps: story.steps.map((step) => (step.kind === undefined && draw.chance(0.4) ? seatOne(draw, step) : step)),
    actions: scatter(draw, story.actions, deeds, 20),
    limits: draw.chance(0.5) ? { ...story.limits, maxInFlight: 1 + draw.upTo(3), submitWaitMs: 5_000 } : story.limits,
    leaves: draw.chance(0.4) ? [draw.pick([storyIntent, childIntent])] : [],
    processes: Math.max(story.processes, 2),
  };
}

/** Only one person has a seat, so that others decide as stand-ins. */
const seatOne = (draw: Draw, step: StoryStep): StoryStep => ({
  ...step,
  gate: { reason: "one person looks", separation: false, approvers: [{ type: "user", id: 1 + draw.upTo(3) }] },
});

/** Somebody decides several gates in one request. */
export async function decideMany(stage: Stage, action: Action, process: SimulatedProcess): Promise<void> {
  const caller = callerOf(action.by);
  const decisions = new Map<string, Awaited<ReturnType<typeof decisionOn>>>();
  for (let n = 0; n < 2 + (action.how % 3); n += 1) {
    const one = await decisionOn(stage, process, { ...action, of: action.of + n, how: action.how + n });
    if (one !== null) decisions.set(`${one.workflow_id} ${one.gate_id}`, one);
  }
  const asked = [...decisions.values()].filter((one) => one !== null);
  if (asked.length === 0) return;
  for (const { workflow_id, gate_id, decision, payload } of asked)
    hearSaid(stage, process, {
      gate: { workflow_id, gate_id },
      by: caller.principal.id,
      word: { decision, payload },
    });
  ask(stage, { process, what: "decide many" }, async (kernel) => {
    const answer = await kernel.decideGates({ ...caller, decisions: asked });
    stage.broken.push(...judgeDecisions(stage, { asked, by: caller.principal, answer }));
  });
}

async function decisionOn(stage: Stage, process: SimulatedProcess, action: Action) {
  const gate = await findGate(process, action.of);
  if (gate === undefined) return null;
  const { workflow_id, gate_id, payload_digest } = gate;
  const { decision, payload } = await signedAs(stage, gate, { word: wordOn(gate, action), action });
  return { workflow_id, gate_id, decision, payload: { ...payload, payload_digest } };
}

/** Somebody will be away, now or soon, and names who takes their seats. */
export function nameStandIn(stage: Stage, { of, by, how }: Action, process: SimulatedProcess): undefined {
  const now = process.wall.now();
  const { id } = at(people, of) as (typeof people)[number];
  const from = how % 3 === 0 ? { from: new Date(now + 2_000).toISOString() } : {};
  const until = new Date(now + (how % 2 === 0 ? 15_000 : 3_600_000)).toISOString();
  return ask(stage, { process, what: "stand in" }, async (kernel) => {
    const { stand_in_id } = await kernel.standIn({ ...callerOf(by), to: { id }, ...from, until, reason: "away" });
    const isKept = stage.world.durable.some(({ event }) => JSON.stringify(event.payload).includes(stand_in_id));
    if (!isKept) stage.broken.push(`stand-in: ${stand_in_id} is named, and the ledger does not hold it`);
  });
}

/** Somebody is back before their time. */
export const endStandIn = (stage: Stage, { of, by }: Action, process: SimulatedProcess): undefined =>
  ask(stage, { process, what: "end stand-in" }, async (kernel) => {
    const stand_in_id = at(await kernel.standIns({ tenant_id: 1 }), of)?.stand_in_id;
    if (stand_in_id !== undefined) await kernel.endStandIn({ ...callerOf(by), stand_in_id });
  });
