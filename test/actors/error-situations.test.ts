/**
 * Each situation that the seeds' catalogue names, provoked: the code, the tier that says it, and the Result it is in.
 */
import { describe, expect, it } from "vitest";
import { type ErrorCode, errorCodes } from "../../src/contract/error-codes.ts";
import type { Result, ResultStatus } from "../../src/contract/result.ts";
import { createTextSignal } from "../../src/contract/signal.ts";
import { createTestKernel, type TestKernel, type TestKernelOptions } from "../../src/testing/test-kernel.ts";
import {
  askData,
  errand,
  intentType,
  isAnswer,
  malformedText,
  oneStep,
  operator,
  step,
  testRef,
  tool,
} from "./fixture.ts";
import { auth } from "./tier-signals.ts";

interface Situation {
  readonly what: string;
  readonly code: ErrorCode;
  readonly status: ResultStatus;
  readonly options?: TestKernelOptions;
  readonly provoke: (t: TestKernel) => Promise<unknown>;
}

const spoken = { input: { text: "an errand" } };
const run = (t: TestKernel): Promise<unknown> => t.run(intentType, {}, spoken).catch(() => undefined);
const never = () => new Promise<never>(() => undefined);
const judge = (tags: Readonly<Record<string, string>>) => (t: TestKernel) =>
  t.kernel.ask(6, createTextSignal("the answer", testRef, "cor_test", { confidence: "1", grounding: "1", ...tags }));
const circle = [step("s1", "Test.Do", { depends_on: ["s2"] }), step("s2", "Test.Do", { depends_on: ["s1"] })];
const toolOf = (request: () => Promise<never>, timeoutSec = 10) =>
  errand([step("s1", "Test.Get")], [tool("Test.Get", { request }, { timeoutSec })]);

const situations: readonly Situation[] = [
  {
    what: "a body that does not fit its schema",
    code: "T0_VALIDATION_SCHEMA_MISMATCH",
    status: "error",
    provoke: (t) => t.kernel.ask(1, malformedText()),
  },
  {
    what: "a cache that lets go under pressure",
    code: "T0_CACHE_PRESSURE_EVICTION",
    status: "partial",
    options: { limits: { maxCachedBundles: 1 } },
    provoke: async (t) => {
      await t.run(intentType, {}, { thread_id: "one" });
      await t.run(intentType, {}, { thread_id: "two" });
    },
  },
  {
    what: "a request that fits no intent",
    code: "T1_CLASSIFY_LOW_CONFIDENCE",
    status: "partial",
    options: { fallbackIntent: intentType },
    provoke: (t) => t.kernel.submit({ tenant_id: 1, principal: caller, input: { text: "what is the weather" } }),
  },
  {
    what: "a classifier that gives no answer in time",
    code: "T1_CLASSIFY_TIMEOUT",
    status: "error",
    options: { classifier: { classify: never } },
    provoke: async (t) => {
      const submitted = t.submit(intentType, {}, spoken).catch(() => undefined);
      await t.clock.advance(5_000);
      await submitted;
    },
  },
  {
    what: "sub-goals that wait for one another",
    code: "T2_DECOMPOSE_CYCLE_DETECTED",
    status: "error",
    options: { capabilities: [errand(circle, [operator("Test.Do")])] },
    provoke: run,
  },
  {
    what: "a plan step that depends on nothing there is",
    code: "T3_DAG_COMPILE_UNRESOLVED_DEPS",
    status: "error",
    options: { capabilities: [errand([step("s1", "Test.Do", { depends_on: ["s9"] })], [operator("Test.Do")])] },
    provoke: run,
  },
  {
    what: "a tool that fails",
    code: "T4_TOOL_EXECUTION_FAILED",
    status: "error",
    options: { capabilities: [toolOf(() => Promise.reject(new Error("no route")))], limits: { maxReplans: 0 } },
    provoke: run,
  },
  {
    what: "a spent budget",
    code: "T5_BUDGET_EXHAUSTED",
    status: "error",
    options: { budgets: { maxCost: 0 } },
    provoke: run,
  },
  {
    what: "a principal of another tenant",
    code: "T5_IDENTITY_VIOLATION",
    status: "error",
    options: { authenticator: { authorize: () => ({ ...auth, scopes: ["*"], tenant_id: 2 }) } },
    provoke: run,
  },
  {
    what: "claims without grounds",
    code: "T6_HALLUCINATION_DETECTED",
    status: "partial",
    provoke: judge({ grounding: "0.1" }),
  },
  {
    what: "confidence without evidence",
    code: "T6_OVERCONFIDENCE_DETECTED",
    status: "partial",
    provoke: judge({ confidence: "0.1" }),
  },
  {
    what: "the same plan tried again",
    code: "T6_LOOP_DETECTED",
    status: "partial",
    provoke: (t) => askData(t, 6, "ReplanReview", { workflow_id: "wf", plans: [["Test.Do({})"], ["Test.Do({})"]] }),
  },
  {
    what: "no room for another workflow",
    code: "T7_SPAWN_INSUFFICIENT_RESOURCES",
    status: "error",
    options: { capabilities: [oneStep(never)], limits: { maxInFlight: 1, maxWaitingSubmits: 0 } },
    provoke: async (t) => {
      await t.submit(intentType);
      await t.submit(intentType).catch(() => undefined);
    },
  },
];
const caller = { type: "user", id: 1, role: "user" } as const;

const resultsWith = (t: TestKernel, code: string): readonly Result[] =>
  t.items.filter(isAnswer).flatMap(({ result }) => (result.error?.code === code ? [result] : []));

const tierOf = (code: string): number => Number(code[1]);

describe("the catalogue's situations", () => {
  it.each(situations)(
    "[ERR-06] $what is $code in a Result of status $status",
    async ({ code, status, options, provoke }) => {
      await using t = await createTestKernel({ capabilities: [oneStep()], ...options });
      await provoke(t);
      const [result] = resultsWith(t, code);
      expect(result?.status).toBe(status);
      expect(result?.error?.source.tier).toBe(tierOf(code));
      const { category } = errorCodes[code];
      expect(result?.error?.category).toBe(category);
    },
  );

  it("[ERR-06] a tool that gives no answer in time is T4_TOOL_TIMEOUT of T4, and ends its workflow", async () => {
    await using t = await createTestKernel({ capabilities: [toolOf(never)], limits: { maxReplans: 0 } });
    const { error, workflow_id } = await t.run(intentType);
    expect(error).toMatchObject({ code: "T4_TOOL_TIMEOUT", source: { tier: 4 }, category: "external" });
    const [action] = await t.kernel.actions(workflow_id);
    expect(action?.error?.code).toBe("T4_TOOL_TIMEOUT");
  });

  it("[ERR-06] in a separate run, the load monitor sees the failed plan again and logs it", async () => {
    const failing = oneStep(() => Promise.reject(new Error("never")), { retry: "NONE" });
    await using t = await createTestKernel({ capabilities: [failing], limits: { maxReplans: 2 } });
    await t.run(intentType);
    const warned = t.logged.filter(({ detail }) => JSON.stringify(detail).includes("T6_LOOP_DETECTED"));
    expect(warned.length).toBeGreaterThan(0);
  });

  it("[ERR-06] T0 to T7 each have a situation here", () => {
    const tiers = new Set([...situations.map(({ code }) => tierOf(code))]);
    expect([...tiers].toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });
});
