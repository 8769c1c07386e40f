/**
 * The lifecycle of a tier, each declared transition taken by tier 2 of a running kernel: put to sleep and woken by
 * commands, crashed by a door that throws, restarted or given up by its supervisor, stopped with its kernel.
 */
import { describe, expect, it } from "vitest";
import type { AnyActorRef } from "xstate";
import { tierMachine } from "../../machines/index.ts";
import type { TierDefinition } from "../../src/engine/actors/define-tier.ts";
import { createCommandSignal, createDataSignal, type Result } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { titleOf } from "./driver.ts";
import { type ChartEvent, type ChartPath, createModel, eventsOf, follow, missingOf, pairOf } from "./paths.ts";

const model = createModel(tierMachine);
const types = model.all.map(({ type }) => type);
const covered = new Set<string>();
const visited = new Set<string>();
const ref = { tier: 2, module: "test", function: "tier" } as const;

/** Tier 2 with one more door, behind which there is nothing but a throw. */
const withTrapdoor = (definition: TierDefinition): TierDefinition => {
  if (definition.tier !== 2) return definition;
  const handle = (): Result => {
    throw new Error("the floor gives way");
  };
  return { ...definition, doors: { ...definition.doors, "data:Fall": { module: "test", function: "fall", handle } } };
};

/** What the tier's own lifecycle actor heard, in order. */
const watch = (inspected: readonly Heard[], actor: AnyActorRef): readonly ChartEvent[] =>
  inspected.filter((heard) => heard.actor === actor).map(({ type }) => ({ type }));

interface Heard {
  readonly actor: unknown;
  readonly type: string;
}

async function open(route: readonly ChartEvent[]) {
  const heard: Heard[] = [];
  const t = await createTestKernel({
    patchTier: withTrapdoor,
    limits: { maxTierRestarts: route.some(({ type }) => type === "GAVE_UP") ? 0 : 10 },
    inspect: (inspection) => {
      if (inspection.type === "@xstate.event" && types.includes(inspection.event.type))
        heard.push({ actor: inspection.actorRef, type: inspection.event.type });
    },
  });
  return { t, heard, lifecycle: t.kernel.system.get("t2.lifecycle") as AnyActorRef };
}

const command = (t: TestKernel, action: string) => t.kernel.ask(2, createCommandSignal(action, ref, ref, "test", {}));
const fall = (t: TestKernel) => t.kernel.ask(2, createDataSignal({}, "Fall", ref, "test"));

/** What a user or a host does; a restart, and giving up, are the supervisor's own and follow the crash. */
const acts: Readonly<Record<string, (t: TestKernel) => Promise<unknown>>> = {
  ACTIVATE: (t) => command(t, "activate"),
  SLEEP: (t) => command(t, "sleep"),
  CRASHED: fall,
  RESTARTED: async () => undefined,
  GAVE_UP: async () => undefined,
  STOP: (t) => t.kernel.stop({ drainMs: 0 }),
};

async function walkPath(path: ChartPath): Promise<void> {
  const route = eventsOf(path);
  const { t, heard, lifecycle } = await open(route);
  await using _ = t;
  const compare = (): void => {
    const trace = watch(heard, lifecycle);
    const { state, pairs } = follow(model, trace);
    expect(lifecycle.getSnapshot().value).toBe(state);
    for (const pair of pairs) covered.add(pair);
    visited.add(state);
  };
  const bring = async ({ event }: { readonly event: { readonly type: string } }): Promise<void> => {
    await acts[event.type]?.(t);
    await t.clock.settle();
  };
  await path.test({ events: Object.fromEntries(types.map((type) => [type, bring])), states: { "*": compare } });
  expect(missingOf(model, path, watch(heard, lifecycle))).toEqual([]);
}

describe("[CARD-10] each path through the tier lifecycle, on a running kernel", () => {
  it.each(model.paths.map((path) => [titleOf(path), path] as const))("%s", (_title, path) => walkPath(path));
});

describe("what these walks have covered", () => {
  it("[CARD-10] every transition that the tier lifecycle declares was taken", () => {
    expect(model.pairs.filter((pair) => !covered.has(pair))).toEqual([]);
  });

  it("[CARD-10] every state was read back, but for restarting, which a crash leaves in the same turn", () => {
    const missing = model.states.filter((state) => !visited.has(state));
    expect(missing).toEqual(["restarting"]);
    expect(covered).toContain(pairOf("restarting", { type: "RESTARTED" }));
  });
});

describe("what a tier answers", () => {
  it("SKIP while it is dormant, and as before once it is awake again", async () => {
    await using t = (await open([])).t;
    await command(t, "sleep");
    expect((await fall(t)).status).toBe("skip");
    await command(t, "activate");
    expect(await fall(t)).toMatchObject({ status: "error", error: { code: "T0_TIER_CRASHED" } });
  });

  it("an error, without any of its doors being opened, once its supervisor has given it up", async () => {
    let opened = 0;
    const countFalls = (definition: TierDefinition): TierDefinition => {
      const handle = (): Result => {
        opened += 1;
        throw new Error("the floor gives way");
      };
      return definition.tier === 2
        ? { ...definition, doors: { "data:Fall": { module: "test", function: "fall", handle } } }
        : definition;
    };
    await using t = await createTestKernel({ patchTier: countFalls, limits: { maxTierRestarts: 0 } });
    await fall(t);
    expect((t.kernel.system.get("t2.lifecycle") as AnyActorRef).getSnapshot().value).toBe("failed");
    expect(await fall(t)).toMatchObject({ status: "error", error: { code: "T0_TIER_CRASHED" } });
    expect(opened).toBe(1);
  });
});
