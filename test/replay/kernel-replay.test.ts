/** What a kernel's replay says, of its own workflows and of those that other rules would have taken elsewhere. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Turn, TurnEvent } from "../../src/contract/turn.ts";
import { defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator, operatorError } from "../../src/define/define-operator.ts";
import { type KernelOptions, type ReplayDifference, replayRows, type TurnRow } from "../../src/index.ts";
import type { Middleware } from "../../src/ports/middleware.ts";
import { replayTurns } from "../../src/replay/replay.ts";
import {
  createTestKernel,
  createVirtualClock,
  memoryLedger,
  type TestKernel,
  testCaller,
} from "../../src/testing/index.ts";
import { anyObject, counted, intent, publishing, step, story } from "../gates/story.ts";
import { anyStory, playStory } from "../invariants/stories.ts";
import { reseal } from "../ledgers/reseal.ts";
import { runs } from "../properties/property-runs.ts";
import { replayAll } from "./replay-all.ts";

async function rowsOf({ kernel }: TestKernel, id: string): Promise<readonly TurnRow[]> {
  const rows: TurnRow[] = [];
  for await (const row of kernel.export(id)) rows.push(row);
  return rows;
}

describe("a replay", () => {
  it("runs no operator, writes nothing, and comes to the ledger's own chain head", async () => {
    const { capability, draft, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    const before = await rowsOf(t, workflow_id);
    const replay = await t.kernel.replay(workflow_id);
    expect(replay).toMatchObject({ workflow_id, identical: true, difference: null, head: before.at(-1)?.hash });
    expect([draft.calls.length, publish.calls.length]).toEqual([1, 1]);
    expect(await rowsOf(t, workflow_id)).toEqual(before);
  });

  it("of a workflow that another kernel goes on with stands for what the ledger holds of it", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const rows = await rowsOf(t, workflow_id);
    for (let n = 1; n <= rows.length; n += 1) {
      const replay = await replayRows(rows.slice(0, n), { capabilities: [capability] });
      expect(replay).toMatchObject({ identical: true, head: rows[n - 1]?.hash });
    }
  });

  it("asks no policy, no package and no option: what deciding read of its host stands in the rows", async () => {
    const flaky = counted("Note.Flaky", { retry: "PATIENT", effect: "final_write" }, () => {
      throw operatorError({ code: "FLAKY", message: "not now", category: "transient" });
    });
    let asked = 0;
    const evaluate = (): null => {
      asked += 1;
      return null;
    };
    const rules: KernelOptions = {
      ...{ capabilities: [story([flaky], [step("s", flaky)])], retryPolicies: { PATIENT: 2 } },
      ...{
        policies: [{ name: "counts", stages: ["plan", "action"], evaluate }],
        policyVersion: "of the test",
        limits: { maxReplans: 0 },
      },
      middleware: [{ name: "Calm", before: () => undefined }],
    };
    await using t = await createTestKernel(rules);
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("failed");
    const [rows, before] = [await rowsOf(t, workflow_id), asked];
    expect(before).toBeGreaterThan(0);
    expect(await replayRows(rows, {})).toMatchObject({ identical: true, head: rows.at(-1)?.hash });
    expect([asked, flaky.calls.length]).toEqual([before, 2]);
  });

  it("is synchronous inside: it is made in one turn of the event loop", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const rows = await rowsOf(t, workflow_id);
    expect(replayTurns(rows)).toMatchObject({ identical: true });
  });

  it("of any story with gates, edits, late calls, replans and restarts is identical, with any hooks", async () => {
    const hooks = fc.constantFrom<readonly Middleware[]>([], [{ name: "Calm", before: () => undefined }], [moody]);
    await fc.assert(
      fc.asyncProperty(anyStory(), hooks, async (told, middleware) => {
        await using play = await playStory(told, { middleware });
        expect(await replayAll(play.t.kernel)).toEqual([]);
      }),
      { numRuns: runs(60) },
    );
  });
});

/** Says no to every third attempt. */
const moody: Middleware = {
  name: "Moody",
  before({ step_id, attempt }) {
    if ((step_id.charCodeAt(1) + attempt) % 3 === 0) throw new Error("not in the mood");
  },
};

interface Timed {
  readonly steps: readonly { readonly delay: number; readonly fails: number; readonly depends_on: readonly string[] }[];
  readonly cancelAt: number | null;
  readonly maxCost: number | null;
  readonly concurrent: number;
}

const timed: fc.Arbitrary<Timed> = fc.integer({ min: 2, max: 7 }).chain((n) =>
  fc.record({
    steps: fc.tuple(
      ...Array.from({ length: n }, (_, i) =>
        fc.record({
          delay: fc.integer({ min: 0, max: 3000 }),
          fails: fc.integer({ min: 0, max: 2 }),
          depends_on: fc.subarray(
            Array.from({ length: i }, (_s, j) => `s${j}`),
            { maxLength: Math.min(2, i) },
          ),
        }),
      ),
    ),
    cancelAt: fc.option(fc.integer({ min: 0, max: 9000 })),
    maxCost: fc.option(fc.integer({ min: 1, max: 6 })),
    concurrent: fc.integer({ min: 1, max: 4 }),
  }),
);

function timedOptions({
  steps,
  maxCost,
  concurrent,
}: Timed): KernelOptions & { readonly clock: ReturnType<typeof createVirtualClock> } {
  const clock = createVirtualClock();
  const operators = steps.map(({ delay, fails }, i) =>
    defineOperator({
      name: `Timed.S${i}`,
      input: anyObject,
      estimatedCost: 1,
      async run({ attempt, stream, input }) {
        stream(`part ${attempt}`);
        await new Promise<void>((resolve) => clock.setTimer(clock.now() + delay, resolve));
        stream("end");
        if (attempt <= fails) throw operatorError({ code: "FLAKY", message: "not now", category: "transient" });
        return { ...input };
      },
    }),
  );
  const plan = steps.map(({ depends_on }, i) => ({
    ...{ step_id: `s${i}`, name: `s${i}`, operator: `Timed.S${i}`, depends_on: [...depends_on] },
    params: { i },
  }));
  const capability = defineCapability({
    ...{ intentType: intent, version: "1.0", input: anyObject, operators },
    plan: { reasoning: "timed", steps: plan },
  });
  return { clock, capabilities: [capability], budgets: { maxCost }, limits: { maxConcurrentSteps: concurrent } };
}

describe("steps side by side", () => {
  it("whatever they take, whenever they are cancelled and whatever the budget, replay alike", async () => {
    await fc.assert(
      fc.asyncProperty(timed, async (told) => {
        await using t = await createTestKernel(timedOptions(told));
        const id = await t.submit(intent);
        if (told.cancelAt !== null) {
          await t.clock.advance(told.cancelAt);
          await t.kernel.cancel(id, { ...testCaller, reason: "enough" }).catch(() => undefined);
        }
        await t.rest(id);
        expect(await replayAll(t.kernel)).toEqual([]);
      }),
      { numRuns: runs(30) },
    );
  });
});

describe("a replay names the first event that differs, and why", () => {
  const replayForged = async (event: (one: TurnEvent) => TurnEvent): Promise<ReplayDifference | null> => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    return (await replayRows(reseal(await rowsOf(t, workflow_id), { event }))).difference;
  };

  it("an attempt that was given another number", async () => {
    const forge = (event: TurnEvent): TurnEvent =>
      event.type === "ACTION_STARTED" ? { ...event, payload: { ...event.payload, attempt: 2 } } : event;
    const where = { event_type: "ACTION_STARTED", step_id: "draft", path: "payload.attempt" };
    const difference = await replayForged(forge);
    expect(difference).toMatchObject({ code: "EVENT_DIFFERS", ...where, expected: 2, actual: 1 });
    expect(difference?.reason).toContain("payload.attempt of ACTION_STARTED");
  });

  it("a question whose answer was taken out of the record", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const cause = ({ inputs = [] }: Turn) => ({
      inputs: inputs.map((one) => ({ ...one, answers: one.answers?.filter(({ key }) => key !== "plan") })),
    });
    const { difference } = await replayRows(reseal(await rowsOf(t, workflow_id), { cause }));
    expect(difference).toMatchObject({ code: "EVENT_MISSING", event_type: "POLICY_DECIDED", actual: "plan plan" });
  });
});

describe("a workflow that a process left in the middle of a call", () => {
  it.each([
    ["is called again under its key", true],
    ["asks a person", false],
  ])("%s, and replays", async (_what, idempotent) => {
    const ledger = memoryLedger();
    let hangs = true;
    const send = counted("Note.Send", { effect: "final_write", idempotent }, ({ input }) =>
      hangs ? new Promise(() => undefined) : input,
    );
    const rules = { capabilities: [story([send], [step("s", send)])], defaultPolicies: false, ledger };
    const first = await createTestKernel({ ...rules, owner: "one" });
    const id = await first.submit(intent);
    await first.clock.settle();
    await first.kernel.stop({ drainMs: 0 });
    hangs = false;
    await using second = await createTestKernel({
      ...rules,
      clock: createVirtualClock(Date.UTC(2026, 0, 2)),
      owner: "two",
      seed: 2,
    });
    await second.rest(id);
    if (!idempotent) await second.approve(id, undefined, { resolution: "done", result: { seen: true } });
    expect((await second.rest(id)).state).toBe("completed");
    expect(await replayAll(second.kernel)).toEqual([]);
  });
});
