/**
 * A place among the workflows in flight is freed by whoever does not run any more, and `stop` leaves nothing behind.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { roleAuthenticator } from "../../src/adapters/role-authenticator.ts";
import { defineCapability } from "../../src/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { counted, refusalOf } from "../fixtures.ts";

const never = (): Promise<never> => new Promise(() => undefined);

const jobOf = (operator: ReturnType<typeof counted>["operator"], intentType = "T.Job") =>
  defineCapability({
    intentType,
    version: "1.0",
    input: z.object({}),
    operators: [operator],
    plan: { reasoning: "as told", steps: [{ step_id: "s1", name: "work", operator: operator.metadata.name }] },
  });

const cancelled = { ...testCaller, reason: "enough" };

describe("a place in limits.maxInFlight", () => {
  it("is free once its workflow is cancelled, though its operator never ends", async () => {
    const stuck = counted("T.Stuck", { effect: "external_send", idempotent: true, timeoutSec: 3600 }, never);
    const limits = { maxInFlight: 1, maxWaitingSubmits: 0 };
    await using t = await createTestKernel({ capabilities: [jobOf(stuck.operator)], limits, defaultPolicies: false });
    const first = await t.submit("T.Job");
    await t.clock.settle();
    expect(stuck.calls).toHaveLength(1);
    expect((await refusalOf(t.submit("T.Job"))).code).toBe("T7_SPAWN_INSUFFICIENT_RESOURCES");
    await t.kernel.cancel(first, cancelled);
    await t.clock.settle();
    expect((await t.kernel.workflow(first)).state).toBe("cancelled");
    expect(t.kernel.vitals()).toMatchObject({ workflows: 0, actors: 0 });
    await t.submit("T.Job");
    await t.clock.settle();
    expect(stuck.calls).toHaveLength(2);
  });

  it("is free once a person has settled a call that never ends, and its workflow is cancelled", async () => {
    const stuck = counted("T.Stuck", { effect: "external_send", timeoutSec: 1, retry: "NONE" }, never);
    const limits = { maxInFlight: 1, maxWaitingSubmits: 0 };
    await using t = await createTestKernel({ capabilities: [jobOf(stuck.operator)], limits, defaultPolicies: false });
    const first = await t.submit("T.Job");
    await t.clock.advance(2_000);
    expect((await t.kernel.workflow(first)).state).toBe("waiting_for_user");
    await t.kernel.cancel(first, cancelled);
    await t.reject(first, "gate-s1_doubt1");
    await t.clock.settle();
    expect((await t.kernel.workflow(first)).state).toBe("cancelled");
    expect(t.kernel.vitals()).toMatchObject({ workflows: 0, actors: 0 });
    await t.submit("T.Job");
  });
});

describe("stop", () => {
  it.each([
    ["while a call never ends", never, {}],
    ["while a call that was given up goes on", never, { timeoutSec: 1 }],
    ["while a retry is waited for", () => Promise.reject(new Error("again")), { idempotent: true, retry: "STANDARD" }],
  ] as const)("%s leaves no timer, no actor and no workflow", async (_name, run, more) => {
    const work = counted("T.Work", { effect: "external_send", timeoutSec: 60, ...more }, run);
    const t = await createTestKernel({ capabilities: [jobOf(work.operator)], defaultPolicies: false });
    await t.submit("T.Job");
    await t.clock.advance(1_500);
    expect(work.calls).toHaveLength(1);
    await t.kernel.stop({ drainMs: 0 });
    expect(t.kernel.vitals()).toMatchObject({ workflows: 0, actors: 0, timers: 0, listeners: 0 });
    expect(t.clock.pending()).toBe(0);
  });

  it("keeps no process alive for a host's function that has not answered, and who waits for it is told", async () => {
    const work = counted("T.Work", {}, never);
    const slow = { name: "slow", before: never };
    const ofNine = { ...testCaller, principal: { ...testCaller.principal, id: 9 } };
    const t = await createTestKernel({
      capabilities: [jobOf(work.operator)],
      middleware: [slow],
      authenticator: {
        authorize: (asked) => (asked.principal.id === 9 ? never() : roleAuthenticator().authorize(asked)),
      },
    });
    await t.submit("T.Job");
    const asleep = refusalOf(t.kernel.submit({ ...ofNine, intent_hint: { intent_type: "T.Job", inputs: {} } }));
    await t.clock.settle();
    await t.kernel.stop({ drainMs: 0 });
    expect(await t.clock.advanceToNext()).toBe(false);
    expect((await asleep).code).toBe("T0_KERNEL_STOPPED");
  });
});
