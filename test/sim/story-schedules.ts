/** Schedules that people set, pause, resume, trigger and delete. Drawn from a stream of their own. */
import type { ScheduleRequest } from "../../src/contract/schedule.ts";
import { ask, at, callerOf } from "./ask.ts";
import { drawBases } from "./draw-bases.ts";
import { type Draw, drawing } from "./drawing.ts";
import { isUnsettled } from "./judge-schedules.ts";
import type { Stage } from "./play-story.ts";
import { leaseMs, type SimulatedProcess } from "./simulated-process.ts";
import type { Action, Story } from "./story.ts";
import { scatter } from "./story-forks.ts";
import { storyIntent } from "./story-package.ts";
import { queuedAs } from "./story-queues.ts";

/** The timing of a schedule, and its treatment of what overlaps or was missed. */
export type StorySchedule = Pick<ScheduleRequest, "overlap" | "catch_up" | "jitter_ms"> &
  Required<Pick<ScheduleRequest, "catch_up_window_ms">> &
  ({ readonly every_ms: number } | { readonly cron: string });

const stream = 0x165667b1;
/** The age from which an instant has been missed. It is short, so that a story begins little work afterwards. */
const missedAfterMs = 15_000;
/** The reason of the pause with which the story ends. */
export const storyIsOver = "the story is over";

export function withSchedules(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (story.seed < drawBases.schedules || !draw.chance(0.8)) return story;
  const schedules = Array.from({ length: 1 + draw.upTo(3) }, () => drawSchedule(draw));
  const deeds = ["trigger_schedule", "pause_schedule", "resume_schedule", "delete_schedule", "set_schedule"] as const;
  const mixed = scatter(
    draw,
    story.actions,
    [...deeds, "resume_schedule", "tick", "tick", "crash", "crash", "open"],
    14,
  );
  const set = schedules.map((_, of): Action => ({ does: "set_schedule", at: 0, of, by: 3, how: 0 }));
  const [first, ...rest] = mixed as [Action, ...Action[]];
  return { ...story, schedules, limits: { ...story.limits, missedAfterMs }, actions: [first, ...set, ...rest] };
}

function drawSchedule(draw: Draw): StorySchedule {
  return {
    ...draw.pick([{ every_ms: 7_000 }, { every_ms: 20_000 }, { cron: "*/15 * * * * *" }, { cron: "* * * * *" }]),
    overlap: draw.pick(["skip", "queue", "allow", "allow", "cancel_previous"]),
    catch_up: draw.pick(["none", "last", "all", "all"]),
    catch_up_window_ms: draw.pick([10_000, 40_000]),
    jitter_ms: draw.pick([0, 0, 2_500]),
  };
}

const named = ({ schedules }: Story, of: number) => ({ name: `schedule-${of % Math.max(1, schedules.length)}` });

/** Somebody sets a schedule, or another interval of one. */
export function setSchedule(stage: Stage, { of, by, how }: Action, process: SimulatedProcess): undefined {
  const timing = at(stage.story.schedules, of);
  if (timing === undefined) return undefined;
  const { overlap, catch_up, catch_up_window_ms, jitter_ms } = timing;
  const other = { overlap, catch_up, catch_up_window_ms, jitter_ms, every_ms: 11_000 };
  const { inputs } = queuedAs(stage.story, { by, how } as Action).intent_hint;
  const request: ScheduleRequest = {
    ...callerOf(by % 3 === 0 ? 3 : by),
    ...named(stage.story, of),
    ...(how % 3 === 2 ? other : timing),
    intent_type: storyIntent,
    inputs,
  };
  return ask(stage, { process, what: "set schedule" }, (kernel) => kernel.setSchedule(request));
}

/** Somebody pauses, resumes or deletes a schedule. */
export function orderSchedule(what: "pauseSchedule" | "resumeSchedule" | "deleteSchedule") {
  return (stage: Stage, { of, by }: Action, process: SimulatedProcess): undefined =>
    ask(stage, { process, what }, (kernel) =>
      kernel[what]({ ...callerOf(by % 2 === 0 ? 3 : by), ...named(stage.story, of) }),
    );
}

/** Somebody has a schedule begin its work now. */
export const triggerSchedule = (stage: Stage, { of, by }: Action, process: SimulatedProcess): undefined =>
  ask(stage, { process, what: "trigger schedule" }, async (kernel) => {
    const { workflow_id } = await kernel.triggerSchedule({ ...callerOf(by), ...named(stage.story, of) });
    if (workflow_id === null) return;
    if (!stage.workflows.includes(workflow_id)) stage.workflows.push(workflow_id);
    stage.world.acknowledge("trigger", workflow_id, () => false);
  });

/** Whoever is left pauses all schedules, so that the story ends, and sees to it that each submit has its end. */
export async function endSchedules({ world }: Stage, { kernel, clock }: SimulatedProcess): Promise<void> {
  for (const { name, state } of await kernel.schedules({ tenant_id: 1 }))
    if (state !== "paused") await kernel.pauseSchedule({ ...callerOf(3), name, reason: storyIsOver });
  for (let i = 0; i < 30 && isUnsettled(world); i += 1) {
    world.answer();
    await clock.advance(leaseMs);
  }
}
