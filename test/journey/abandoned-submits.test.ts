/** Submits whose callers leave while they wait: they begin nothing, and take nothing from those who wait on. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, type KernelErrorException } from "../../src/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { counted, refusalOf } from "../fixtures.ts";

/** A kernel with one place, which a workflow has until `free` is called. */
async function openFull(limits: object = {}, more: object = {}) {
  const ends: ((result: object) => void)[] = [];
  const work = counted("T.Work", {}, () => new Promise<object>((resolve) => ends.push(resolve)));
  const steps = [{ step_id: "s1", name: "work", operator: "T.Work" }];
  const job = defineCapability({
    ...{ intentType: "T.Job", version: "1.0", input: z.object({ n: z.int().optional() }) },
    ...{ operators: [work.operator], plan: { reasoning: "as told", steps } },
  });
  const t = await createTestKernel({ capabilities: [job], limits: { maxInFlight: 1, ...limits }, ...more });
  const as = (id: string, asked: object = {}) => ({
    ...{ ...testCaller, principal: { ...testCaller.principal, id } },
    intent_hint: { intent_type: "T.Job", inputs: {} },
    ...asked,
  });
  const first = await t.kernel.submit(as("holder"));
  await t.clock.settle();
  const rows = async () => (await t.kernel.verify()).checked;
  const free = async () => {
    const end = ends.shift();
    if (end === undefined) throw new Error("no workflow runs");
    end({});
    await t.clock.settle();
  };
  return { t, as, rows, free, first: first.workflow_id, calls: work.calls };
}

const abandoned = "T7_SPAWN_ABANDONED";

describe("a submit whose caller leaves", () => {
  it("while it waits leaves the queue, writes nothing, begins nothing ever, and the next one is served", async () => {
    const { t, as, rows, free, first, calls } = await openFull();
    await using _t = t;
    const before = await rows();
    const gone = new AbortController();
    const left = refusalOf(t.kernel.submit(as("ann"), { signal: gone.signal }));
    const next = t.kernel.submit(as("bob"));
    await t.clock.settle();
    expect(t.kernel.vitals()).toMatchObject({ places: 1, submits: 2 });
    gone.abort();
    await t.clock.settle();
    expect([(await left).code, (await left).retry_eligible]).toEqual([abandoned, true]);
    expect([t.kernel.vitals().submits, await rows()]).toEqual([1, before]);
    await free();
    const { workflow_id } = await next;
    await free();
    await t.clock.advance(60_000);
    expect((await t.kernel.workflows()).map((one) => one.workflow_id).sort()).toEqual([first, workflow_id].sort());
    expect(calls).toHaveLength(2);
    expect(t.kernel.vitals()).toMatchObject({ workflows: 0, places: 0, submits: 0 });
  });

  it("at whichever moment is either told so, with nothing begun, or accepted, and goes on", async () => {
    const { t, as, rows, free } = await openFull({ maxInFlight: 16 });
    await using _t = t;
    await free();
    const ends: string[] = [];
    for (let turns = 0; ends.at(-1) !== "accepted"; turns += 1) {
      const before = await rows();
      const gone = new AbortController();
      const asked = t.kernel.submit(as("ann"), { signal: gone.signal }).then(
        ({ status }) => status,
        (thrown: KernelErrorException) => thrown.error.code,
      );
      for (let turn = 0; turn < turns; turn += 1) await null;
      gone.abort();
      ends.push(await asked);
      await t.clock.settle();
      if (ends.at(-1) === abandoned) expect([await rows(), t.kernel.vitals().places]).toEqual([before, 0]);
      else await free();
    }
    expect(new Set(ends)).toEqual(new Set([abandoned, "accepted"]));
    const dead = AbortSignal.abort();
    expect((await refusalOf(t.kernel.submit(as("ann"), { signal: dead }))).code).toBe(abandoned);
    expect(t.kernel.vitals()).toMatchObject({ workflows: 0, places: 0, submits: 0 });
  });

  it("after it was accepted goes on: an abort is no cancel", async () => {
    const { t, as, free } = await openFull({ maxInFlight: 4 });
    await using _t = t;
    const gone = new AbortController();
    const { workflow_id } = await t.kernel.submit(as("ann"), { signal: gone.signal });
    gone.abort();
    await t.clock.settle();
    await free();
    await free();
    expect((await t.rest(workflow_id)).state).toBe("completed");
  });

  it("leaves an empty queue where all callers leave, and no listener on their signals", async () => {
    const { t, as, rows, free } = await openFull();
    await using _t = t;
    const before = await rows();
    const gone = new AbortController();
    const left = ["a", "b", "c"].map((id) => refusalOf(t.kernel.submit(as(id), { signal: gone.signal })));
    await t.clock.settle();
    expect(t.kernel.vitals().submits).toBe(3);
    gone.abort();
    expect((await Promise.all(left)).map(({ code }) => code)).toEqual([abandoned, abandoned, abandoned]);
    expect([t.kernel.vitals().submits, await rows()]).toEqual([0, before]);
    await free();
    expect(t.kernel.vitals()).toMatchObject({ workflows: 0, places: 0, submits: 0 });
  });

  it("is refused options that are none", async () => {
    const { t, as, free } = await openFull();
    await using _t = t;
    const wrong = (options: object) => refusalOf(t.kernel.submit(as("ann"), options as never));
    expect((await wrong({ signal: "soon" })).message).toContain("must be an AbortSignal");
    expect((await wrong({ singal: new AbortController().signal })).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    await free();
  });
});

describe("submits under one key that wait", () => {
  const keyed = { idempotency_key: "k" };

  it("are one: one place in the queue, one workflow, the same answer", async () => {
    const { t, as, free, calls } = await openFull();
    await using _t = t;
    const asked = [1, 2, 3].map(() => t.kernel.submit(as("ann", keyed)));
    await t.clock.settle();
    expect(t.kernel.vitals().submits).toBe(1);
    await free();
    const answers = await Promise.all(asked);
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    await free();
    expect([(await t.kernel.workflows()).length, calls.length]).toEqual([2, 2]);
  });

  it("stay where one of them leaves; where all leave, none stays", async () => {
    const { t, as, rows, free } = await openFull();
    await using _t = t;
    const before = await rows();
    const leavers = [new AbortController(), new AbortController()];
    const [one, other] = leavers.map(({ signal }) => t.kernel.submit(as("ann", keyed), { signal }));
    const [left, last] = [refusalOf(one as Promise<object>), refusalOf(other as Promise<object>)];
    await t.clock.settle();
    leavers[0]?.abort();
    expect((await left).code).toBe(abandoned);
    expect(t.kernel.vitals().submits).toBe(1);
    const stays = t.kernel.submit(as("ann", keyed));
    leavers[1]?.abort();
    expect((await last).code).toBe(abandoned);
    await t.clock.settle();
    expect([t.kernel.vitals().submits, await rows()]).toEqual([1, before]);
    await free();
    expect((await stays).status).toBe("accepted");
    await free();
    expect(await t.kernel.workflows()).toHaveLength(2);
  });

  it("that were abandoned are joined by nobody: the next one waits for itself", async () => {
    const { t, as, free } = await openFull();
    await using _t = t;
    const gone = new AbortController();
    const left = refusalOf(t.kernel.submit(as("ann", keyed), { signal: gone.signal }));
    await t.clock.settle();
    gone.abort();
    const again = t.kernel.submit(as("ann", keyed));
    expect((await left).code).toBe(abandoned);
    await free();
    expect((await again).status).toBe("accepted");
    await free();
  });

  it("and say something else, or come from another principal, are not one", async () => {
    const { t, as, free } = await openFull();
    await using _t = t;
    const other = { ...keyed, intent_hint: { intent_type: "T.Job", inputs: { n: 2 } } };
    const first = t.kernel.submit(as("ann", keyed));
    await t.clock.settle();
    const mismatch = refusalOf(t.kernel.submit(as("ann", other)));
    const bob = t.kernel.submit(as("bob", keyed));
    await t.clock.settle();
    expect(t.kernel.vitals().submits).toBe(3);
    await free();
    await free();
    await free();
    expect((await mismatch).code).toBe("T4_IDEMPOTENCY_PAYLOAD_MISMATCH");
    expect((await first).workflow_id).not.toBe((await bob).workflow_id);
  });

  it("are all answered when the kernel stops", async () => {
    const { t, as } = await openFull();
    const gone = new AbortController();
    const asked = [t.kernel.submit(as("ann", keyed)), t.kernel.submit(as("ann", keyed), { signal: gone.signal })];
    asked.push(
      t.kernel.submit(as("bob")),
      t.kernel.of(t.kernel.getCapability("T.Job")).submit({ ...testCaller, inputs: {} }),
    );
    const answers = Promise.all(asked.map(refusalOf));
    await t.clock.settle();
    expect(t.kernel.vitals().submits).toBe(3);
    await t.kernel.stop({ drainMs: 0 });
    expect((await answers).map(({ code }) => code)).toEqual(Array(4).fill("T0_KERNEL_STOPPED"));
    expect(t.clock.pending()).toBe(0);
    expect(t.kernel.vitals()).toMatchObject({ places: 0, submits: 0 });
  });
});
