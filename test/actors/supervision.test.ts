/**
 * The actor tree as an inspector sees it, and what is left of it when work ends, a tier crashes, or the kernel stops.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { AnyActorRef, InspectionEvent } from "xstate";
import { stepMachine } from "../../machines/step.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import {
  allTiers,
  errand,
  eventsOf,
  gated,
  intentType,
  oneStep,
  operator,
  patchDoor,
  refusal,
  step,
} from "./fixture.ts";
import { toWorkflow } from "./tier-signals.ts";

const idOf = (ref: unknown): string => (ref as { readonly id: string }).id;
const parentOf = (ref: unknown): AnyActorRef | undefined => (ref as { readonly _parent?: AnyActorRef })._parent;

/** An inspector's notes: who appeared, and which states each was seen in. */
function inspector() {
  const events: InspectionEvent[] = [];
  const of = (type: string) => events.filter((event) => event.type === type);
  return {
    inspect: (event: InspectionEvent) => void events.push(event),
    events,
    actors: () => of("@xstate.actor").map((event) => event.actorRef),
    idsIn: (type: string) => new Set(of(type).map((event) => idOf(event.actorRef))),
    statesOf: (id: string) =>
      of("@xstate.snapshot")
        .filter((event) => idOf(event.actorRef) === id)
        .map((event) => (event as unknown as { readonly snapshot: { readonly value: unknown } }).snapshot.value),
  };
}

const twoSteps = () => errand([step("s1", "Test.Do"), step("s2", "Test.Do")], [operator("Test.Do")]);

describe("the tree", () => {
  it("[CARD-05] the step machine has five states, of which three are final", () => {
    const { states } = stepMachine;
    expect(Object.keys(states)).toEqual(["queued", "running", "succeeded", "failed", "skipped"]);
    const finals = Object.values(states).filter((node) => node.type === "final");
    expect(finals.map((node) => node.key)).toEqual(["succeeded", "failed", "skipped"]);
  });

  it("[CARD-05] every step of a run is a live actor under its workflow's actor", async () => {
    const seen = inspector();
    await using t = await createTestKernel({ capabilities: [twoSteps()], inspect: seen.inspect });
    const { workflow_id } = await t.run(intentType);
    const steps = seen.actors().filter((ref) => parentOf(ref)?.id === workflow_id);
    expect(steps.map(idOf)).toEqual(["s1", "s2"]);
    for (const id of ["s1", "s2"]) {
      expect(seen.statesOf(id)).toEqual(expect.arrayContaining(["queued", { running: "judging" }, "succeeded"]));
    }
    const [workflow] = seen.actors().filter((ref) => idOf(ref) === workflow_id);
    expect(parentOf(workflow)).toBe(t.kernel.system.get("t4"));
  });

  it("[CARD-06] eight tiers live under the root, each found by its system id, until the kernel stops", async () => {
    const t = await createTestKernel({ capabilities: [oneStep()] });
    const actors = allTiers.map((tier) => t.kernel.system.get(`t${tier}`) as AnyActorRef);
    expect(actors.map((actor) => actor.getSnapshot().status)).toEqual(Array(8).fill("active"));
    expect(new Set(actors.map((actor) => parentOf(actor)?.id))).toEqual(new Set(["kernel"]));
    await t.run(intentType);
    expect(allTiers.map((tier) => t.kernel.system.get(`t${tier}`))).toEqual(actors);
    await t.kernel.stop();
    expect(actors.map((actor) => actor.getSnapshot().status)).toEqual(Array(8).fill("stopped"));
    expect(allTiers.map((tier) => t.kernel.system.get(`t${tier}`))).toEqual(Array(8).fill(undefined));
  });

  it("[CARD-06] every Signal a tier gets passes through its actor's inbox", async () => {
    const delivered = new Map<string, number>();
    await using t = await createTestKernel({
      capabilities: [oneStep()],
      inspect: (event) => {
        if (event.type !== "@xstate.event" || event.event.type !== "DELIVER") return;
        const { systemId } = event.actorRef as unknown as { readonly systemId: string };
        delivered.set(systemId, (delivered.get(systemId) ?? 0) + 1);
      },
    });
    await t.run(intentType, {}, { input: { text: "an errand" } });
    const sent = t.items.flatMap((item) => ("to" in item ? [`t${item.to}`] : []));
    expect(Object.fromEntries(delivered)).toEqual(
      Object.fromEntries([...new Set(sent)].map((id) => [id, sent.filter((other) => other === id).length])),
    );
  });

  it("[CARD-14] an inspector is told of actors, events and snapshots of the whole tree", async () => {
    const seen = inspector();
    await using t = await createTestKernel({ capabilities: [gated()], inspect: seen.inspect });
    const { workflow_id } = await t.run(intentType);
    const tiers = allTiers.map((tier) => idOf(t.kernel.system.get(`t${tier}`)));
    const everyone = ["kernel", ...tiers, workflow_id, "s1", "s2", "gate-s2"];
    for (const type of ["@xstate.actor", "@xstate.event", "@xstate.snapshot"]) {
      expect([...seen.idsIn(type)], type).toEqual(expect.arrayContaining(everyone));
    }
  });
});

describe("what is left", () => {
  it("[CARD-13] two hundred workflows leave no actor, no observer and no waiter behind", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep()] });
    const { actors, listeners, workflows, waiting } = t.kernel.vitals();
    for (let round = 0; round < 20; round += 1) {
      const states = await Promise.all(Array.from({ length: 10 }, () => t.run(intentType)));
      expect(new Set(states.map(({ state }) => state))).toEqual(new Set(["completed"]));
    }
    expect(t.kernel.vitals()).toMatchObject({ actors, listeners, workflows, waiting });
    expect({ actors, workflows, waiting }).toEqual({ actors: 0, workflows: 0, waiting: 0 });
  });

  it("[CARD-13] finished workflows are gone from the actor system, by an inspector's count", async () => {
    const seen = inspector();
    await using t = await createTestKernel({ capabilities: [twoSteps()], inspect: seen.inspect });
    await t.run(intentType);
    const passing = seen.actors().filter((ref) => !/^(kernel|T\d .*)$/.test(idOf(ref)));
    expect(passing).toHaveLength(3);
    const live = new Set(["active"]);
    const left = passing.filter((ref) => live.has((ref as AnyActorRef).getSnapshot().status));
    expect(left.map(idOf)).toEqual([]);
  });

  it("[CARD-12] a process with two kernels ends by itself once both have stopped, and they never met", async () => {
    const script = fileURLToPath(new URL("two-kernels.ts", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 20_000 });
    const report = JSON.parse(stdout) as {
      readonly states: readonly string[];
      readonly own: readonly boolean[];
      readonly foreign: readonly string[];
      readonly left: readonly string[];
    };
    expect(report.states).toEqual(["completed", "completed"]);
    expect(report.own).toEqual([true, true]);
    expect(report.foreign).toEqual(["T4_WORKFLOW_NOT_FOUND", "T4_WORKFLOW_NOT_FOUND"]);
    expect(report.left.filter((kind) => !kind.startsWith("Pipe") && !kind.startsWith("TTY"))).toEqual([]);
  });
});

/** A door on every request's way, for each tier. */
const doors = [
  [0, "data:ToolCall"],
  [1, "data:SubmitRequest"],
  [2, "data:ContextRequest"],
  [3, "data:PlanRequest"],
  [4, "command:activate"],
  [5, "command:activate"],
  [6, "data:NormalizedIntent"],
  [7, "data:Registration"],
] as const;

describe("a crash", () => {
  it.each(doors.slice(1))(
    "[CARD-23] of tier %i in %s ends one request with an error and serves the next",
    async (tier, key) => {
      let crashes = 1;
      const patchTier = patchDoor(tier, key, ({ handle }) => ({
        handle: (signal, runtime) => {
          crashes -= 1;
          if (crashes === 0) throw new TypeError("out of thin air");
          return handle(signal, runtime);
        },
      }));
      await using t = await createTestKernel({ capabilities: [oneStep()], patchTier });
      const before = t.kernel.system.get(`t${tier}`);
      const submitted = await t.submit(intentType).catch((thrown: { readonly error: unknown }) => thrown.error);
      const error = typeof submitted === "string" ? (await t.rest(submitted)).error : submitted;
      expect(error).toMatchObject({ code: "T0_TIER_CRASHED", source: { tier }, detail: { thrown: "out of thin air" } });
      expect(t.kernel.system.get(`t${tier}`)).not.toBe(before);
      expect((await t.run(intentType)).state).toBe("completed");
    },
  );

  it("[CARD-23] of a tier escalates the workflow's error to T7", async () => {
    const patchTier = patchDoor(3, "data:PlanRequest", () => ({
      handle: () => Promise.reject(new Error("lost the thread")),
    }));
    await using t = await createTestKernel({ capabilities: [oneStep()], patchTier });
    const { workflow_id, state } = await t.run(intentType);
    expect(state).toBe("failed");
    const hops = (await eventsOf(t, workflow_id)).filter((event) => event.event_type === "ERROR_ESCALATED");
    expect(hops.map((event) => event.payload["tier"])).toEqual([5, 6, 7]);
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it("[CARD-23] of T4 folds its other workflows again from the ledger, and they end as without the crash", async () => {
    let go = (): void => undefined;
    const calls: string[] = [];
    const waiting = new Promise<void>((resolve) => {
      go = resolve;
    });
    const slow = operator("Test.Slow", () => waiting.then(() => "slow"), { idempotent: true });
    const next = operator("Test.Next", () => `call ${calls.push("next")}`);
    const patchTier = patchDoor(4, "command:sleep", () => ({
      handle: () => {
        throw new Error("T4 stumbles");
      },
    }));
    const plan = [step("s1", "Test.Slow"), step("s2", "Test.Next", { depends_on: ["s1"] })];
    await using t = await createTestKernel({ capabilities: [errand(plan, [slow, next])], patchTier });
    const id = await t.submit(intentType);
    await t.clock.settle();
    await t.kernel.ask(4, toWorkflow("sleep", id));
    go();
    expect((await t.rest(id)).state).toBe("completed");
    expect(calls).toEqual(["next"]);
  });

  it("[CARD-23] after its limit of restarts a tier stays down, and says so with every answer", async () => {
    let calls = 0;
    const patchTier = patchDoor(1, "data:SubmitRequest", ({ handle }) => ({
      handle: (signal, runtime) => {
        calls += 1;
        if (calls <= 3) throw new Error("again");
        return handle(signal, runtime);
      },
    }));
    await using t = await createTestKernel({ capabilities: [oneStep()], patchTier, limits: { maxTierRestarts: 2 } });
    for (let time = 0; time < 5; time += 1) {
      expect((await refusal(t.submit(intentType))).code).toBe("T0_TIER_CRASHED");
    }
    expect(calls).toBe(3);
    expect((t.kernel.system.get("t1.lifecycle") as AnyActorRef).getSnapshot().value).toBe("failed");
  });
});
