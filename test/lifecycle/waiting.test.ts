/** Steps that wait for an event from outside: events before and after the wait, duplicates, forms and ends. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, defineOperator } from "../../src/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger, type TestKernel } from "../../src/testing/index.ts";

const day = 86_400_000;
const as = { tenant_id: 1, principal: { type: "service", id: "signer", role: "user" } } as const;
const signed = { ...as, name: "contract.signed", key: "c-1" } as const;
const ada = { by: "ada" };

const taken: unknown[] = [];
const take = defineOperator({
  name: "Deal.Take",
  input: z.looseObject({}),
  output: z.unknown(),
  run: ({ input }) => {
    taken.push(input);
    return input;
  },
});

type Plan = Parameters<typeof defineCapability<z.ZodType, readonly [typeof take]>>[0]["plan"];
const deal = (plan: Plan) => {
  taken.length = 0;
  return defineCapability({
    intentType: "Deal.Close",
    version: "1.0",
    input: z.looseObject({}),
    operators: [take],
    plan,
  });
};

/** Waits for the signature of a contract, then hands the signer's name on. */
const closing = (within?: { readonly days: number }) =>
  deal(({ step, wait }) => {
    const sign = wait({
      step_id: "sign",
      name: "Contract signed",
      event: "contract.signed",
      key: "c-1",
      schema: z.object({ by: z.string() }),
      ...(within !== undefined && { within }),
    });
    const then = step({ step_id: "then", name: "Then", operator: "Deal.Take", params: { by: sign.output.by } });
    return { reasoning: "sign", steps: [sign, then] };
  });

async function begin(t: TestKernel): Promise<string> {
  const id = await t.submit("Deal.Close");
  await t.clock.settle();
  return id;
}

const replays = async (t: TestKernel, id: string): Promise<boolean> => (await t.kernel.replay(id)).identical;
const count = async (t: TestKernel, id: string, type: string): Promise<number> =>
  (await t.types(id)).filter((one) => one === type).length;

describe("a step that waits for an event", () => {
  it("parks its workflow until the event arrives, and gives its payload", async () => {
    await using t = await createTestKernel({ capabilities: [closing()] });
    const id = await begin(t);
    const state = await t.kernel.workflow(id);
    expect(state).toMatchObject({ state: "waiting", gates: [] });
    expect(state.steps[0]).toMatchObject({
      kind: "wait",
      operator: "Kernel.Wait",
      phase: "parked",
      waits_for: { source: "event", name: "contract.signed", key: "c-1", due_at: null },
    });
    expect(await t.kernel.emit({ ...signed, payload: ada, event_id: "e-1" })).toEqual({
      event_id: "e-1",
      status: "resumed",
      resumed: [{ workflow_id: id, step_id: "sign" }],
      started: [],
      kept_until: null,
      duplicate: false,
    });
    expect((await t.rest(id)).state).toBe("completed");
    expect(taken).toEqual([ada]);
    expect(await replays(t, id)).toBe(true);
  });

  it("finds an event that came before it", async () => {
    await using t = await createTestKernel({ capabilities: [closing()] });
    const kept_until = new Date(t.clock.now() + 7 * day).toISOString();
    expect(await t.kernel.emit({ ...signed, payload: ada })).toMatchObject({ status: "kept", resumed: [], kept_until });
    const id = await begin(t);
    expect((await t.rest(id)).state).toBe("completed");
    expect(taken).toEqual([ada]);
    expect(await count(t, id, "WORKFLOW_WAITING")).toBe(0);
    expect(await replays(t, id)).toBe(true);
  });

  it("does not find an event that has expired, or one of another name, key or tenant", async () => {
    await using t = await createTestKernel({ capabilities: [closing()] });
    await t.kernel.emit({ ...signed, payload: ada });
    await t.clock.advance(7 * day);
    await t.kernel.emit({ ...signed, payload: ada, name: "contract.sent" });
    await t.kernel.emit({ ...signed, payload: ada, key: "c-2" });
    await t.kernel.emit({ ...signed, payload: ada, tenant_id: 2 });
    await begin(t);
    expect(taken).toEqual([]);
  });

  it("ignores a second event with the same id, answers it as the first, and refuses another content", async () => {
    await using t = await createTestKernel({ capabilities: [closing()] });
    const id = await begin(t);
    const event = { ...signed, payload: ada, event_id: "e-1" };
    const first = await t.kernel.emit(event);
    await t.clock.settle();
    expect(await t.kernel.emit(event)).toEqual({ ...first, duplicate: true });
    await expect(t.kernel.emit({ ...event, payload: { by: "bo" } })).rejects.toMatchObject({
      error: { code: "T4_EVENT_ID_REUSED" },
    });
    const again = await begin(t);
    expect((await t.kernel.workflow(again)).state).toBe("waiting");
    expect((await t.rest(id)).state).toBe("completed");
  });

  it("takes an event alone: one event ends one wait, the longest; a broadcast event ends all", async () => {
    await using t = await createTestKernel({ capabilities: [closing()] });
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      ids.push(await begin(t));
      await t.clock.advance(1);
    }
    const one = await t.kernel.emit({ ...signed, payload: ada });
    expect(one.resumed.map(({ workflow_id }) => workflow_id)).toEqual(ids.slice(0, 1));
    const all = await t.kernel.emit({ ...signed, payload: { by: "bo" }, broadcast: true });
    expect(all.resumed.map(({ workflow_id }) => workflow_id)).toEqual(ids.slice(1));
    await t.clock.settle();
    expect(taken).toEqual([ada, { by: "bo" }, { by: "bo" }]);
    for (const id of ids) expect(await replays(t, id)).toBe(true);
  });

  it("gives an event that came before to one of two that look for it at the same moment", async () => {
    await using t = await createTestKernel({ capabilities: [closing()] });
    await t.kernel.emit({ ...signed, payload: ada });
    const ids = await Promise.all([t.submit("Deal.Close"), t.submit("Deal.Close")]);
    await t.clock.settle();
    const states = await Promise.all(ids.map(async (id) => (await t.kernel.workflow(id)).state));
    expect(states.toSorted()).toEqual(["completed", "waiting"]);
    await t.kernel.emit({ ...signed, payload: { by: "bo" } });
    for (const id of ids) {
      expect((await t.rest(id)).state).toBe("completed");
      expect(await replays(t, id)).toBe(true);
    }
  });

  it("refuses a payload of another form to its sender, and goes on waiting", async () => {
    await using t = await createTestKernel({ capabilities: [closing()] });
    const id = await begin(t);
    await expect(t.kernel.emit({ ...signed, payload: { by: 17 } })).rejects.toMatchObject({
      error: { code: "T4_EVENT_INVALID" },
    });
    expect((await t.kernel.workflow(id)).state).toBe("waiting");
    await t.kernel.emit({ ...signed, payload: ada });
    expect((await t.rest(id)).state).toBe("completed");
  });

  it("passes over an event that came earlier in another form, and says so once", async () => {
    await using t = await createTestKernel({ capabilities: [closing()] });
    await t.kernel.emit({ ...signed, payload: "none", event_id: "e-1" });
    const id = await begin(t);
    expect(await count(t, id, "EVENT_PASSED_OVER")).toBe(1);
    await t.kernel.emit({ ...signed, payload: ada });
    expect((await t.rest(id)).state).toBe("completed");
    expect(await count(t, id, "EVENT_PASSED_OVER")).toBe(1);
    expect(await replays(t, id)).toBe(true);
  });

  it("waits on in another process after its own has died, and is found there", async () => {
    const ledger = memoryLedger();
    const capability = closing();
    const first = await createTestKernel({ capabilities: [capability], ledger, seed: 1 });
    const id = await begin(first);
    const clock = createVirtualClock(first.clock.now() + day);
    await using t = await createTestKernel({ capabilities: [capability], ledger, clock, seed: 2 });
    await t.clock.settle();
    expect(await t.kernel.emit({ ...signed, payload: ada })).toMatchObject({ status: "resumed" });
    expect((await t.rest(id)).state).toBe("completed");
    expect(taken).toEqual([ada]);
    expect(await replays(t, id)).toBe(true);
    await first[Symbol.asyncDispose]();
  });
});

describe("the end of a wait", () => {
  it("fails the step by default, and a retry waits anew", async () => {
    await using t = await createTestKernel({ capabilities: [closing({ days: 3 })] });
    const id = await begin(t);
    const due_at = new Date(t.clock.now() + 3 * day).toISOString();
    expect((await t.kernel.workflow(id)).steps[0]).toMatchObject({ waits_for: { due_at } });
    await t.clock.advance(3 * day);
    const failed = await t.rest(id);
    expect(failed).toMatchObject({ state: "failed", error: { code: "T4_WAIT_EXPIRED" } });
    await t.kernel.retry(id, { ...as, mode: "resume_failed_steps" });
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).state).toBe("waiting");
    await t.kernel.emit({ ...signed, payload: ada });
    expect((await t.rest(id)).state).toBe("completed");
    expect(await replays(t, id)).toBe(true);
  });

  it("leaves the step out, or gives a value, where the plan says so", async () => {
    const capability = deal(({ step, wait }) => {
      const common = { event: "contract.signed", key: "c-1", within: { hours: 1 } } as const;
      const skipped = wait({ ...common, step_id: "skipped", name: "Skipped", otherwise: "skip" });
      const given = wait({ ...common, step_id: "given", name: "Given", otherwise: { value: "nobody" } });
      const params = { by: given.output };
      const then = step({ step_id: "then", name: "Then", operator: "Deal.Take", params, depends_on: [skipped] });
      return { reasoning: "later", steps: [skipped, given, then] };
    });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await begin(t);
    await t.clock.advance(3_600_000);
    const state = await t.rest(id);
    expect(state).toMatchObject({ state: "completed" });
    expect(state.steps[0]).toMatchObject({ state: "skipped", skip_reason: "expired" });
    expect(taken).toEqual([{ by: "nobody" }]);
    expect(await replays(t, id)).toBe(true);
  });

  it("gives one event to one of two waits of a workflow", async () => {
    const capability = deal(({ wait }) => ({
      reasoning: "two",
      steps: ["one", "two"].map((step_id) =>
        wait({ step_id, name: step_id, event: "contract.signed", key: "c-1", within: { days: 1 }, otherwise: "skip" }),
      ),
    }));
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await begin(t);
    const { resumed } = await t.kernel.emit({ ...signed, payload: ada });
    expect(resumed).toEqual([{ workflow_id: id, step_id: "one" }]);
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).state).toBe("waiting");
    await t.clock.advance(day);
    expect((await t.rest(id)).state).toBe("completed");
  });

  it("forgets the waits of a workflow that is cancelled: its event is kept for another", async () => {
    await using t = await createTestKernel({ capabilities: [closing()] });
    const id = await begin(t);
    await t.kernel.cancel(id, { ...as });
    await t.clock.settle();
    expect(await t.kernel.emit({ ...signed, payload: ada })).toMatchObject({ status: "kept" });
    expect(taken).toEqual([]);
  });
});

it("a paused workflow takes no event; one that came meanwhile is found when it is resumed", async () => {
  await using t = await createTestKernel({ capabilities: [closing()] });
  const id = await begin(t);
  await t.kernel.pause(id, { ...as });
  expect(await t.kernel.emit({ ...signed, payload: ada })).toMatchObject({ status: "kept" });
  await t.clock.settle();
  expect(await count(t, id, "STEP_RESUMED")).toBe(0);
  await t.kernel.resume(id, { ...as });
  expect((await t.rest(id)).state).toBe("completed");
  expect(await replays(t, id)).toBe(true);
});

describe("plans with waits", () => {
  it("are refused where a reference to a wait that may be left out has no default", async () => {
    const capability = deal(({ step, wait }) => {
      const sign = wait({ step_id: "sign", name: "S", event: "e", key: "k", within: { days: 1 }, otherwise: "skip" });
      const params = { by: sign.output as never };
      return { reasoning: "x", steps: [sign, step({ step_id: "then", name: "T", operator: "Deal.Take", params })] };
    });
    await using t = await createTestKernel({ capabilities: [capability] });
    expect(await t.run("Deal.Close")).toMatchObject({ state: "failed", error: { code: "T3_PLAN_INVALID" } });
  });

  it.each([
    ["no name", { event: "no name", key: "k" }],
    ["no key", { event: "e" }],
    ["no form", { event: "e", key: "k", schema: { type: "shape" } }],
    ["reminders of less than a second", { event: "e", key: "k", remind: { every_ms: 999, role: "sales" } }],
    ["reminders of nobody", { event: "e", key: "k", remind: { every_ms: 1_000 } }],
    ["no reminder at all", { event: "e", key: "k", remind: { every_ms: 1_000, role: "sales", at_most: 0 } }],
    ["a token that is no token", { event: "e", key: "k", token: "yes" }],
    ["an unknown end", { event: "e", key: "k", otherwise: "wait" }],
  ])("are refused with %s", async (_what, params) => {
    const capability = deal(() => ({
      reasoning: "x",
      steps: [{ step_id: "sign", name: "S", kind: "wait", params: params as never }],
    }));
    await using t = await createTestKernel({ capabilities: [capability] });
    expect(await t.run("Deal.Close")).toMatchObject({ state: "failed", error: { code: "T3_PLAN_INVALID" } });
  });
});

describe("a crash between the commit of an event and its delivery", () => {
  /** A tier whose workflows are told of no event while `isDeaf` says so. */
  const deaf =
    (isDeaf: () => boolean): NonNullable<Parameters<typeof createTestKernel>[0]>["patchTier"] =>
    (definition) => {
      const door = definition.doors["data:EventDelivery"];
      if (door === undefined) return definition;
      const handle: typeof door.handle = (signal, runtime) => {
        if (isDeaf()) throw new Error("the process died here");
        return door.handle(signal, runtime);
      };
      return { ...definition, doors: { ...definition.doors, "data:EventDelivery": { ...door, handle } } };
    };

  it("is made good by the next process when it starts", async () => {
    const ledger = memoryLedger();
    const capability = closing();
    const first = await createTestKernel({ capabilities: [capability], ledger, seed: 1, patchTier: deaf(() => true) });
    const id = await begin(first);
    expect(await first.kernel.emit({ ...signed, payload: ada })).toMatchObject({ status: "kept" });
    const clock = createVirtualClock(first.clock.now() + day);
    await using t = await createTestKernel({ capabilities: [capability], ledger, clock, seed: 2 });
    expect((await t.rest(id)).state).toBe("completed");
    expect(await replays(t, id)).toBe(true);
    await first[Symbol.asyncDispose]();
  });

  it("is made good at the next heartbeat by a process that goes on", async () => {
    let isDeaf = true;
    await using t = await createTestKernel({ capabilities: [closing()], patchTier: deaf(() => isDeaf) });
    const id = await begin(t);
    expect(await t.kernel.emit({ ...signed, payload: ada })).toMatchObject({ status: "kept" });
    isDeaf = false;
    await t.clock.advance(10_000);
    expect((await t.kernel.workflow(id)).state).toBe("completed");
    expect(await count(t, id, "STEP_RESUMED")).toBe(1);
  });
});

it("an explanation says what a step waits for, and which event ended its wait", async () => {
  await using t = await createTestKernel({ capabilities: [closing({ days: 3 })] });
  const id = await begin(t);
  await t.kernel.emit({ ...signed, payload: ada, event_id: "e-1" });
  await t.rest(id);
  const told = JSON.stringify(await t.kernel.explain(id));
  expect(told).toContain("waits for the event contract.signed of c-1 until");
  expect(told).toContain("the event e-1 arrived, and it went on");
});

describe("a form that a planner wrote", () => {
  it("is stopped where it takes too long to judge, and the event is refused as not judged", async () => {
    const slow = { type: "object", properties: { by: { type: "string", pattern: "^(a+)+$" } } };
    const step = {
      step_id: "sign",
      name: "Signed",
      kind: "wait",
      params: { event: "contract.signed", key: "c-1", schema: slow },
    };
    const wrote = deal(() => ({ reasoning: "as data", steps: [step as never] }));
    await using t = await createTestKernel({ capabilities: [wrote] });
    const id = await begin(t);
    const by = `${"a".repeat(60)}!`;
    await expect(t.kernel.emit({ ...signed, event_id: "e-1", payload: { by } })).rejects.toMatchObject({
      error: { code: "T4_EVENT_INVALID", detail: { problem: expect.stringContaining("within 250 ms") } },
    });
    await t.kernel.emit({ ...signed, event_id: "e-2", payload: { by: "aaa" } });
    expect((await t.rest(id)).state).toBe("completed");
  });
});
