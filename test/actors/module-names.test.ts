/** Every module belongs to one tier, in what runs say of themselves and in the source. */
import { describe, expect, it } from "vitest";
import { t0 } from "../../src/contract/messages/t0.ts";
import { t1 } from "../../src/contract/messages/t1.ts";
import { t2 } from "../../src/contract/messages/t2.ts";
import { t3 } from "../../src/contract/messages/t3.ts";
import { t4 } from "../../src/contract/messages/t4.ts";
import { t5 } from "../../src/contract/messages/t5.ts";
import { t6 } from "../../src/contract/messages/t6.ts";
import { t7 } from "../../src/contract/messages/t7.ts";
import { operatorError } from "../../src/define/define-operator.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import {
  createTestKernel,
  type TestKernel,
  type TestKernelOptions,
  testCaller,
} from "../../src/testing/test-kernel.ts";
import { sourcesIn } from "../tidy/source-files.ts";
import {
  askData,
  errand,
  gated,
  intentType,
  malformedText,
  oneStep,
  operator,
  rpcError,
  step,
  tool,
} from "./fixture.ts";

interface Ref {
  readonly tier: number;
  readonly module: string;
}

const isRef = (value: object): value is Ref =>
  "tier" in value && "module" in value && "function" in value && Object.keys(value).length === 3;

/** Every ModuleRef anywhere inside: origins, sources, targets, causes. */
function refsIn(value: unknown, found: Ref[] = []): readonly Ref[] {
  if (typeof value !== "object" || value === null) return found;
  if (isRef(value)) found.push(value);
  else for (const inner of Object.values(value)) refsIn(inner, found);
  return found;
}

const throwing = () => Promise.reject(new Error("no"));
const failing = () => oneStep(throwing, { retry: "NONE" });
const toolThat = (request: () => Promise<unknown>) => errand([step("s1", "Test.Get")], [tool("Test.Get", { request })]);
const noisy = () =>
  oneStep(() => {
    throw operatorError({ code: "BUG", category: "operator_bug", message: "mine" });
  });

const circle = [step("s1", "Test.Do", { depends_on: ["s2"] }), step("s2", "Test.Do", { depends_on: ["s1"] })];

const decide = async (t: TestKernel): Promise<void> => {
  const { workflow_id } = await t.run(intentType, {}, { input: { text: "an errand" }, thread_id: "t" });
  await t.approve(workflow_id);
  await t.rest(workflow_id);
  await t.reject(workflow_id).catch(() => undefined);
  await t.kernel.cancel(workflow_id, testCaller).catch(() => undefined);
};
const threaded = (t: TestKernel) => t.run(intentType, {}, { thread_id: "t" });
const runs: readonly (readonly [TestKernelOptions, (t: TestKernel) => Promise<unknown>])[] = [
  [{ capabilities: [gated()] }, decide],
  [{ capabilities: [gated()] }, async (t) => t.reject((await t.run(intentType)).workflow_id)],
  [{ capabilities: [failing()] }, (t) => t.run(intentType)],
  [{ capabilities: [noisy()] }, (t) => t.run(intentType)],
  [{ capabilities: [oneStep()], planner: { plan: throwing } }, (t) => t.run(intentType)],
  [{ capabilities: [oneStep()], budgets: { maxCost: 0 } }, (t) => t.run(intentType)],
  [{ capabilities: [oneStep()], ledger: Object.assign(memoryLedger(), { memory: throwing }) }, threaded],
  [{ capabilities: [oneStep(undefined, { effect: "external_send" })] }, (t) => t.run(intentType)],
  [{ capabilities: [toolThat(throwing)] }, (t) => t.run(intentType)],
  [{ capabilities: [toolThat(async () => ({ content: [{ type: "file", file_id: "f" }] }))] }, (t) => t.run(intentType)],
  [{ capabilities: [toolThat(() => Promise.reject(rpcError(-32600, "bad")))] }, (t) => t.run(intentType)],
  [{ capabilities: [oneStep()] }, (t) => t.submit("No.Such.Intent").catch(() => undefined)],
  [{ capabilities: [oneStep()], security: { validate: throwing } }, (t) => t.submit(intentType).catch(() => undefined)],
  [{ capabilities: [errand(circle, [operator("Test.Do")])] }, (t) => t.run(intentType)],
  [{ capabilities: [errand(circle.slice(1), [operator("Test.Do")])] }, (t) => t.run(intentType)],
  [{ capabilities: [oneStep()] }, (t) => t.kernel.ask(3, malformedText())],
  [{ capabilities: [oneStep()] }, (t) => askData(t, 6, "ReplanReview", { plans: [["a"], ["a"]] })],
];

/** The tiers under which each module name was seen. */
function tiersOf(refs: readonly Ref[]): ReadonlyMap<string, ReadonlySet<number>> {
  const tiers = new Map<string, Set<number>>();
  for (const { tier, module } of refs) tiers.set(module, (tiers.get(module) ?? new Set()).add(tier));
  return tiers;
}

const shared = (tiers: ReadonlyMap<string, ReadonlySet<number>>): readonly string[] =>
  [...tiers].filter(([, seen]) => seen.size > 1).map(([module, seen]) => `${module}: ${[...seen].join(", ")}`);

const expected: Readonly<Record<number, readonly string[]>> = {
  0: ["gateway", "validation", "bridge"],
  1: ["classification", "normalizer", "input_validation"],
  2: ["context", "decomposition", "curiosity"],
  3: ["planner", "dag_compile"],
  4: ["ooda_loop", "tool_execution"],
  5: ["ego", "identity", "budget", "lifecycle", "policy"],
  6: ["activation_router", "noise_gate", "load_monitor", "artifact_bus"],
  7: ["team_orchestrator", "task_router"],
};

describe("module names", () => {
  it("[CARD-24] each appears under its own tier only, in all that Signals, Results, events and logs say", async () => {
    const refs: Ref[] = [];
    for (const [options, provoke] of runs) {
      await using t = await createTestKernel({ limits: { maxReplans: 1 }, ...options });
      await provoke(t);
      await t.clock.settle();
      refsIn([t.items, t.logged], refs);
      for (const { workflow_id } of await t.kernel.workflows()) {
        for await (const event of t.kernel.events(workflow_id, { live: false })) refsIn(event.payload, refs);
      }
    }
    const tiers = tiersOf(refs);
    expect(tiers.size).toBeGreaterThan(20);
    expect(shared(tiers)).toEqual([]);
    const missing = Object.entries(expected).filter(
      ([tier]) => ![...tiers.values()].some((at) => at.has(Number(tier))),
    );
    expect(missing).toEqual([]);
    for (const [tier, modules] of Object.entries(expected)) {
      for (const name of modules.filter((module) => tiers.has(module)))
        expect(tiers.get(name)).toEqual(new Set([Number(tier)]));
    }
  });

  it("[CARD-24] each is written under one tier only in the source", () => {
    const refs = sourcesIn("src").flatMap(({ text }) =>
      [...text.matchAll(/moduleRef\((\d), "(\w+)"/g)].map(([, tier, module]) => ({
        tier: Number(tier),
        module: module as string,
      })),
    );
    // The catalogue of messages names the module that answers each.
    const catalogued = Object.values({ ...t0, ...t1, ...t2, ...t3, ...t4, ...t5, ...t6, ...t7 });
    const tiers = tiersOf([...refs, ...catalogued.map(({ to, module }) => ({ tier: to, module }))]);
    expect(shared(tiers)).toEqual([]);
    for (const [tier, modules] of Object.entries(expected)) {
      for (const module of modules) expect([...(tiers.get(module) ?? [])], module).toEqual([Number(tier)]);
    }
    for (const module of ["confidence_calibrator", "hallucination_monitor"])
      expect(tiers.get(module)).toEqual(new Set([6]));
    expect(tiers.get("agent_spawning")).toEqual(new Set([7]));
    expect(tiers.get("cache")).toEqual(new Set([0]));
  });
});
