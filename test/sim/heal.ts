/** The end of every story: faults are over, all processes but a last one go, and that one sees the work to its end. */
import { isPartFilled } from "../../machines/quorum.ts";
import { type Gate, isOpenGate } from "../../src/contract/gate.ts";
import { parkedSteps, type WorkflowRecord } from "../../src/contract/workflow.ts";
import { letRun } from "../../src/testing/let-run.ts";
import { people } from "./ask.ts";
import { awaken } from "./happen.ts";
import { findIdle } from "./judge-queues.ts";
import { unanswered } from "./outside-world.ts";
import type { Stage } from "./play-story.ts";
import { hearSaid, signingOf, signWith, wordOn } from "./say.ts";
import { signWord } from "./sign-words.ts";
import { leaseMs, type SimulatedProcess } from "./simulated-process.ts";
import { type StoryDeploy, type StoryRelease, wholeOf } from "./story-deploy.ts";
import { letAllGoOn } from "./story-orders.ts";
import { endSchedules } from "./story-schedules.ts";

/** Whoever there is, and some who have asked for nothing until now. */
const others = [11, 12, 13, 21, 22].map((id) => ({ type: "user", id, role: id < 20 ? "admin" : "user" }) as const);
const deciders = [...people, ...others];
const rounds = 600;
const timersOfRound = 4_000;

/** Gives the process that is left. */
export async function heal(stage: Stage): Promise<SimulatedProcess | null> {
  for (const process of stage.processes) {
    process.faults.heal();
    if (process.faults.isPaused) awaken(stage, process);
  }
  await letRun();
  await answerAll(stage);
  for (const process of [...stage.processes]) await leave(stage, process);
  const last = await openLast(stage);
  if (last !== null) await endSchedules(stage, last);
  const stuck = last === null ? [] : await seeToTheEnd(stage, last);
  if (last === null || stuck.length === 0) return last;
  if (stage.story.deploy !== null && stuck.some((why) => why.includes("this process cannot run")))
    return bringAll(stage, last, stage.story.deploy);
  stage.broken.push(...stuck);
  return last;
}

async function openLast(stage: Stage, release?: StoryRelease): Promise<SimulatedProcess | null> {
  await stage.open(60_000, release, []);
  const [last = null] = stage.processes;
  if (last === null) stage.broken.push("opens: the last process does not serve");
  return last;
}

/**
 * What a release cannot run waits for a process that can: it is seen to the end by one that knows whatever there was.
 */
async function bringAll(
  stage: Stage,
  last: SimulatedProcess,
  { release }: StoryDeploy,
): Promise<SimulatedProcess | null> {
  stage.world.mark("another release sees to the end");
  await stop(stage, last);
  stage.drop(last);
  stage.world.bury(last.name);
  const whole = await openLast(stage, wholeOf(release));
  if (whole !== null) stage.broken.push(...(await seeToTheEnd(stage, whole)));
  return whole;
}

/** Whoever was asked and lives answers, given time. */
async function answerAll(stage: Stage): Promise<void> {
  for (let i = 0; i < 8 && stage.asked.size > 0; i += 1) {
    stage.world.answer();
    for (const { clock } of stage.processes) await clock.advance(leaseMs);
  }
  for (const { what, process } of stage.asked.values()) stage.broken.push(`answers: ${what} at ${process.name} hangs`);
}

/** Every other one is stopped in order; what it then still holds is told. */
async function leave(stage: Stage, process: SimulatedProcess): Promise<void> {
  const abrupt = (stage.story.seed + Number(process.name.slice(1))) % 2 === 0;
  if (abrupt) process.faults.crash();
  else await stop(stage, process);
  stage.drop(process);
  stage.world.bury(process.name);
}

/** Stops a process and looks at what it leaves behind. */
export async function stop(stage: Stage, { kernel, clock, name, crashes }: SimulatedProcess): Promise<void> {
  let over = false;
  const stopping = kernel.stop({ drainMs: 0 }).then(
    () => {
      over = true;
    },
    (thrown: unknown) => stage.broken.push(`stops: ${String(thrown)}`),
  );
  for (let i = 0; i < 4 && !over; i += 1) await letRun();
  if (!over) stage.broken.push(`stops: ${name} does not`);
  else await stopping;
  const { lease_age: _age, ...vitals } = kernel.vitals();
  // Who waits for a host's function that has not answered waits on.
  const timers = clock.pending() - stage.world.counted(unanswered(name));
  const left = Object.entries({ ...vitals, clock: timers }).filter(([, n]) => n > 0);
  if (left.length > 0) stage.broken.push(`vitals: ${name} leaves ${JSON.stringify(Object.fromEntries(left))}`);
  for (const crash of crashes) stage.broken.push(`crashed: ${crash}`);
}

/** Gives why what is left cannot be decided. */
async function seeToTheEnd(stage: Stage, last: SimulatedProcess): Promise<readonly string[]> {
  let wasStuck = false;
  for (let round = 0; round < rounds; round += 1) {
    await letAllGoOn(last);
    await moveOn(stage, last);
    stage.broken.push(...findIdle(stage.world));
    const { open, stuck } = await decideAll(stage, last, round);
    // What a gate shows may change between one look and another, and stands in the end.
    const isStuck = stuck.length === open;
    if (stage.broken.length > 0) return [];
    if (open === 0) return leftWaiting(stage, last);
    if (isStuck && wasStuck) return stuck;
    wasStuck = isStuck;
  }
  return ["ends: it goes on and on"];
}

/** What waits for a time that a process lives to see is taken up by it: once nothing moves any more, nothing waits. */
function leftWaiting({ world }: Stage, { name }: SimulatedProcess): readonly string[] {
  const waiting = [...world.records.values()].filter((record) => record?.state === "waiting");
  return waiting.map((record) => {
    const dues = parkedSteps(record as WorkflowRecord).map(({ parked }) => parked?.due_at);
    return `overdue: ${record?.workflow_id} waits for ${dues}, and ${name} does not take it up`;
  });
}

/** Time passes until nothing moves any more. */
async function moveOn(stage: Stage, { clock }: SimulatedProcess): Promise<void> {
  const { world, broken } = stage;
  for (let i = 0; i < timersOfRound; i += 1) {
    for (const pending of world.pending.splice(0)) pending.end();
    await letRun();
    stage.look();
    if (world.pending.length === 0 && !(await clock.advanceToNext())) return clock.advance(leaseMs + 1);
  }
  broken.push("rests: timers without end");
}

/**
 * Decides every open gate: how many there were, and those that nobody could decide. One may wait for what another
 * shows.
 */
async function decideAll(stage: Stage, last: SimulatedProcess, round: number) {
  const gates = await last.kernel.gates({ limit: 200 });
  const stuck: string[] = [];
  for (const gate of gates) {
    const refusals = await decideOne(stage, { last, gate, round });
    if (refusals.length === deciders.length && (await find(stage, last, gate)) !== undefined)
      stuck.push(`decidable: ${gate.gate_id} of ${gate.workflow_id} (${gate.status}): ${refusals.join(" | ")}`);
  }
  return { open: gates.length, stuck };
}

interface Deciding {
  readonly last: SimulatedProcess;
  readonly gate: Gate;
  readonly round: number;
}

/** One person after another looks and says something, until it is decided; gives what they were refused with. */
async function decideOne(stage: Stage, { last, gate, round }: Deciding): Promise<readonly string[]> {
  const refusals: string[] = [];
  const { workflow_id, gate_id } = gate;
  for (const [i, principal] of deciders.entries()) {
    const shown = await find(stage, last, gate);
    if (shown === undefined) return refusals;
    // Whoever has voted in a stage has no vote in the next one.
    if (isPartFilled(shown, principal.role)) {
      refusals.push("another approval of this part adds nothing");
      continue;
    }
    const varied = i === 0 ? stage.story.seed + round + gate_id.length : 3;
    // What policy denies as of now is approved by nobody, and rejected by who decides next.
    const isDenied = refusals.at(-1)?.includes("policy denies this call now") === true;
    const word = isDenied ? rejection : wordOn(shown, { how: round < 12 ? varied : 6 });
    const seen = { ...word, payload: { ...word.payload, ...seenAt(shown) } };
    const signing = { ...signingOf(shown, seen), principal, key: principal.id, nonce: `${round} ${i}` };
    const isSigned = shown.signed && seen.payload.edit === undefined;
    const { decision, payload } = isSigned ? signWith(seen, await signWord(stage.world, shown, signing)) : seen;
    hearSaid(stage, last, { gate, by: principal.id, word: { decision, payload } });
    const said = { tenant_id: 1, principal, gate_id, decision, payload };
    const refused = (thrown: unknown): void => void refusals.push(String(thrown));
    await seeThrough(stage, last, last.kernel.decideGate(workflow_id, said).catch(refused));
  }
  return refusals;
}

const rejection: ReturnType<typeof wordOn> = { decision: "reject", payload: {} };

const seenAt = ({ payload_digest, basis_digest }: Gate) =>
  basis_digest === undefined ? { payload_digest } : { payload_digest, basis_digest };

/** Gives this the time that it takes. */
async function seeThrough(stage: Stage, { clock, name }: SimulatedProcess, answer: Promise<unknown>): Promise<void> {
  let over = false;
  void answer.finally(() => {
    over = true;
  });
  for (let i = 0; i < 40; i += 1) {
    await letRun();
    if (over) return;
    for (const pending of stage.world.pending.splice(0)) pending.end();
    await clock.advanceToNext();
  }
  stage.broken.push(`answers: decide at ${name} hangs`);
}

/** The whole of a gate while it asks. One that is decided in the ledger is not read: reading checks its whole log. */
async function find(
  { world }: Stage,
  { kernel }: SimulatedProcess,
  { workflow_id, gate_id }: Gate,
): Promise<Gate | undefined> {
  const lies = world.records.get(workflow_id)?.gates.get(gate_id);
  if (lies !== undefined && !isOpenGate(lies)) return undefined;
  const open = await kernel.gates({ workflow_id, limit: 200 });
  return open.find((gate) => gate.gate_id === gate_id);
}
