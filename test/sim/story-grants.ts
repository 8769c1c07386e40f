/** Approvals that people give ahead at gates, and take back. Drawn from a stream of their own. */
import type { GrantTerms } from "../../src/contract/grant.ts";
import { ask, at, callerOf } from "./ask.ts";
import { drawBases } from "./draw-bases.ts";
import { drawing } from "./drawing.ts";
import type { Stage } from "./play-story.ts";
import { findGate } from "./say.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Action, Story, StoryStep } from "./story.ts";
import { scatter } from "./story-forks.ts";

const stream = 0x4cf5ad43;

/** Draws grants, in a story most of whose gates are of a kind that takes them: several steps call one operator. */
export function withGrants(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (story.seed < drawBases.grants || !draw.chance(0.8)) return story;
  const operator = draw.upTo(story.operators.length);
  const granted = (step: StoryStep): StoryStep =>
    step.kind === undefined && draw.chance(0.5) ? { ...step, operator, gate: { reason: "a person looks" } } : step;
  const actions = scatter(draw, story.actions, ["grant", "grant", "grant", "revoke_grant", "decide", "crash"], 10);
  return { ...story, steps: story.steps.map(granted), actions };
}

/** Somebody approves ahead what they see at a gate: in its workflow, or for a time in all work. */
export async function grant(stage: Stage, { of, by, how }: Action, process: SimulatedProcess): Promise<void> {
  const gate = await findGate(process, of);
  if (gate === undefined) return;
  const until = new Date(process.wall.now() + (how % 2 === 0 ? 20_000 : 3_600_000)).toISOString();
  const terms: GrantTerms = {
    ...(how % 3 === 0 ? {} : { until }),
    ...(how % 5 === 4 ? { money: 1 + (how % 4) } : { uses: 1 + (how % 3) }),
    ...(how % 7 === 6 && { when: [{ value: "of", equals: gate.step_id }] }),
  };
  const { workflow_id, gate_id } = gate;
  ask(stage, { process, what: "grant" }, async (kernel) => {
    const { grant_id } = await kernel.grant({ ...callerOf(by), workflow_id, gate_id, ...terms });
    const isKept = stage.world.durable.some(({ event }) => JSON.stringify(event.payload).includes(grant_id));
    if (!isKept) stage.broken.push(`grant: ${grant_id} is given, and the ledger does not hold it`);
  });
}

/** Somebody takes back what was approved ahead. */
export const revokeGrant = (stage: Stage, { of, by }: Action, process: SimulatedProcess): undefined =>
  ask(stage, { process, what: "revoke grant" }, async (kernel) => {
    const grant_id = at(await kernel.grants({ tenant_id: 1 }), of)?.grant_id;
    if (grant_id !== undefined) await kernel.revokeGrant({ ...callerOf(by), grant_id });
  });
