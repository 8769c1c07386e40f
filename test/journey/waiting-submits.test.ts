/** Submits and accepted workflows wait for a place in turn, and who is refused or leaves leaves nothing behind. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { kernelError } from "../../src/contract/error-codes.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import { defaultLimits } from "../../src/engine/actors/runtime.ts";
import { defineCapability } from "../../src/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { Places } from "../../src/tiers/t7-orchestration/places.ts";
import { patchDoor } from "../actors/fixture.ts";
import { counted, refusalOf } from "../fixtures.ts";

const stopped = kernelError("T0_KERNEL_STOPPED", "stopped", moduleRef(0, "kernel", "stop"));

/** Places with a virtual clock; `ask` gives the outcome of each submit by the name of its workflow. */
function openPlaces(limits: object) {
  const clock = createVirtualClock(0);
  const places = new Places();
  const runtime = { clock, limits: { ...defaultLimits, ...limits } };
  const ended: string[] = [];
  return {
    ...{ clock, places, ended },
    async ask(workflow_id: string, tenant_id: string, id: string) {
      const running = { workflow_id, tenant_id, principal: { type: "user", id } };
      try {
        if ((await places.register(running, runtime)) !== null) {
          ended.push(`${workflow_id} accepted`);
          await places.enter(running, runtime.limits);
        }
        ended.push(workflow_id);
      } catch (thrown) {
        ended.push(`${workflow_id} ${(thrown as { readonly error: { readonly code: string } }).error.code}`);
      }
    },
    abandon: (workflow_id: string) => places.abandon(workflow_id),
    release: (workflow_id: string) => places.release(workflow_id, runtime.limits),
    settle: () => clock.settle(),
  };
}

describe("the places that become free", () => {
  it("go to the tenants in turn, then to their principals in turn, in the order of the requests", async () => {
    const { ask, release, settle, ended } = openPlaces({ maxInFlight: 1 });
    await ask("held", "z", "zoe");
    for (const name of ["a1", "a2", "a3"]) void ask(name, "acme", "ann");
    void ask("b1", "acme", "bob");
    void ask("c1", "corp", "cid");
    const served = ["held", "a1", "c1", "b1", "a2", "a3"];
    for (const name of served) {
      release(name);
      await settle();
    }
    expect(ended).toEqual(served);
  });

  it("let who comes later run where its share has room and theirs has none", async () => {
    const { ask, settle, ended, places } = openPlaces({ maxInFlight: 4, inFlightPrincipalPercent: 50 });
    for (const name of ["a1", "a2", "a3", "a4"]) void ask(name, "acme", "ann");
    await settle();
    void ask("b1", "acme", "bob");
    await settle();
    expect([ended, places.waiting]).toEqual([["a1", "a2", "b1"], 2]);
  });

  it("are never exceeded, whoever asks, leaves and waits, and nobody waits beside a free place", async () => {
    const step = fc.record({
      tenant: fc.nat(2),
      person: fc.nat(2),
      leaves: fc.boolean(),
      waits: fc.nat(3000),
      gives: fc.option(fc.nat(40)),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(step, { maxLength: 40 }),
        async (maxInFlight, steps) => {
          const shares = { inFlightTenantPercent: 75, inFlightPrincipalPercent: 50 };
          const { ask, abandon, release, settle, clock, places, ended } = openPlaces({
            maxInFlight,
            maxWaitingSubmits: 8,
            ...shares,
          });
          const running = new Set<string>();
          for (const [i, { tenant, person, leaves, waits, gives }] of steps.entries()) {
            void ask(`w${i}`, `t${tenant}`, `p${person}`);
            await clock.advance(waits);
            for (const name of ended) if (!name.includes(" ")) running.add(name);
            const [first] = running;
            if (gives !== null) {
              const left = steps.slice(0, i + 1).map((_, n) => `w${n}`)[gives] ?? "";
              const [waited, ran] = [places.waiting, running.has(left)];
              const was = ended.length;
              abandon(left);
              await settle();
              if (places.waiting < waited) expect(ended.slice(was)).toEqual([`${left} T7_SPAWN_ABANDONED`]);
              if (ran) expect(running.has(left)).toBe(true);
            }
            if (leaves && first !== undefined) {
              running.delete(first);
              ended.splice(ended.indexOf(first), 1);
              release(first);
              await settle();
            }
            expect(places.running).toBeLessThanOrEqual(maxInFlight);
            expect(places.waiting).toBeLessThanOrEqual(8);
          }
          await clock.advance(1000);
          expect(clock.pending()).toBe(0);
          for (const name of ended) if (!name.includes(" ")) running.add(name);
          for (const name of running) {
            release(name);
            await settle();
            for (const next of ended) if (!next.includes(" ")) running.add(next);
          }
          expect([places.waiting, places.running]).toEqual([0, 0]);
        },
      ),
    );
  });
});

describe("a submit that waits", () => {
  it("is accepted once `submitWaitMs` is over and keeps its turn, leaves no timer, and abandons nothing", async () => {
    const { ask, abandon, release, settle, clock, ended, places } = openPlaces({ maxInFlight: 1, submitWaitMs: 700 });
    await ask("held", "acme", "ann");
    void ask("late", "acme", "bob");
    await clock.advance(699);
    void ask("later", "acme", "bob");
    await clock.advance(1);
    expect([ended, places.waiting, clock.pending()]).toEqual([["held", "late accepted"], 2, 1]);
    abandon("late");
    release("held");
    await settle();
    expect([ended, places.waiting]).toEqual([["held", "late accepted", "late"], 1]);
  });

  it("is forgotten once its workflow has ended while it waited", async () => {
    const { ask, release, settle, ended, places } = openPlaces({ maxInFlight: 1, submitWaitMs: 0 });
    await ask("held", "acme", "ann");
    for (const name of ["a1", "a2"]) void ask(name, "acme", "bob");
    await settle();
    release("a1");
    release("held");
    await settle();
    expect([ended.at(-1), places.waiting]).toEqual(["a2", 0]);
  });

  it("is refused at once where the queue is full, or its principal's share of the queue is", async () => {
    const { ask, settle, ended, places } = openPlaces({ maxInFlight: 1, maxWaitingSubmits: 4 });
    await ask("held", "z", "zoe");
    for (const name of ["a1", "a2", "a3"]) void ask(name, "acme", "ann");
    void ask("b1", "corp", "bob");
    await settle();
    expect([ended, places.waiting]).toEqual([["held", "a3 T7_SPAWN_INSUFFICIENT_RESOURCES"], 3]);
  });

  it("leaves the queue when it is abandoned, takes no place ever, and its room is another's", async () => {
    const { ask, abandon, release, settle, clock, ended, places } = openPlaces({
      maxInFlight: 1,
      maxWaitingSubmits: 2,
    });
    await ask("held", "z", "zoe");
    void ask("a1", "acme", "ann");
    void ask("b1", "corp", "bob");
    await settle();
    abandon("a1");
    void ask("a2", "acme", "ann");
    for (const name of ["held", "b1", "a2"]) {
      release(name);
      await settle();
    }
    expect([ended, places.waiting, places.running]).toEqual([["held", "a1 T7_SPAWN_ABANDONED", "b1", "a2"], 0, 0]);
    expect(clock.pending()).toBe(0);
  });

  it("that is abandoned before it asks for its place gets none, and is forgotten with its release", async () => {
    const { ask, abandon, release, ended, places } = openPlaces({ maxInFlight: 2 });
    abandon("early");
    await ask("early", "acme", "ann");
    abandon("never");
    release("never");
    await ask("never", "acme", "ann");
    abandon("never");
    expect([ended, places.running]).toEqual([["early T7_SPAWN_ABANDONED", "never"], 1]);
  });

  it("leaves an empty queue when all who wait are abandoned", async () => {
    const { ask, abandon, release, settle, clock, ended, places } = openPlaces({ maxInFlight: 1 });
    await ask("held", "z", "zoe");
    const names = ["a1", "a2", "b1", "c1"];
    for (const name of names) void ask(name, name.slice(0, 1), "ann");
    await settle();
    for (const name of names) abandon(name);
    await settle();
    expect([places.waiting, clock.pending()]).toEqual([0, 0]);
    release("held");
    await settle();
    expect([places.running, ended]).toEqual([0, ["held", ...names.map((name) => `${name} T7_SPAWN_ABANDONED`)]]);
  });

  it("is refused when the kernel stops, and never runs", async () => {
    const { ask, release, settle, clock, ended, places } = openPlaces({ maxInFlight: 1 });
    await ask("held", "acme", "ann");
    void ask("late", "acme", "bob");
    places.refuseWaiting(stopped);
    release("held");
    await settle();
    expect([ended, places.running, clock.pending()]).toEqual([["held", "late T0_KERNEL_STOPPED"], 0, 0]);
  });
});

describe("a kernel whose places are taken", () => {
  const open = async (limits: object, more: object = {}) => {
    const ends: ((result: object) => void)[] = [];
    const work = counted("T.Work", {}, () => new Promise<object>((resolve) => ends.push(resolve)));
    const steps = [{ step_id: "s1", name: "work", operator: "T.Work" }];
    const plan = { reasoning: "as told", steps };
    const job = defineCapability({
      intentType: "T.Job",
      version: "1.0",
      input: z.object({}),
      operators: [work.operator],
      plan,
    });
    const t = await createTestKernel({ capabilities: [job], limits, ...more });
    const as = (id: string, more: object = {}) => ({
      ...{ ...testCaller, principal: { ...testCaller.principal, id } },
      intent_hint: { intent_type: "T.Job", inputs: {} },
      ...more,
    });
    return { t, ends, as };
  };

  it("runs a submit that waits once another workflow has ended", async () => {
    const { t, ends, as } = await open({ maxInFlight: 1 });
    await using _t = t;
    await t.kernel.submit(as("ann"));
    const second = t.kernel.submit(as("bob"));
    await t.clock.settle();
    expect(t.kernel.vitals()).toMatchObject({ workflows: 1, submits: 1 });
    ends[0]?.({});
    const { workflow_id } = await second;
    await t.clock.settle();
    ends[1]?.({});
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(t.kernel.vitals()).toMatchObject({ workflows: 0, submits: 0 });
  });

  it("leaves no event of a refused submit, and gives two that wait under one key the same workflow", async () => {
    const { t, ends, as } = await open({ maxInFlight: 1, maxWaitingSubmits: 1, submitWaitMs: 1000 });
    await using _t = t;
    const first = await t.kernel.submit(as("ann"));
    await t.clock.settle();
    const before = (await t.kernel.verify()).checked;
    const twice = [1, 2].map(() => t.kernel.submit(as("bob", { idempotency_key: "k" })));
    await t.clock.settle();
    const refused = await refusalOf(t.kernel.submit(as("cid")));
    expect([refused.code, refused.detail["retry_after_ms"], (await t.kernel.verify()).checked]).toEqual([
      ...["T7_SPAWN_INSUFFICIENT_RESOURCES", 1_000],
      before,
    ]);
    ends[0]?.({});
    await t.clock.advance(1000);
    const [one, other] = await Promise.all(twice);
    expect(one?.workflow_id).toBe(other?.workflow_id);
    expect(one?.workflow_id).not.toBe(first.workflow_id);
    ends[1]?.({});
    await t.clock.settle();
    expect(t.kernel.vitals()).toMatchObject({ workflows: 0, submits: 0 });
  });

  it("accepts who waits: it is shown in a queue, and goes on in its turn, or in another process", async () => {
    const ledger = memoryLedger();
    const { t, ends, as } = await open({ maxInFlight: 1, submitWaitMs: 0 }, { ledger, seed: 1 });
    const big = [];
    for (let n = 0; n < 5; n += 1) big.push((await t.kernel.submit(as("ann", { tenant_id: 1 }))).workflow_id);
    const small = (await t.kernel.submit(as("bob", { tenant_id: 2 }))).workflow_id;
    await t.clock.settle();
    const waiting = await t.kernel.workflow(big[1] as string);
    const queue = { name: "limits.maxInFlight", key: "", concurrency: 1, place: "waiting" };
    expect(waiting).toMatchObject({ state: "accepted", queue });
    expect(await t.types(big[2] as string)).toEqual(["INTENT_RECEIVED", "WORKFLOW_QUEUED"]);
    expect((await t.kernel.workflows()).filter(({ queued }) => queued)).toHaveLength(5);
    expect(await t.kernel.queues({ tenant_id: 1 })).toMatchObject([{ name: queue.name, waiting: 4, running: 0 }]);
    expect(t.kernel.vitals()).toMatchObject({ places: 1, submits: 5 });
    await t.kernel.cancel(big[1] as string, { ...testCaller, reason: "no more" });
    await t.kernel.pause(big[2] as string, { ...testCaller, reason: "look" });
    // A tenant with many who wait does not delay another's first; one that was cancelled or paused takes no place.
    for (const id of [big[0], small, big[3]]) {
      ends.shift()?.({});
      await t.clock.settle();
      expect((await t.kernel.workflow(id as string)).state).toBe("completed");
    }
    expect((await t.kernel.explain(small)).why.join("\n")).toContain("it took a place in its queue");
    for (const id of [big[1], small] as string[]) expect((await t.kernel.replay(id)).identical).toBe(true);
    await t.kernel.resume(big[2] as string, testCaller);
    await t.clock.settle();
    expect((await t.kernel.workflow(big[2] as string)).queue?.place).toBe("waiting");
    await t.kernel.stop({ drainMs: 0 });
    const next = await open({ maxInFlight: 5 }, { ledger, seed: 2, clock: t.clock });
    await using n = next.t;
    await n.clock.settle();
    expect(next.ends).toHaveLength(2);
    for (const end of next.ends) end({});
    await n.clock.settle();
    for (const id of [big[2], big[4]] as string[]) expect((await n.kernel.workflow(id)).state).toBe("completed");
    expect(await n.kernel.queues({ tenant_id: 1 })).toEqual([]);
    expect((await n.kernel.verify()).broken).toEqual([]);
  });

  it("keeps the turn of who is accepted when the tier that counts places is restarted", async () => {
    let crashes = 1;
    const patchTier = patchDoor(7, "data:Release", ({ handle }) => ({
      handle: (signal, runtime) => {
        crashes -= 1;
        if (crashes === 0) throw new TypeError("out of thin air");
        return handle(signal, runtime);
      },
    }));
    const { t, ends, as } = await open({ maxInFlight: 1, submitWaitMs: 0 }, { patchTier });
    await using _t = t;
    const ids = [];
    for (const who of ["ann", "bob", "cid"]) ids.push((await t.kernel.submit(as(who))).workflow_id);
    await t.clock.settle();
    expect(t.kernel.vitals()).toMatchObject({ places: 1, submits: 2 });
    for (const id of ids) {
      ends.shift()?.({});
      await t.clock.advance(1_000);
      expect((await t.kernel.workflow(id)).state).toBe("completed");
      expect((await t.kernel.replay(id)).identical).toBe(true);
    }
    expect([crashes < 1, t.kernel.vitals()]).toMatchObject([true, { places: 0, submits: 0, workflows: 0 }]);
  });

  it("tells who waits that it stops", async () => {
    const { t, as } = await open({ maxInFlight: 1 });
    await t.kernel.submit(as("ann"));
    const waiting = refusalOf(t.kernel.submit(as("bob")));
    await t.clock.settle();
    await t.kernel.stop({ drainMs: 0 });
    expect((await waiting).code).toBe("T0_KERNEL_STOPPED");
    expect(t.clock.pending()).toBe(0);
  });
});
