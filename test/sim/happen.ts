/** What happens in a story, one action at a time: people, time, faults. */

import { KernelErrorException } from "../../src/contract/error.ts";
import type { Gate, GateRequest } from "../../src/contract/gate.ts";
import type { Kernel } from "../../src/kernel/face.ts";
import { letRun } from "../../src/testing/let-run.ts";
import type { Stage } from "./play-story.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Action, Deed } from "./story.ts";
import { storyIntent } from "./story-package.ts";

export const people = [
  { type: "user", id: 1, role: "user" },
  { type: "user", id: 2, role: "user" },
  { type: "user", id: 3, role: "user" },
  { type: "user", id: 4, role: "admin" },
] as const;

export const at = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(1, list.length)];
export const callerOf = (n: number) => ({ tenant_id: 1, principal: at(people, n) as (typeof people)[number] });

const spans = [1, 50, 300, 1_000, 1_000, 3_000, 5_000, 11_000, 25_000] as const;
const jumps = [-20_000, -900, 900, 15_000, 120_000] as const;
const mostProcesses = 3;

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
export function awaken({ world, latest }: Stage, { faults, wall }: SimulatedProcess): void {
  world.mark("woken");
  wall.jump(Math.max(0, latest - wall.now()));
  faults.wake();
}

const happenings: Readonly<Record<Exclude<Deed, "open" | "wake">, Happening>> = {
  submit: (stage, action, process) =>
    ask(stage, { process, what: "submit" }, async ({ submit }) => {
      const key = action.how % 5 === 0 ? { idempotency_key: `key ${action.of % 2}` } : {};
      const accepted = await submit({ ...callerOf(action.by), ...key, intent_hint: hint });
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
  decide: async (stage, action, process) => {
    const gate = await findGate(process, action.of);
    if (gate === undefined) return;
    hearSaid(stage, process, { gate, by: callerOf(action.by).principal.id });
    ask(stage, { process, what: "decide" }, async ({ decideGate }) => {
      const { gate_id, workflow_id } = gate;
      await decideGate(workflow_id, { ...callerOf(action.by), gate_id, ...wordOn(gate, action) });
      stage.world.acknowledge("decide", workflow_id, ({ payload }) => payload["gate_id"] === gate_id);
    });
  },
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
    const mode = at(["resume_failed_steps", "regenerate", "replay"] as const, action.how) ?? "replay";
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
  cut: (stage) => stage.cut(),
  jump: ({ world }, { how }, { wall }) => {
    const ms = at(jumps, how) as number;
    world.mark(ms < 0 ? "clock jumped back" : "clock jumped");
    wall.jump(ms);
    return undefined;
  },
};

/** What a person says to a gate, at what this process takes for now. */
export function hearSaid(
  { world }: Stage,
  { wall }: SimulatedProcess,
  { gate: { workflow_id, gate_id }, by }: { readonly gate: Gate; readonly by: unknown },
): void {
  world.say({ workflow_id, gate_id, by, now: wall.now() });
}

const hint = { intent_type: storyIntent, inputs: {} };

function crash({ world }: Stage, { faults }: SimulatedProcess): void {
  world.mark("crash between commits");
  faults.crash();
}

/** Asks a process and goes on: what it says to that, it says when it can. */
export function ask(
  stage: Stage,
  { process, what }: { readonly process: SimulatedProcess; readonly what: string },
  command: (kernel: Kernel) => Promise<unknown>,
): undefined {
  const answer: Promise<unknown> = command(process.kernel).then(
    () => stage.world.mark(`${what} done`),
    (thrown: unknown) => {
      if (!(thrown instanceof KernelErrorException)) stage.broken.push(`refusal without a code: ${what}: ${thrown}`);
      else stage.world.mark(`${what} ${thrown.error.code}`);
      if (thrown instanceof KernelErrorException && thrown.error.code === "T0_TIER_CRASHED")
        stage.broken.push(`crashed: ${what}: ${thrown.message}`);
    },
  );
  stage.asked.set(answer, { process, what });
  void answer.finally(() => stage.asked.delete(answer));
  return undefined;
}

/** Reads a gate from the store as this process sees it; null while it cannot be reached. */
async function findGate({ kernel }: SimulatedProcess, n: number): Promise<Gate | undefined> {
  const found: { gates: readonly Gate[] } = { gates: [] };
  void kernel.gates({}).then(
    (gates) => {
      found.gates = gates;
    },
    () => undefined,
  );
  await letRun();
  return at(found.gates, n);
}

interface GateWord {
  readonly decision: "approve" | "reject";
  readonly payload: NonNullable<GateRequest["payload"]>;
}

/** What a person says to a gate; most say what they looked at. */
export function wordOn(gate: Gate, { how }: Pick<Action, "how">): GateWord {
  const seen = how % 5 === 4 ? {} : { payload_digest: gate.payload_digest };
  if (how % 6 === 0) return { decision: "reject", payload: seen };
  if (gate.kind === "in_doubt") return { decision: "approve", payload: { ...seen, ...resolutionOf(how) } };
  const edit = how % 6 === 1 ? { edit: { of: "an editor" } } : {};
  return { decision: "approve", payload: { ...seen, ...edit } };
}

const resolutionOf = (how: number) =>
  how % 2 === 0 ? { resolution: "retry" as const } : { resolution: "done" as const, result: { by: "a person" } };
