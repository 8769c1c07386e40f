/**
 * The five standard COMMANDs: who sends them, and what a tier or a workflow does about them (seed 000,
 * create_command_signal).
 */
import { describe, expect, it } from "vitest";
import type { AnyActorRef } from "xstate";
import type { PlanQuestion } from "../../src/contract/capability.ts";
import type { OperatorCall } from "../../src/contract/operator.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { allTiers, askData, errand, gated, intentType, isDelivery, oneStep, operator, step } from "./fixture.ts";
import { command, toWorkflow } from "./tier-signals.ts";

const lifecycleOf = (t: TestKernel, tier: number): unknown =>
  (t.kernel.system.get(`t${tier}.lifecycle`) as AnyActorRef).getSnapshot().value;

describe("activate and sleep", () => {
  it.each(allTiers)("[SIG-20] toggle T%i: asleep it answers SKIP to all but activate", async (tier) => {
    await using t = await createTestKernel({ capabilities: [oneStep()] });
    expect((await t.kernel.ask(tier, command("sleep", tier))).status).toBe("ok");
    expect(lifecycleOf(t, tier)).toBe("dormant");
    const skipped = await askData(t, tier, "Anything", {});
    expect(skipped).toMatchObject({ status: "skip", signals: [], error: null, reason: `tier ${tier} is dormant` });
    expect((await t.kernel.ask(tier, command("activate", tier))).status).toBe("ok");
    expect(lifecycleOf(t, tier)).toBe("active");
    expect((await t.run(intentType)).state).toBe("completed");
  });

  it("[SIG-20] suspend one workflow's scheduling and lift it again, and touch no other", async () => {
    const calls: string[] = [];
    const first = operator("Test.First", () => `call ${calls.push("s1")}`);
    const second = operator("Test.Second", () => `call ${calls.push("s2")}`);
    const plan = [step("s1", "Test.First"), step("s2", "Test.Second", { depends_on: ["s1"] })];
    await using t = await createTestKernel({ capabilities: [errand(plan, [first, second])] });
    const id = await t.submit(intentType);
    await t.kernel.ask(4, toWorkflow("sleep", id));
    await t.clock.settle();
    const asleep = calls.length;
    expect(asleep).toBeLessThan(2);
    expect((await t.run(intentType)).state).toBe("completed");
    expect(calls.length).toBe(asleep + 2);
    await t.kernel.ask(4, toWorkflow("activate", id));
    expect((await t.rest(id)).state).toBe("completed");
    expect(calls.length).toBe(4);
  });
});

describe("abort", () => {
  it("[SIG-20] ends the running cycle: its operator is told, the next step never runs", async () => {
    const calls: string[] = [];
    let aborted = false;
    const first = operator("Test.First", ({ signal }) => {
      calls.push("s1");
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      return new Promise<string>(() => undefined);
    });
    const second = operator("Test.Second", () => `call ${calls.push("s2")}`);
    const plan = [step("s1", "Test.First"), step("s2", "Test.Second", { depends_on: ["s1"] })];
    await using t = await createTestKernel({ capabilities: [errand(plan, [first, second])] });
    const id = await t.submit(intentType);
    await t.clock.settle();
    const result = await t.kernel.ask(7, toWorkflow("abort", id, { reason: "enough" }));
    expect(result.signals[0]?.body["data"]).toMatchObject({ workflow_id: id, status: "cancelled" });
    expect((await t.rest(id)).state).toBe("cancelled");
    expect([aborted, calls]).toEqual([true, ["s1"]]);
  });
});

describe("pivot", () => {
  it("[SIG-20] replaces the objective that the next plan follows", async () => {
    const objectives: (string | null)[] = [];
    let fail = (): void => undefined;
    const failing = operator("Test.Fails", () => new Promise((_, reject) => (fail = () => reject(new Error("no")))), {
      retry: "NONE",
    });
    const plan = ({ situation }: PlanQuestion) => {
      objectives.push(situation.objective);
      const [name, id] = situation.round === 0 ? ["Test.Fails", "s1"] : ["Test.Fine", "s2"];
      return { reasoning: `round ${situation.round}`, steps: [step(id as string, name as string)] };
    };
    await using t = await createTestKernel({ capabilities: [errand([], [failing, operator("Test.Fine")], { plan })] });
    const id = await t.submit(intentType);
    await t.clock.settle();
    await t.kernel.ask(4, toWorkflow("pivot", id, { objective: "something else" }));
    fail();
    expect((await t.rest(id)).state).toBe("completed");
    expect(objectives).toEqual([null, "something else"]);
    const requests = t.items.filter(isDelivery).filter(({ signal }) => signal.body["schema"] === "PlanRequest");
    const asked = requests.map(({ signal }) => (signal.body["data"] as { readonly objective: string }).objective);
    expect(asked).toEqual([intentType, "something else"]);
  });
});

describe("retry", () => {
  const onceBroken = (calls: OperatorCall[]) =>
    oneStep(
      (call) => {
        calls.push(call as OperatorCall);
        if (calls.length === 1) throw new Error("not this way");
        return "done";
      },
      { retry: "NONE" },
    );

  it("[SIG-20] runs the failed step again", async () => {
    const calls: OperatorCall[] = [];
    await using t = await createTestKernel({ capabilities: [onceBroken(calls)], limits: { maxReplans: 0 } });
    const { workflow_id, state } = await t.run(intentType);
    expect(state).toBe("failed");
    await t.kernel.ask(7, toWorkflow("retry", workflow_id));
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(calls).toHaveLength(2);
    const events = await Array.fromAsync(t.kernel.events(workflow_id, { live: false }));
    const restarted = events.find(({ event_type }) => event_type === "WORKFLOW_RESTARTED");
    expect(restarted?.payload).toMatchObject({ mode: "resume_failed_steps" });
  });

  it("[SIG-20] the feedback that a retry carries is there for the work that is done again", async () => {
    const calls: OperatorCall[] = [];
    await using t = await createTestKernel({ capabilities: [onceBroken(calls)], limits: { maxReplans: 0 } });
    const { workflow_id } = await t.run(intentType);
    await t.kernel.ask(7, toWorkflow("retry", workflow_id, { feedback: "use the other door" }));
    await t.rest(workflow_id);
    expect(JSON.stringify([calls[1]?.input, calls[1]?.context])).toContain("use the other door");
  });
});

describe("who sends them", () => {
  it("[SIG-20] T6's router activates; T5's lifecycle activates, retries and aborts for a caller", async () => {
    await using t = await createTestKernel({ capabilities: [gated()], limits: { maxReplans: 0 } });
    const { workflow_id } = await t.run(intentType);
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    const other = await t.run(intentType);
    await t.kernel.cancel(other.workflow_id, testCaller);
    const retried = { ...testCaller, mode: "resume_failed_steps" } as const;
    await t.kernel.retry(other.workflow_id, retried).catch(() => undefined);
    const commands = t.items.filter(isDelivery).filter(({ signal }) => signal.kind === "command");
    const sent = commands.map(({ signal: { origin, body } }) => `T${origin.tier} ${origin.module} ${body["action"]}`);
    expect(new Set(sent)).toEqual(
      new Set(["T6 activation_router activate", "T5 lifecycle activate", "T5 lifecycle abort", "T5 lifecycle retry"]),
    );
    for (const { signal } of commands) expect(signal.body["target"]).toMatchObject({ tier: 4, module: "ooda_loop" });
  });
});
