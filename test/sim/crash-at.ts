/**
 * Kills a process at one commit of a scenario, once or again in its second life, lets this process finish the job on
 * the same file, and compares with the unhurt run.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { counting, type Ending, type Lived, liveToTheEnd, type Place, type Side } from "./crash-run.ts";
import { readEffects } from "./effects-file.ts";

const child = fileURLToPath(new URL("./crash-child.ts", import.meta.url));

export interface Point {
  readonly n: number;
  readonly side: Side;
  /** The commit at which the second process dies too. */
  readonly again?: number;
}

export interface Unhurt {
  readonly ending: Ending;
  /** Commits of the run: the points at which it can be cut. */
  readonly commits: number;
}

/** What a cut run came to; `same` is the law. */
export interface Cut {
  readonly point: Point;
  readonly ending: Ending;
  readonly killed: boolean;
  readonly same: boolean;
  /** Keys of effects that happened more than once. */
  readonly doubled: readonly string[];
  /** What the last process was asked about lost calls, as it was answered. */
  readonly settled: Lived["settled"];
}

export interface Ground extends Disposable {
  readonly place: (name: string, scenario: number) => Place;
}

/** A folder of its own for the files of one run of the loop. */
export function makeGround(): Ground {
  const folder = mkdtempSync(join(tmpdir(), "countersign-crash-"));
  return {
    place(name, scenario) {
      const own = join(folder, name);
      mkdirSync(own, { recursive: true });
      return { db: join(own, "ledger.db"), effects: join(own, "effects.jsonl"), scenario };
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export async function runUnhurt(ground: Ground, scenario: number): Promise<Unhurt> {
  const count = { appends: 0 };
  const { ending } = await liveToTheEnd(ground.place(`unhurt-${scenario}`, scenario), {
    life: 0,
    wrap: (store) => counting(store, count),
  });
  return { ending, commits: count.appends };
}

export async function cutAt(ground: Ground, unhurt: Unhurt, { scenario, point }: CutRequest): Promise<Cut> {
  const place = ground.place(`cut-${scenario}-${point.side}-${point.n}-${point.again ?? 0}`, scenario);
  const signal = await dieAt(place, { life: 0, n: point.n, side: point.side });
  if (point.again !== undefined) await dieAt(place, { life: 1, n: point.again, side: point.side });
  const { ending, settled } = await liveToTheEnd(place, { life: 2 });
  const keys = readEffects(place.effects).map((e) => e.key);
  return {
    point,
    ending,
    killed: signal === "SIGKILL",
    same: isDeepStrictEqual(ending, unhurt.ending),
    doubled: keys.filter((key, i) => keys.indexOf(key) !== i),
    settled,
  };
}

export interface CutRequest {
  readonly scenario: number;
  readonly point: Point;
}

interface Death {
  readonly life: number;
  readonly n: number;
  readonly side: Side;
}

/** Runs the child to its death (or its end, if it makes fewer commits) and says which signal ended it. */
function dieAt({ db, effects, scenario }: Place, { life, n, side }: Death): Promise<NodeJS.Signals | null> {
  const env = {
    ...process.env,
    CRASH_DB: db,
    CRASH_EFFECTS: effects,
    CRASH_SCENARIO: String(scenario),
    CRASH_LIFE: String(life),
    CRASH_AT: String(n),
    CRASH_SIDE: side,
  };
  const running: ChildProcess = spawn(process.execPath, [child], { env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  running.stderr?.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    running.on("error", reject);
    running.on("close", (code, signal) =>
      code === 0 || signal !== null ? resolve(signal) : reject(new Error(`the child failed: ${said}`)),
    );
  });
}

/** Does the work for each item, two at a time, and keeps their order. */
export async function inPairs<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let i = next++; i < items.length; i = next++) results[i] = await work(items[i] as T);
  };
  await Promise.all([worker(), worker()]);
  return results;
}
