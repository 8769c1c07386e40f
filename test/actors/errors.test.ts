/** Failures: who catches them, who decides on another try, and how they travel up when nobody can handle them. */
import { describe, expect, it } from "vitest";
import type { KernelError } from "../../src/contract/error.ts";
import { operatorError } from "../../src/define/define-operator.ts";
import type { KernelOptions } from "../../src/kernel/options.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { createTestKernel, type TestKernelOptions } from "../../src/testing/test-kernel.ts";
import {
  codesOf,
  errand,
  eventsOf,
  intentType,
  isAnswer,
  isDelivery,
  oneStep,
  operator,
  step,
  tool,
} from "./fixture.ts";

const broken = (): never => {
  throw new Error("the disk is on fire");
};
const brokenLater = async (): Promise<never> => broken();

const messagesOf = (error: KernelError | null): string[] =>
  error === null ? [] : [error.message, ...messagesOf(error.cause)];

const brokenStore = (method: "memory" | "version" | "documents"): KernelOptions => ({
  ledger: Object.assign(memoryLedger(), { [method]: brokenLater }),
});

type Case = readonly [what: string, tier: number, code: string, options: TestKernelOptions];
const dependencies: readonly Case[] = [
  ["the classifier", 1, "T1_CLASSIFY_TIMEOUT", { classifier: { classify: brokenLater } }],
  ["the input check", 1, "T1_SECURITY_INPUT_REFUSED", { security: { validate: broken } }],
  ["the ledger's version", 2, "T2_CONTEXT_UNAVAILABLE", brokenStore("version")],
  ["the ledger's memory", 2, "T2_CONTEXT_UNAVAILABLE", brokenStore("memory")],
  ["the planner", 3, "T3_PLANNER_FAILED", { planner: { plan: brokenLater } }],
  ["the authenticator", 5, "T5_AUTHN_FAILED", { authenticator: { authorize: brokenLater } }],
];

describe("a failing dependency", () => {
  it.each(dependencies)(
    "[ERR-16] %s fails: T%i says so with %s and the original message",
    async (_what, tier, code, options) => {
      await using t = await createTestKernel({ capabilities: [oneStep()], ...options });
      const more = { input: { text: "an errand" }, thread_id: "thread" };
      const id = await t.submit(intentType, {}, more).catch(() => null);
      if (id !== null) await t.rest(id);
      const failed = t.items.filter(isAnswer).find(({ from, result }) => from === tier && result.status === "error");
      expect(failed?.result.error?.code).toBe(code);
      expect(messagesOf(failed?.result.error ?? null).join("\n")).toContain("the disk is on fire");
      expect(t.logged.filter(({ message }) => message === "tier crashed")).toEqual([]);
      if (id !== null) expect((await t.kernel.workflow(id)).error?.code).toBe(code);
    },
  );

  it("[ERR-16] an operator's own throw is the cause of the error that ends its step", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(broken)], limits: { maxReplans: 0 } });
    const { error } = await t.run(intentType);
    expect(codesOf(error)).toEqual(["T4_OPERATOR_BUG", "T4_TOOL_EXECUTION_FAILED"]);
    expect(error?.cause?.message).toBe("the disk is on fire");
  });

  it("[ERR-16] a tool client's throw comes out of T0 as an error Result with its message", async () => {
    const get = tool("Test.Get", { request: brokenLater });
    await using t = await createTestKernel({
      capabilities: [errand([step("s1", "Test.Get")], [get])],
      limits: { maxReplans: 0 },
    });
    const { error } = await t.run(intentType);
    const failed = t.items.filter(isAnswer).find(({ from }) => from === 0);
    expect(failed?.result).toMatchObject({ status: "error", error: { code: "T4_TOOL_EXECUTION_FAILED" } });
    expect(failed?.result.error?.message).toContain("the disk is on fire");
    expect(error?.message).toContain("the disk is on fire");
  });
});

const failing = (calls: number[], retry: string, retryable = true) =>
  oneStep(
    ({ attempt }) => {
      calls.push(attempt);
      throw operatorError({ code: "BUSY", category: retryable ? "transient" : "validation", message: "busy" });
    },
    { retry },
  );

describe("who decides on another try", () => {
  it.each([
    ["NONE", [1]],
    ["STANDARD", [1, 2, 3]],
    ["AGGRESSIVE", [1, 2, 3, 4, 5]],
  ])("[ERR-18] with policy %s the caller makes the calls %j", async (policy, expected) => {
    const calls: number[] = [];
    await using t = await createTestKernel({ capabilities: [failing(calls, policy)], limits: { maxReplans: 0 } });
    expect((await t.run(intentType)).state).toBe("failed");
    expect(calls).toEqual(expected);
  });

  it("[ERR-18] an error that is not retryable is not tried again, whatever the policy", async () => {
    const calls: number[] = [];
    await using t = await createTestKernel({
      capabilities: [failing(calls, "AGGRESSIVE", false)],
      limits: { maxReplans: 0 },
    });
    await t.run(intentType);
    expect(calls).toEqual([1]);
  });

  it("[ERR-18] the bridge makes one request for each call that T4 decides on", async () => {
    let requests = 0;
    const request = async () => {
      requests += 1;
      return broken();
    };
    const get = tool("Test.Get", { request }, { retry: "STANDARD" });
    await using t = await createTestKernel({
      capabilities: [errand([step("s1", "Test.Get")], [get])],
      limits: { maxReplans: 0 },
    });
    await t.run(intentType);
    expect(requests).toBe(3);
    expect(t.items.filter(isDelivery).filter(({ to }) => to === 0)).toHaveLength(3);
  });
});

const chain = ["T7_ESCALATION_UNHANDLED", "T6_ESCALATION_UNHANDLED", "T5_ESCALATION_UNHANDLED"];
const unhandled: readonly (readonly [string, TestKernelOptions, readonly string[]])[] = [
  ["T4", { capabilities: [failing([], "NONE", false)] }, ["T0_VALIDATION_SCHEMA_MISMATCH"]],
  ["T3", { capabilities: [oneStep()], planner: { plan: broken } }, ["T4_ESCALATION_UNHANDLED", "T3_PLANNER_FAILED"]],
  [
    "T5",
    { capabilities: [oneStep(undefined, { effect: "external_send" })] },
    ["T4_ESCALATION_UNHANDLED", "T5_POLICY_DENIED"],
  ],
  [
    "T5, of the budget",
    { capabilities: [oneStep()], budgets: { maxCost: 0 } },
    ["T4_ESCALATION_UNHANDLED", "T5_BUDGET_EXHAUSTED"],
  ],
];

describe("an error that nobody handles", () => {
  it.each(unhandled)("[ERR-19] of %s is seen at T5, T6 and T7, each adding its wrap", async (_from, options, root) => {
    await using t = await createTestKernel({ limits: { maxReplans: 0 }, ...options });
    const { workflow_id } = await t.run(intentType);
    const hops = t.items.filter(isDelivery).filter(({ signal }) => signal.body["schema"] === "KernelError");
    expect(hops.map(({ to, signal }) => [to, codesOf(signal.body["data"] as KernelError)])).toEqual([
      [5, root],
      [6, [...chain.slice(2), ...root]],
      [7, [...chain.slice(1), ...root]],
    ]);
    const recorded = (await eventsOf(t, workflow_id)).filter((event) => event.event_type === "ERROR_ESCALATED");
    expect(recorded.map((event) => event.payload["tier"])).toEqual([5, 6, 7]);
    const last = recorded.at(-1)?.payload["error"] as KernelError;
    expect(codesOf(last)).toEqual([...chain, ...root]);
    expect(last.source.tier).toBe(7);
  });

  it("[ERR-19] an error with a handler goes no further: a retry that succeeds escalates nothing", async () => {
    const flaky = oneStep(({ attempt }) => (attempt === 1 ? broken() : "fine"));
    await using t = await createTestKernel({ capabilities: [flaky] });
    const { workflow_id, state } = await t.run(intentType);
    expect(state).toBe("completed");
    expect(await t.types(workflow_id)).not.toContain("ERROR_ESCALATED");
  });
});

describe("an operator's fault", () => {
  it("[ERR-23] raises exactly one alert that names the action, and no second attempt", async () => {
    let calls = 0;
    const notified: unknown[] = [];
    const faulty = operator("Test.Faulty", () => {
      calls += 1;
      throw operatorError({ code: "BUG", category: "operator_bug", message: "divided by zero" });
    });
    await using t = await createTestKernel({
      capabilities: [errand([step("s1", "Test.Faulty")], [faulty])],
      limits: { maxReplans: 0 },
      notify: (notification) => void notified.push(notification),
    });
    const { workflow_id } = await t.run(intentType);
    const [action] = await t.kernel.actions(workflow_id);
    const isAlert = ({ params }: { params?: object }) => JSON.stringify(params ?? {}).includes("operator_alert");
    const alerts = (notified as { params?: object }[]).filter(isAlert);
    expect(alerts).toHaveLength(1);
    expect(alerts[0]).toMatchObject({ params: { body: { data: { action_id: action?.action_id } } } });
    const types = await t.types(workflow_id);
    expect(types.filter((type) => type === "OPERATOR_ALERT" || type === "ACTION_FAILED")).toHaveLength(2);
    expect(calls).toBe(1);
  });
});
