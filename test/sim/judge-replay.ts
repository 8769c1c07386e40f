/**
 * A replay is identical wherever it is asked for by the release that decided. By another it is identical up to what the other
 * release decided, and from there on identical or told to differ; or it is refused by a code that says what is not known here.
 */
import { KernelErrorException } from "../../src/contract/error.ts";
import type { Replay } from "../../src/contract/replay.ts";
import type { TurnRow } from "../../src/contract/turn.ts";
import { replayRows } from "../../src/index.ts";
import type { Kernel } from "../../src/kernel/kernel-interface.ts";
import { letRun } from "../../src/testing/let-run.ts";
import type { OutsideWorld } from "./outside-world.ts";
import type { Stage } from "./play-story.ts";
import { optionsOf, type SimulatedProcess } from "./simulated-process.ts";
import type { StoryRelease } from "./story-deploy.ts";

export async function judgeReplay(stage: Stage, last: SimulatedProcess, id: string): Promise<readonly string[]> {
  const { kernel, clock, name } = last;
  const own = stage.world.releases.get(name) ?? null;
  const deciders = decidersOf(stage.world, id);
  const [release = null] = deciders.values();
  const begins = beginOf(stage.world, id, (one) => one !== own);
  const told = await tell(kernel.replay(id), begins, stage.world);
  if (told !== null) return [`replay: ${id}: ${told}`];
  if (begins === Number.POSITIVE_INFINITY || deciders.size > 1) return [];
  const rows = await rowsOf(kernel, id);
  const options = optionsOf({ ...stage, release, name }, clock);
  const again = await tell(replayRows(rows, options), Number.POSITIVE_INFINITY, stage.world);
  return again === null ? [] : [`replay: ${id}, by its own release: ${again}`];
}

async function rowsOf(kernel: Kernel, id: string): Promise<readonly TurnRow[]> {
  const rows: TurnRow[] = [];
  for await (const row of kernel.export(id)) rows.push(row);
  return rows;
}

type Releases = ReadonlySet<StoryRelease | null>;

const deciderOf = ({ releases, writers }: OutsideWorld, at: number): StoryRelease | null =>
  releases.get(writers[at - 1] as string) ?? null;

const decidersOf = (world: OutsideWorld, id: string): Releases =>
  new Set(world.durable.filter(({ event }) => event.workflow_id === id).map(({ at }) => deciderOf(world, at)));

/** The first event of a workflow that such a release decided. */
function beginOf(world: OutsideWorld, id: string, isSuch: (release: StoryRelease | null) => boolean): number {
  const first = world.durable.find(({ at, event }) => event.workflow_id === id && isSuch(deciderOf(world, at)));
  return first?.event.sequence ?? Number.POSITIVE_INFINITY;
}

const unknown: ReadonlySet<string> = new Set(["T4_OPERATOR_UNKNOWN", "T1_NORMALIZE_UNKNOWN_INTENT"]);

/** What is wrong with a replay that must be identical up to this event; null where nothing is. */
async function tell(asked: Promise<Replay>, until: number, world: OutsideWorld): Promise<string | null> {
  try {
    const replayed = await answerOf(asked);
    if (replayed === null) return "it hangs";
    const { identical, difference } = replayed;
    if (difference !== null) world.mark(`replay ${difference.code} ${difference.event_type}`);
    if (identical || (difference !== null && difference.sequence >= until)) return null;
    const { sequence, event_type, step_id, path, reason, expected, actual } = difference ?? ({} as never);
    return `at ${sequence} ${event_type} ${step_id} ${path}: ${reason} ${JSON.stringify([expected, actual]).slice(0, 400)}`;
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) world.mark(`replay ${thrown.error.code}`);
    const isKnown = thrown instanceof KernelErrorException && unknown.has(thrown.error.code);
    return isKnown && until < Number.POSITIVE_INFINITY ? null : String(thrown);
  }
}

/** Null for what hangs: nothing of a replay needs time. */
async function answerOf<T>(asked: Promise<T>): Promise<T | null> {
  const state: { answer: T | null } = { answer: null };
  const answered = asked.then((answer) => {
    state.answer = answer;
  });
  for (let i = 0; i < 4 && state.answer === null; i += 1) await Promise.race([answered, letRun()]);
  return state.answer;
}
