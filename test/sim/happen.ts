/** What happens in a story, one action at a time: people, time, faults. */
import { ask, at, callerOf } from "./ask.ts";
import { stop } from "./heal.ts";
import type { Stage } from "./play-story.ts";
import { findGate, foretell, otherWordOn, sayAgain, sayAt, wordOn } from "./say.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Action, Deed } from "./story.ts";
import { endChild, retryChild } from "./story-children.ts";
import { decideMany, endStandIn, nameStandIn } from "./story-desk.ts";
import { fork, forkChild, rollback } from "./story-forks.ts";
import { grant, revokeGrant } from "./story-grants.ts";
import { writtenOn } from "./story-masks.ts";
import { placeOf, remember } from "./story-memory.ts";
import { addMessage } from "./story-messages.ts";
import { halt, lift, order } from "./story-orders.ts";
import { limitQueue, queuedAs } from "./story-queues.ts";
import { orderSchedule, setSchedule, triggerSchedule } from "./story-schedules.ts";
import { speakTogether } from "./story-throng.ts";
import { answer } from "./story-tokens.ts";
import { emit } from "./story-waits.ts";

const spans = [1, 50, 300, 1_000, 1_000, 3_000, 5_000, 11_000, 25_000] as const;
const jumps = [-20_000, -900, 900, 15_000, 120_000] as const;
const mostProcesses = 3;

const modes = ["resume_failed_steps", "regenerate", "replay"] as const;

type Happening = (stage: Stage, action: Action, process: SimulatedProcess) => Promise<unknown> | undefined;

export async function happen(stage: Stage, action: Action): Promise<void> {
  if (action.does === "open") return open(stage, action);
  if (action.does === "wake") return wake(stage, action);
  const process = at(stage.awake, action.at);
  if (process === undefined) return open(stage, action);
  const done = happenings[action.does](stage, action, process);
  if (done !== undefined) await done;
}

async function open(stage: Stage, { how }: Action): Promise<void> {
  if (stage.processes.length < mostProcesses) await stage.open((how % 4) * 4_000);
}

async function wake(stage: Stage, { at: n }: Action): Promise<void> {
  const paused = at(
    stage.processes.filter(({ faults }) => faults.isPaused),
    n,
  );
  if (paused !== undefined) awaken(stage, paused);
}

/** Time has gone on while it slept. */
export function awaken({ world, latest, elapsed }: Stage, { faults, wall }: SimulatedProcess): void {
  world.mark("woken");
  wall.sleep(Math.max(0, elapsed - wall.elapsed()));
  wall.jump(Math.max(0, latest - wall.now()));
  faults.wake();
}

const nights = [30_000, 700_000, 700_000, 41 * 86_400_000] as const;

/** Time goes on while the machine sleeps, with all that runs on it. */
function passTime({ awake, world }: Stage, ms: number): void {
  world.mark("slept on");
  for (const { wall } of awake) {
    wall.sleep(ms);
    wall.jump(ms);
  }
}

const happenings: Readonly<Record<Exclude<Deed, "open" | "wake">, Happening>> = {
  submit: (stage, action, process) =>
    ask(stage, { process, what: "submit" }, async ({ submit }) => {
      const key = action.how % 5 === 0 ? { idempotency_key: `key ${action.of % 2}` } : {};
      const accepted = await submit({
        ...callerOf(action.by),
        ...key,
        ...placeOf(stage.story, action),
        ...queuedAs(stage.story, action),
      });
      if (!stage.workflows.includes(accepted.workflow_id)) stage.workflows.push(accepted.workflow_id);
      stage.world.acknowledge("submit", accepted.workflow_id, () => false);
    }),
  tick: (_, { how }, { clock }) => clock.advance(at(spans, how) as number),
  next: (_, __, { clock }) => clock.advanceToNext(),
  end_call: ({ world }, { of }, { name }) => {
    const pending = at(
      world.pending.filter((one) => one.process === name),
      of,
    );
    if (pending === undefined) return undefined;
    world.take(pending);
    pending.end();
    return undefined;
  },
  decide: (stage, action, process) => sayAt(stage, { action, process }, wordOn),
  say: (stage, action, process) => sayAt(stage, { action, process }, otherWordOn),
  say_again: sayAgain,
  name_none: (stage, action, process) => sayAt(stage, { action, process, isNamed: false }, wordOn),
  edit: (stage, action, process) => sayAt(stage, { action, process }, (gate) => writtenOn(stage.world, gate, action)),
  foretell,
  throng: speakTogether,
  withdraw: async (stage, action, process) => {
    const gate = await findGate(process, action.of);
    if (gate === undefined) return;
    ask(stage, { process, what: "withdraw" }, ({ withdrawVote }) =>
      withdrawVote(gate.workflow_id, { ...callerOf(action.by), gate_id: gate.gate_id }),
    );
  },
  delegate: async (stage, action, process) => {
    const gate = await findGate(process, action.of);
    if (gate === undefined) return;
    const to = { type: "user", id: callerOf(action.how).principal.id };
    const expires_at = new Date(process.wall.now() + 60_000).toISOString();
    ask(stage, { process, what: "delegate" }, ({ delegateGate }) =>
      delegateGate(gate.workflow_id, { ...callerOf(action.by), gate_id: gate.gate_id, to, expires_at }),
    );
  },
  retry: (stage, action, process) => {
    const id = at(stage.workflows, action.of);
    const mode = at(stage.story.deploy === null ? modes : [...modes, "migrate" as const], action.how) ?? "replay";
    const named = action.how > 30 ? { step_ids: [at(stage.story.steps, action.by)?.id as string] } : {};
    if (id === undefined || stage.workflows.length > 6) return undefined;
    return ask(stage, { process, what: `retry ${mode}` }, async ({ retry }) => {
      const { workflow_id } = await retry(id, { ...callerOf(action.by), mode, feedback: "again", ...named });
      if (!stage.workflows.includes(workflow_id)) stage.workflows.push(workflow_id);
      stage.world.acknowledge("retry", workflow_id, () => false);
    });
  },
  cancel: (stage, { of, by }, process) => {
    const id = at(stage.workflows, of);
    return id === undefined ? undefined : ask(stage, { process, what: "cancel" }, (k) => k.cancel(id, callerOf(by)));
  },
  cancel_undo: (stage, { of, by }, process) => {
    const id = at(stage.workflows, of);
    if (id === undefined) return undefined;
    return ask(stage, { process, what: "cancel undo" }, (k) => k.cancel(id, { ...callerOf(by), undo: true }));
  },
  hold_work: order("pause"),
  let_work: order("resume"),
  emit,
  halt,
  lift,
  fork,
  rollback,
  limit_queue: limitQueue,
  answer,
  message: addMessage,
  grant,
  revoke_grant: revokeGrant,
  set_schedule: setSchedule,
  pause_schedule: orderSchedule("pauseSchedule"),
  resume_schedule: orderSchedule("resumeSchedule"),
  trigger_schedule: triggerSchedule,
  delete_schedule: orderSchedule("deleteSchedule"),
  decide_many: decideMany,
  stand_in: nameStandIn,
  end_stand_in: endStandIn,
  fork_child: forkChild,
  crash: (stage, { how, by }, process) => {
    if (how % 3 > 0) process.faults.plan("crash", how % 2 === 0 ? "before" : "after", by % 4);
    else crash(stage, process);
    return undefined;
  },
  pause: (_, { how, by }, { faults }) => {
    if (how % 3 > 0) faults.plan("pause", how % 2 === 0 ? "before" : "after", by % 4);
    else faults.pause();
    return undefined;
  },
  fail: (_, { how, by }, { faults }) => {
    faults.plan("fail", how % 4 > 0 ? "before" : "after", by % 3);
    return undefined;
  },
  end_child: endChild,
  retry_child: retryChild,
  cut: (stage) => stage.cut(),
  stop: leave,
  report: (stage, { of, how }, process) => {
    const id = at(stage.workflows, of);
    const report = { score: how };
    return id === undefined ? undefined : ask(stage, { process, what: "report" }, (k) => k.attachReport(id, report));
  },
  pass: (stage, { how }) => {
    passTime(stage, at(nights, how) as number);
    return undefined;
  },
  settle: (stage, { of }, process) => {
    const id = at(stage.workflows, of);
    const asking = { process, what: "settle", patient: true };
    return id === undefined ? undefined : ask(stage, asking, (k) => k.settled(id));
  },
  remember,
  rebase: ({ world }) => {
    world.basis += 1;
    return undefined;
  },
  jump: ({ world }, { how }, { wall }) => {
    const ms = at(jumps, how) as number;
    world.mark(ms < 0 ? "clock jumped back" : "clock jumped");
    wall.jump(ms);
    return undefined;
  },
};

/** A process is stopped in order, whatever it has under way; what it then still holds is told. */
async function leave(stage: Stage, _: Action, process: SimulatedProcess): Promise<void> {
  process.faults.heal();
  stage.world.mark("stopped");
  await stop(stage, process);
  stage.drop(process);
  stage.world.bury(process.name);
}

function crash({ world }: Stage, { faults }: SimulatedProcess): void {
  world.mark("crash between commits");
  faults.crash();
}
