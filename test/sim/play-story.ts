/**
 * Plays a story: one thing after another happens, and each time all that can run runs until nothing moves. Afterwards
 * everything is healed, and one process that is opened last sees each workflow to its end.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { letRun } from "../../src/testing/let-run.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { happen } from "./happen.ts";
import { heal } from "./heal.ts";
import { judgePlaces } from "./judge-desk.ts";
import { lookAt } from "./judge-live.ts";
import { judge } from "./judge-story.ts";
import { OutsideWorld } from "./outside-world.ts";
import { postgresLike } from "./postgres-like.ts";
import { powerCutStore } from "./power-cut.ts";
import { openProcess, type SimulatedProcess } from "./simulated-process.ts";
import type { Action, Story } from "./story.ts";
import { releaseOf } from "./story-deploy.ts";
import type { Messages } from "./story-messages.ts";

/** What a story came to. `failure` begins with the law that was broken; null where all hold. */
export interface Played {
  readonly failure: string | null;
  readonly marks: ReadonlyMap<string, number>;
  readonly world: OutsideWorld;
}

const start = Date.UTC(2026, 0, 1);

/** A story under way: who is alive, and what people wait for. */
export class Stage {
  readonly story: Story;
  readonly world = new OutsideWorld();
  /** Live processes, paused ones among them. */
  processes: SimulatedProcess[] = [];
  readonly workflows: string[] = [];
  /** The ids of events from outside that were answered. */
  readonly sent: string[] = [];
  /** The messages to work under way. */
  readonly messages: Messages = new Map();
  /** What a person asked of a process and has no answer to. */
  readonly asked = new Map<Promise<unknown>, { readonly what: string; readonly process: SimulatedProcess }>();
  readonly broken: string[] = [];
  readonly #ground: Ground;
  #opened = 0;
  #latest = start;
  #elapsed = start;

  constructor(story: Story, ground: Ground) {
    this.story = story;
    this.#ground = ground;
  }

  get awake(): readonly SimulatedProcess[] {
    return this.processes.filter(({ faults }) => !faults.isPaused);
  }

  /** The latest that any clock has shown. */
  get latest(): number {
    for (const { wall } of this.processes) this.#latest = Math.max(this.#latest, wall.now());
    return this.#latest;
  }

  /** What has elapsed in the world; no process that sleeps is left out of it. */
  get elapsed(): number {
    for (const { wall } of this.processes) this.#elapsed = Math.max(this.#elapsed, wall.elapsed());
    return this.#elapsed;
  }

  /** Another process on the same ledger; it may die before it serves. */
  async open(
    afterMs: number,
    release = releaseOf(this.story, this.#opened),
    elsewhere = this.#opened % 2 === 1 ? this.story.leaves : [],
  ): Promise<void> {
    this.#opened += 1;
    const name = `p${this.#opened}`;
    const { story, world } = this;
    const under = await this.#ground.connect();
    const request = { story, release, world, under, name, now: this.latest + afterMs, elsewhere };
    void openProcess(request, () => undefined).then(
      (opened) => this.processes.push(opened),
      (thrown) => this.broken.push(`opens: ${String(thrown)}`),
    );
    await letRun();
  }

  /** The machine loses its power, and all that ran on it; what a person was told stands all the same. */
  async cut(): Promise<void> {
    if (this.#ground.cut === undefined) return;
    for (const process of this.processes) {
      process.faults.crash();
      this.drop(process);
    }
    const lost = await this.#ground.cut();
    this.world.mark(lost === 0 ? "power cut" : "power cut that takes rows");
    this.world.lose(lost);
    this.broken.push(...this.world.forgotten());
  }

  drop(process: SimulatedProcess): void {
    this.#latest = this.latest;
    this.#elapsed = this.elapsed;
    this.processes = this.processes.filter((other) => other !== process);
    for (const [promise, { process: asked }] of this.asked) if (asked === process) this.asked.delete(promise);
  }

  /** Every workflow that is awake somewhere lives as the ledger had it, at what that process has heard of it. */
  look(): void {
    for (const process of this.awake) {
      this.broken.push(...judgePlaces(this, process));
      for (const id of this.world.states.keys()) {
        const otherwise = lookAt(this.world, process, id);
        if (otherwise !== null) this.broken.push(otherwise);
      }
    }
  }

  /** Who died at a commit is no longer there. */
  sweep(): void {
    for (const process of this.processes) if (process.faults.isDead) this.drop(process);
  }
}

interface Ground {
  readonly connect: () => Promise<LedgerStore>;
  readonly clear: () => Promise<void>;
  /** Its machine loses its power; gives how many rows went with it. */
  readonly cut?: () => Promise<number>;
}

/** One store that all share; a file has a connection for each process. */
async function prepareGround({ store, seed }: Story): Promise<Ground> {
  if (store === "postgres-like") {
    const { connect, close } = await postgresLike(seed);
    return { connect: async () => connect(), clear: close };
  }
  if (store === "power-cut") {
    const { store: one, cut } = await powerCutStore();
    return { connect: async () => one, clear: async () => undefined, cut };
  }
  if (store !== "file") {
    const one = store === "memory" ? memoryLedger() : sqliteLedger();
    await one.open();
    const shared = { ...one, open: async () => undefined, close: async () => undefined };
    return { connect: async () => shared, clear: () => one.close() };
  }
  const folder = mkdtempSync(join(tmpdir(), "countersign-sim-"));
  const connections: LedgerStore[] = [];
  return {
    async connect() {
      const one = sqliteLedger({ path: join(folder, "ledger.db"), busyTimeoutMs: 0, synchronous: "normal" });
      connections.push(one);
      return one;
    },
    async clear() {
      for (const one of connections) await one.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function playStory(story: Story): Promise<Played> {
  const ground = await prepareGround(story);
  const stage = new Stage(story, ground);
  const loud = (thrown: unknown): void => void stage.broken.push(`unhandled: ${(thrown as Error)?.stack ?? thrown}`);
  process.on("unhandledRejection", loud);
  try {
    await live(stage);
    const failure = await endStory(stage);
    return { failure, marks: stage.world.marks, world: stage.world };
  } catch (thrown) {
    return { failure: `thrown: ${(thrown as Error).stack}`, marks: stage.world.marks, world: stage.world };
  } finally {
    process.off("unhandledRejection", loud);
    await ground.clear();
  }
}

async function live(stage: Stage): Promise<void> {
  for (let i = 0; i < stage.story.processes; i += 1) await stage.open(i * 700);
  await act(stage, stage.story.actions);
}

/** These happen, one after another. */
async function act(stage: Stage, actions: readonly Action[]): Promise<void> {
  for (const action of actions) {
    await happen(stage, action);
    await letRun();
    stage.sweep();
    stage.look();
  }
}

async function endStory(stage: Stage): Promise<string | null> {
  let last = await heal(stage);
  const { encore } = stage.story;
  if (encore.length > 0 && last !== null && stage.broken.length + stage.world.broken.length === 0) {
    await act(stage, encore);
    last = await heal(stage);
  }
  const failure = stage.world.broken[0] ?? stage.broken[0] ?? (await judge(stage, last));
  return failure ?? stage.broken[0] ?? null;
}
