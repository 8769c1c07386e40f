/** Steps that sleep, steps that end the workflow, and the limits of a package. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type AnyStepDraft, defineCapability, defineOperator, text } from "../../src/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger } from "../../src/testing/index.ts";

const day = 86_400_000;
const calls: string[] = [];
const take = defineOperator({
  name: "Shop.Take",
  input: z.looseObject({}),
  output: z.unknown(),
  run: ({ input, context }) => {
    calls.push(context.step_id);
    return input;
  },
});

const shop = (
  plan: Parameters<typeof defineCapability<z.ZodType, readonly [typeof take]>>[0]["plan"],
  more: object = {},
) =>
  defineCapability({
    intentType: "Shop.Order",
    version: "1.0",
    input: z.looseObject({}),
    operators: [take],
    plan,
    ...more,
  });

const sleeping = shop(({ step, sleep }) => {
  const first = step({ step_id: "first", name: "First", operator: "Shop.Take", params: {} });
  const rest = sleep({ step_id: "rest", name: "Rest", ms: 40 * day, depends_on: [first] });
  return {
    reasoning: "later",
    steps: [
      first,
      rest,
      step({ step_id: "then", name: "Then", operator: "Shop.Take", params: {}, depends_on: [rest] }),
    ],
  };
});

describe("a step that sleeps", () => {
  it("parks its workflow without a lease, and goes on at its time, also beyond 24.8 days", async () => {
    calls.length = 0;
    const ledger = memoryLedger();
    await using t = await createTestKernel({ capabilities: [sleeping], ledger });
    const id = await t.submit("Shop.Order");
    await t.clock.settle();
    const state = await t.kernel.workflow(id);
    const due_at = new Date(t.clock.now() + 40 * day).toISOString();
    expect(state).toMatchObject({ state: "waiting", gates: [] });
    expect(state.steps[1]).toMatchObject({
      kind: "sleep",
      operator: "Kernel.Sleep",
      phase: "parked",
      waits_for: { source: "time", due_at },
    });
    await t.clock.advance(40 * day - 1);
    expect((await t.kernel.workflow(id)).state).toBe("waiting");
    await t.clock.advance(1);
    expect((await t.rest(id)).state).toBe("completed");
    expect(calls).toEqual(["first", "then"]);
    expect((await t.kernel.replay(id)).identical).toBe(true);
  });

  it("wakes once in another process after its own has died, however late that is", async () => {
    calls.length = 0;
    const ledger = memoryLedger();
    const first = await createTestKernel({ capabilities: [sleeping], ledger, seed: 1 });
    const id = await first.submit("Shop.Order");
    await first.clock.settle();
    const later = createVirtualClock(first.clock.now() + 90 * day);
    await using t = await createTestKernel({ capabilities: [sleeping], ledger, clock: later, seed: 2 });
    await t.clock.settle();
    expect((await t.rest(id)).state).toBe("completed");
    expect(calls).toEqual(["first", "then"]);
    expect((await t.types(id)).filter((type) => type === "STEP_RESUMED")).toHaveLength(1);
    expect((await t.kernel.replay(id)).identical).toBe(true);
    await first[Symbol.asyncDispose]();
  });

  it("sleeps until an instant that an earlier step gave; one that is over is not waited for", async () => {
    const capability = shop(({ intent, step, sleep }) => {
      const first = step({
        step_id: "first",
        name: "First",
        operator: "Shop.Take",
        params: { at: intent.inputs["at"] as string },
      });
      const at = (first.output as unknown as { readonly at: never }).at;
      return { reasoning: "at", steps: [first, sleep({ step_id: "rest", name: "Rest", until: at })] };
    });
    await using t = await createTestKernel({ capabilities: [capability] });
    const soon = new Date(t.clock.now() + day).toISOString();
    const id = await t.submit("Shop.Order", { at: soon });
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).steps[1]).toMatchObject({ waits_for: { due_at: soon } });
    await t.clock.advance(day);
    expect((await t.rest(id)).state).toBe("completed");
    const before = new Date(t.clock.now() - day).toISOString();
    expect((await t.run("Shop.Order", { at: before })).state).toBe("completed");
  });

  it.each([["no instant"], ["2027-01-01"], [17]])("fails for %j, which is no instant", async (at) => {
    const capability = shop(() => ({
      reasoning: "at",
      steps: [
        { step_id: "first", name: "First", operator: "Shop.Take", params: { at } },
        {
          step_id: "rest",
          name: "Rest",
          kind: "sleep",
          params: { until: "{{first.output.at}}" },
          depends_on: ["first"],
        },
      ],
    }));
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const state = await t.run("Shop.Order");
    expect(state.error).toMatchObject({ code: "T4_PARAMS_INVALID" });
    expect(state.error?.message).toContain("Kernel.Sleep: until");
  });

  it("is skipped when its workflow is cancelled", async () => {
    await using t = await createTestKernel({ capabilities: [sleeping] });
    const id = await t.submit("Shop.Order");
    await t.clock.settle();
    await t.kernel.cancel(id, {
      tenant_id: 1,
      principal: { type: "user", id: 1, role: "admin" },
      reason: "enough",
    } as never);
    const state = await t.rest(id);
    expect([state.state, state.steps.map((one) => one.state)]).toEqual([
      "cancelled",
      ["succeeded", "skipped", "skipped"],
    ]);
    await t.clock.advance(60 * day);
    expect((await t.kernel.workflow(id)).sequence).toBe(state.sequence);
  });

  it("lets what runs beside it go on, and asks people meanwhile", async () => {
    const capability = shop(({ step, sleep }) => ({
      reasoning: "both",
      steps: [
        sleep({ step_id: "rest", name: "Rest", ms: day }),
        step({ step_id: "asked", name: "Asked", operator: "Shop.Take", params: {}, gate: { reason: "look" } }),
      ],
    }));
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await t.submit("Shop.Order");
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).state).toBe("waiting_for_user");
    await t.approve(id, "gate-asked");
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).state).toBe("waiting");
    await t.clock.advance(day);
    expect((await t.rest(id)).state).toBe("completed");
    const other = await t.submit("Shop.Order");
    await t.clock.advance(day);
    expect(await t.kernel.workflow(other)).toMatchObject({
      state: "waiting_for_user",
      steps: [{ state: "succeeded" }, {}],
    });
  });
});

describe("a step that fails by the plan's choice", () => {
  it("ends the workflow with its code and message; nothing more begins, and no other plan is made", async () => {
    calls.length = 0;
    const capability = shop(({ step, fail, sleep }) => {
      const first = step({ step_id: "first", name: "First", operator: "Shop.Take", params: { sum: 12 } });
      const sum = (first.output as unknown as { readonly sum: never }).sum;
      const refused = fail({
        step_id: "refused",
        name: "Refused",
        code: "ORDER_REFUSED",
        message: text`the sum is ${sum}`,
      });
      const nap = sleep({ step_id: "nap", name: "Nap", ms: day });
      const never = step({ step_id: "never", name: "Never", operator: "Shop.Take", params: {}, depends_on: [nap] });
      return { reasoning: "refuse", steps: [first, refused, nap, never] };
    });
    await using t = await createTestKernel({ capabilities: [capability] });
    const state = await t.run("Shop.Order");
    expect(state.error).toMatchObject({
      code: "T4_PLAN_FAILED",
      message: "the sum is 12",
      detail: { code: "ORDER_REFUSED" },
    });
    expect(state.steps.map((one) => one.skip_reason ?? one.state)).toEqual([
      "succeeded",
      "failed",
      "plan_failed",
      "plan_failed",
    ]);
    expect((await t.types(state.workflow_id)).filter((type) => type === "PLAN_CREATED")).toHaveLength(1);
    expect(calls).toEqual(["first"]);
    expect((await t.kernel.replay(state.workflow_id)).identical).toBe(true);
  });
});

describe("the limits of a package", () => {
  const many = (count: number): readonly AnyStepDraft[] =>
    Array.from({ length: count }, (_, i) => ({
      step_id: `s${i}`,
      name: `Step ${i}`,
      operator: "Shop.Take",
      params: {},
    }));

  it("let its plans have more steps, or fewer, than the kernel's limit", async () => {
    const plan = ({ intent }: { readonly intent: { readonly inputs: object } }) => ({
      reasoning: "many",
      steps: [...many((intent.inputs as { readonly count: number }).count)],
    });
    await using t = await createTestKernel({ capabilities: [shop(plan, { limits: { maxSteps: 30 } })] });
    expect((await t.run("Shop.Order", { count: 30 })).steps.map(({ state }) => state)).toEqual(
      Array(30).fill("succeeded"),
    );
    const { error } = await t.run("Shop.Order", { count: 31 });
    expect(error).toMatchObject({ code: "T3_PLAN_TOO_LONG", detail: { maxSteps: 30, steps: 31 } });
  });

  it("say how often a failed plan may be followed by another", async () => {
    const breaks = defineOperator({
      name: "Shop.Break",
      retry: "NONE",
      input: z.looseObject({}),
      run: () => Promise.reject(new Error("no")),
    });
    const package_ = (maxReplans: number) =>
      defineCapability({
        intentType: "Shop.Order",
        version: "1.0",
        input: z.looseObject({}),
        operators: [breaks],
        limits: { maxReplans },
        plan: { reasoning: "break", steps: [{ step_id: "s", name: "s", operator: "Shop.Break" }] },
      });
    for (const maxReplans of [0, 4]) {
      await using t = await createTestKernel({ capabilities: [package_(maxReplans)] });
      const state = await t.run("Shop.Order");
      expect((await t.types(state.workflow_id)).filter((type) => type === "PLAN_CREATED")).toHaveLength(maxReplans + 1);
      expect((await t.kernel.replay(state.workflow_id)).identical).toBe(true);
    }
  });
});
