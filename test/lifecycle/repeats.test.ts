/** Steps that make a call again and again until a condition holds. */
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type AnyStepDraft, defineCapability, defineOperator, operatorError, ref, when } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";

const hour = 3_600_000;
const caller = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } } as const;
const pages: number[] = [];
const keys = new Set<string>();
let brokenAt = 0;
beforeEach(() => {
  pages.length = 0;
  keys.clear();
  brokenAt = 0;
});

const look = defineOperator({
  name: "Job.Look",
  input: z.object({ page: z.number() }),
  output: z.object({ page: z.number(), done: z.boolean() }),
  effect: "write_draft",
  run: ({ input, idempotencyKey }) => {
    pages.push(input.page);
    keys.add(idempotencyKey);
    if (pages.length === brokenAt) throw operatorError({ code: "DOWN", message: "down", retryable: false });
    return { page: input.page + 1, done: input.page >= 3 };
  },
});

const polling = (more: object = {}): AnyStepDraft => ({
  kind: "repeat",
  step_id: "poll",
  name: "Poll",
  do: { operator: "Job.Look", params: { page: "{{poll.output.page ?? 1}}" } },
  until: { value: "{{poll.output.done}}", equals: true },
  max: 5,
  ...more,
});

const open = (step: AnyStepDraft) =>
  createTestKernel({
    capabilities: [
      defineCapability({
        intentType: "Job.Wait",
        version: "1.0",
        input: z.looseObject({}),
        operators: [look],
        plan: () => ({ reasoning: "until it is done", steps: [step] }),
      }),
    ],
    limits: { maxReplans: 0 },
  });

const pollOf = async (t: TestKernel, id: string) => (await t.kernel.workflow(id)).steps[0];
const retry = (t: TestKernel, id: string) => t.kernel.retry(id, { ...caller, mode: "resume_failed_steps" });
const sound = async (t: TestKernel, id: string) => {
  expect((await t.kernel.replay(id)).identical).toBe(true);
  expect((await t.kernel.verify()).ok).toBe(true);
};

describe("a step that repeats", () => {
  it("makes rounds, each with its own key, until its condition holds, and gives the output of the last", async () => {
    await using t = await open(polling());
    const id = await t.submit("Job.Wait");
    expect((await t.rest(id)).state).toBe("completed");
    expect(pages).toEqual([1, 2, 3]);
    expect(keys.size).toBe(3);
    expect((await pollOf(t, id))?.output_text).toBe('{"page":4,"done":true}');
    await sound(t, id);
  });

  it("sleeps between two rounds, parked with its due time", async () => {
    await using t = await open(polling({ every_ms: hour }));
    const id = await t.submit("Job.Wait");
    await t.clock.settle();
    const due_at = new Date(t.clock.now() + hour).toISOString();
    expect(await pollOf(t, id)).toMatchObject({ phase: "parked", waits_for: { source: "time", due_at } });
    expect((await t.kernel.workflow(id)).state).toBe("waiting");
    await t.clock.advance(hour - 1);
    expect(pages).toEqual([1]);
    await t.clock.advance(1);
    expect(pages).toEqual([1, 2]);
    await t.clock.advance(hour);
    expect((await t.rest(id)).state).toBe("completed");
    await sound(t, id);
  });

  it("fails after the last round that it may make, and a retry makes as many again", async () => {
    await using t = await open(polling({ max: 2 }));
    const id = await t.submit("Job.Wait");
    expect((await t.rest(id)).error).toMatchObject({ code: "T4_REPEAT_EXHAUSTED", detail: { max: 2 } });
    expect(pages).toEqual([1, 2]);
    await retry(t, id);
    expect((await t.rest(id)).state).toBe("completed");
    expect(pages).toEqual([1, 2, 3]);
    await sound(t, id);
  });

  it("fails with a round that fails, and a retry repeats that round", async () => {
    brokenAt = 2;
    await using t = await open(polling());
    const id = await t.submit("Job.Wait");
    expect(await t.rest(id)).toMatchObject({ state: "failed", error: { message: "down" } });
    await retry(t, id);
    expect((await t.rest(id)).state).toBe("completed");
    expect(pages).toEqual([1, 2, 2, 3]);
    await sound(t, id);
  });

  it("ends with its workflow where that is cancelled between two rounds", async () => {
    await using t = await open(polling({ every_ms: hour }));
    const id = await t.submit("Job.Wait");
    await t.clock.settle();
    await t.kernel.cancel(id, { ...caller, reason: "enough" });
    await t.clock.advance(2 * hour);
    expect((await t.rest(id)).state).toBe("cancelled");
    expect(pages).toEqual([1]);
    await sound(t, id);
  });
});

describe("a plan that repeats", () => {
  const refusals: readonly [string, AnyStepDraft, RegExp][] = [
    [
      "its own output without a default in what it does",
      polling({ do: { operator: "Job.Look", params: { page: "{{poll.output.page}}" } } }),
      /gives nothing in the first round; give it a default/,
    ],
    [
      "a step that there is not",
      polling({ until: { value: "{{none.output}}", exists: true } }),
      /a step which there is not/,
    ],
    ["no round at all", polling({ max: 0 }), /max/],
  ];
  it.each(refusals)("is refused where it is about %s", async (_what, step, words) => {
    await using t = await open(step);
    expect((await t.run("Job.Wait")).error?.message).toMatch(words);
    expect(pages).toEqual([]);
  });

  it("is built with types: the round is what the call gives, its own id refers to the round before", async () => {
    const typed = defineCapability({
      intentType: "Job.Wait",
      version: "1.0",
      input: z.looseObject({}),
      operators: [look],
      plan: ({ repeat, call }) => {
        const poll = repeat({
          step_id: "poll",
          name: "Poll",
          do: () => call({ operator: "Job.Look", params: { page: ref("poll.output.page", { or: 2 }) } }),
          until: (round) => when(round.done).equals(true),
          max: 3,
        });
        return { reasoning: "typed", steps: [poll] };
      },
    });
    await using t = await createTestKernel({ capabilities: [typed] });
    expect((await t.run("Job.Wait")).state).toBe("completed");
    expect(pages).toEqual([2, 3]);
  });
});
