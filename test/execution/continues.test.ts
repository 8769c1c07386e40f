/** Plans that continue: success is followed by the next plan, until one does not continue. */
import { describe, expect, it } from "vitest";
import { operatorError } from "../../src/index.ts";
import { createTestKernel, memoryLedger } from "../../src/testing/index.ts";
import { refusalOf } from "../fixtures.ts";
import { flow, intent, payloads, type SkillCall, skill, step } from "./flow.ts";

const ann = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } };

/** Counts up to so many, one a round; each step gives the sum of what went before. */
function counting(rounds: number, run: (call: SkillCall) => unknown = () => undefined, more: object = {}) {
  const calls: unknown[] = [];
  const add = skill("Sum.Add", (call) => {
    calls.push(call.input["n"]);
    run(call);
    return Number(call.input["before"] ?? 0) + Number(call.input["n"]);
  });
  const capability = flow([add], [], {
    plan: ({ situation, ...question }) => {
      const done = situation.completed.length;
      const before = situation.completed.at(-1);
      const { gate } = (question.intent.inputs["gate"] === done + 1 ? { gate: {} } : {}) as { gate?: object };
      const params = { n: done + 1, ...(before === undefined ? {} : { before: `{{${before.step_id}.output}}` }) };
      const depends_on = before === undefined ? [] : [before.step_id];
      const next = step(`n${done + 1}`, "Sum.Add", { params, depends_on, ...(gate && { gate }) });
      return { reasoning: "one more", steps: [next], continues: done + 1 < rounds };
    },
    ...more,
  });
  return { calls, capability };
}

describe("a plan that continues", () => {
  it("is followed by the next one once all of it has succeeded; what it gave is there to refer to", async () => {
    const { calls, capability } = counting(4);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id, state, response } = await t.run(intent);
    expect([state, response.text, calls]).toEqual(["completed", "10", [1, 2, 3, 4]]);
    const plans = await payloads(t, workflow_id, "PLAN_CREATED");
    expect(plans.map(({ cause, plan }) => [cause, plan.round, plan.continues])).toEqual([
      ["submit", 0, true],
      ["continue", 1, true],
      ["continue", 2, true],
      ["continue", 3, undefined],
    ]);
    expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
    expect((await t.kernel.verify()).ok).toBe(true);
  });

  it("uses up no replan: those are for what failed, and each failure still has its own", async () => {
    const failing = { left: 2 };
    const { calls, capability } = counting(6, ({ input }) => {
      if (input["n"] !== 5 || failing.left === 0) return;
      failing.left -= 1;
      throw operatorError({ code: "NOT_YET", category: "validation", message: "not yet" });
    });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id, state, response } = await t.run(intent);
    expect([state, response.text, calls]).toEqual(["completed", "21", [1, 2, 3, 4, 5, 5, 5, 6]]);
    const causes = (await payloads(t, workflow_id, "PLAN_CREATED")).map(({ cause }) => cause);
    expect(causes.filter((cause) => cause === "replan")).toHaveLength(2);
    const never = counting(6, ({ input }) => {
      if (input["n"] === 5) throw operatorError({ code: "NEVER", category: "validation", message: "never" });
    });
    await using u = await createTestKernel({ capabilities: [never.capability] });
    expect((await u.run(intent)).state).toBe("failed");
    expect(never.calls).toEqual([1, 2, 3, 4, 5, 5, 5]);
  });

  it("is followed by no more than limits.maxRounds in all", async () => {
    const { calls, capability } = counting(99);
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxRounds: 5 } });
    expect(await t.run(intent)).toMatchObject({ state: "failed", error: { code: "T4_ROUNDS_EXHAUSTED" } });
    expect(calls).toEqual([1, 2, 3, 4, 5]);
  });

  it("goes on in another process: after a gate of a later round, and from wherever the first one stopped", async () => {
    const ledger = memoryLedger();
    const kept = Object.assign(Object.create(ledger), { close: async () => undefined });
    const first = counting(4);
    let id = "";
    {
      await using t = await createTestKernel({ capabilities: [first.capability], ledger: kept, seed: 1 });
      const inputs = { gate: 3 };
      id = (await t.kernel.submit({ ...ann, intent_hint: { intent_type: intent, inputs } })).workflow_id;
      expect((await t.rest(id)).state).toBe("waiting_for_user");
    }
    const second = counting(4);
    await using t = await createTestKernel({ capabilities: [second.capability], ledger: kept, seed: 2 });
    await t.kernel.decideGate(id, { ...ann, decision: "approve" });
    expect((await t.rest(id)).response.text).toBe("10");
    expect([first.calls, second.calls]).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect((await t.kernel.replay(id)).identical).toBe(true);
  });

  it("says so with true or false and nothing else; a direct response is the end whatever it says", async () => {
    const odd = flow([skill("A.B", () => 1)], [], {
      plan: () => ({ reasoning: "", steps: [step("a", "A.B")], continues: "yes" as never }),
    });
    await using t = await createTestKernel({ capabilities: [odd] });
    expect((await t.run(intent)).error?.code).toBe("T3_PLAN_INVALID");
    const said = flow([skill("A.B", () => 1)], [], {
      plan: () => ({ reasoning: "", steps: [], direct_response: "done", continues: true }),
    });
    await using u = await createTestKernel({ capabilities: [said] });
    expect(await u.run(intent)).toMatchObject({ state: "completed", response: { text: "done" } });
    expect((await refusalOf(createTestKernel({ limits: { maxRounds: 0 } }))).code).toBe(
      "T0_VALIDATION_SCHEMA_MISMATCH",
    );
  });
});
