/** What a kernel's replay says, of its own workflows and of those that other rules would have taken elsewhere. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PolicyRule } from "../../src/contract/policy.ts";
import { defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator, operatorError } from "../../src/define/define-operator.ts";
import { type KernelOptions, type ReplayDifference, replayRows, type TurnRow } from "../../src/index.ts";
import type { Middleware } from "../../src/ports/middleware.ts";
import {
  createTestKernel,
  createVirtualClock,
  memoryLedger,
  type TestKernel,
  testCaller,
} from "../../src/testing/index.ts";
import { anyObject, counted, intent, publishing, step, story } from "../gates/story.ts";
import { anyStory, playStory } from "../invariants/stories.ts";
import { runs } from "../properties/property-runs.ts";
import { replayAll } from "./replay-all.ts";

async function rowsOf({ kernel }: TestKernel, id: string): Promise<readonly TurnRow[]> {
  const rows: TurnRow[] = [];
  for await (const row of kernel.export(id)) rows.push(row);
  return rows;
}

async function differenceUnder(t: TestKernel, id: string, rules: KernelOptions): Promise<ReplayDifference> {
  const { identical, difference } = await replayRows(await rowsOf(t, id), rules);
  expect(identical).toBe(false);
  return difference as ReplayDifference;
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

  it("asks for what is not registered", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const rows = await rowsOf(t, workflow_id);
    await expect(replayRows(rows, {})).rejects.toThrow("T1_NORMALIZE_UNKNOWN_INTENT");
    const bare = { ...capability, operators: ["Note.Draft", "Note.Publish"] };
    await expect(replayRows(rows, { capabilities: [bare] })).rejects.toThrow("T4_OPERATOR_UNKNOWN");
  });

  it("of any story, with gates, edits, late calls, replans and restarts, is identical, whatever custom hooks do", async () => {
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

describe("a replay under other rules names the first event that differs, and why", () => {
  it("another policy: its decision", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const deny: PolicyRule = {
      ...{ name: "no drafts", stages: ["action"] },
      evaluate: ({ subject }) => (subject.name === "draft" ? { decision: "DENY", reason: "no" } : null),
    };
    const rules = { capabilities: [capability], policies: [deny], policyVersion: "default-1" };
    const difference = await differenceUnder(t, workflow_id, rules);
    const where = { event_type: "POLICY_DECIDED", step_id: "draft", path: "payload.decision" };
    expect(difference).toMatchObject({ code: "EVENT_DIFFERS", ...where });
    expect([difference.expected, difference.actual]).toEqual(["ALLOW", "DENY"]);
    expect(difference.reason).toContain("payload.decision of POLICY_DECIDED");
  });

  it("another template: the plan", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const other = publishing({ params: { text: "always the same", to: "board" } }).capability;
    const difference = await differenceUnder(t, workflow_id, { capabilities: [other] });
    expect(difference).toMatchObject({ event_type: "PLAN_CREATED", actual: "always the same" });
  });

  it("another limit of retries: the attempt that was not the last", async () => {
    const flaky = counted("Note.Flaky", { retry: "PATIENT" }, () => {
      throw operatorError({ code: "FLAKY", message: "not now", category: "transient" });
    });
    const rules = { capabilities: [story([flaky], [step("s", flaky)])], limits: { maxReplans: 0 } };
    await using t = await createTestKernel({ ...rules, retryPolicies: { PATIENT: 3 } });
    const { workflow_id } = await t.run(intent);
    const difference = await differenceUnder(t, workflow_id, { ...rules, retryPolicies: { PATIENT: 2 } });
    expect(difference).toMatchObject({
      event_type: "ACTION_FAILED",
      path: "payload.final",
      expected: false,
      actual: true,
    });
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
