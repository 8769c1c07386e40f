/** One process of a story: a kernel with its own clock, owner and randomness, on the store that all share. */
import { seededRandom } from "../../src/adapters/seeded-random.ts";
import type { KernelError } from "../../src/contract/error.ts";
import { assembleKernel } from "../../src/create-kernel.ts";
import type { Kernel } from "../../src/kernel/kernel-interface.ts";
import type { KernelOptions } from "../../src/kernel/options.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createVirtualClock, type VirtualClock } from "../../src/testing/virtual-clock.ts";
import { FaultyStore } from "./faulty-store.ts";
import type { OutsideWorld } from "./outside-world.ts";
import type { Story } from "./story.ts";
import { releasedAs, type StoryRelease } from "./story-deploy.ts";
import { hostOptions } from "./story-host.ts";
import { storyPackages } from "./story-package.ts";

export const leaseMs = 10_000;
/** Whoever never answers is waited for no longer than that. */
const patience = {
  middlewareTimeoutMs: 3_000,
  previewTimeoutMs: 3_000,
  securityTimeoutMs: 3_000,
  plannerTimeoutMs: 4_000,
};
const limits = { maxSteps: 40, leaseMs, tailPollMs: 1_000, ...patience };

export interface SimulatedProcess {
  readonly name: string;
  readonly kernel: Kernel;
  readonly faults: FaultyStore;
  readonly clock: VirtualClock;
  /**
   * The wall's time as this process reads it, which may jump while its timers do not, and what has elapsed, which may
   * not.
   */
  readonly wall: {
    readonly jump: (ms: number) => void;
    readonly sleep: (ms: number) => void;
    readonly now: () => number;
    readonly elapsed: () => number;
  };
  /** How many rows of each workflow its live actors have been seen to have heard. */
  readonly heard: Map<string, number>;
  /** What was logged as an error and is none of the story's faults. */
  readonly crashes: string[];
}

interface Host {
  readonly story: Story;
  readonly release: StoryRelease | null;
  readonly world: OutsideWorld;
  readonly name: string;
}

export interface OpenRequest extends Host {
  readonly under: LedgerStore;
  readonly now: number;
  /** The intent types that it leaves to other processes. */
  readonly elsewhere: readonly string[];
}

/** Null where the process died while it opened. */
export async function openProcess(
  request: OpenRequest,
  started: (faults: FaultyStore) => void,
): Promise<SimulatedProcess> {
  const { story, release, world, under, name, now, elsewhere } = request;
  const faults = new FaultyStore(under, { world, name });
  const clock = createVirtualClock(now);
  const crashes: string[] = [];
  const wall = jumping(clock, () => world.broken.push(`spins: ${name} sets timer after timer`));
  world.releases.set(name, release);
  world.leaves.set(name, elsewhere);
  started(faults);
  const kernel = await assembleKernel({
    ledger: faults.store,
    random: seededRandom(story.seed * 31 + Number(name.slice(1))),
    owner: name,
    elsewhere,
    ...optionsOf(request, wall.clock),
    logger: loggerOf(request, crashes),
  });
  return { name, kernel, faults, clock, wall, heard: new Map(), crashes };
}

/** What the host brings to a process of this release. */
export function optionsOf({ story: first, release, world, name }: Host, clock: Clock): KernelOptions {
  const story = releasedAs(first, release);
  const hands = { story, first, release, world, process: name, clock };
  return {
    clock,
    capabilities: storyPackages(hands),
    ...hostOptions(hands),
    durability: story.durability,
    limits: { ...limits, maxReplans: story.maxReplans, ...story.limits },
  };
}

const quiet = (): void => undefined;

function loggerOf({ story, world }: OpenRequest, crashes: string[]): NonNullable<KernelOptions["logger"]> {
  const listen = hear(crashes);
  const note =
    story.masks.length === 0 ? quiet : (detail: object, said = ""): void => world.overhear(story, { detail, said });
  const loud = (detail: object, said?: string): void => {
    note(detail, said);
    listen(detail, said);
  };
  return { debug: note, info: note, warn: loud, error: loud };
}

/** A kernel that logs one of these has met something nobody thought of, but for a store that is away. */
const unthought = /crashed|could not be recorded|unhandled/;
const hear =
  (crashes: string[]) =>
  (detail: object, message = ""): void => {
    if (!unthought.test(message)) return;
    const { error, thrown } = detail as { readonly error?: Partial<KernelError>; readonly thrown?: Error };
    if (error?.code === "T0_LEDGER_UNAVAILABLE") return;
    crashes.push(`${message}: ${error?.message ?? ""} ${thrown?.stack ?? ""}`);
  };

/** More than any process of a story that ends has use for. */
const mostTimers = 100_000;

/**
 * A clock whose reading can jump; what was to fire in so many ms still does, and what has elapsed goes on as in the
 * world. Who sets timer after timer is told of, and gets no more.
 */
function jumping(inner: VirtualClock, spins: () => void) {
  let skew = 0;
  let slept = 0;
  const elapsed = (): number => inner.now() + slept;
  let timers = 0;
  const clock: Clock = {
    now: () => inner.now() + skew,
    elapsed,
    setTimer(at, fire, background) {
      timers += 1;
      if (timers === mostTimers) spins();
      return timers < mostTimers ? inner.setTimer(at - skew, fire, background) : () => undefined;
    },
  };
  return {
    clock,
    now: clock.now,
    elapsed,
    sleep: (ms: number): void => {
      slept += ms;
    },
    jump: (ms: number): void => {
      skew += ms;
    },
  };
}
