/** Names have a syntax, and options have types and ranges: what is none is refused by its path. */
import { describe, expect, it } from "vitest";
import {
  createFederatedMemory,
  createKernel,
  createModelRouter,
  createTokenKernel,
  replayTokens,
} from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { capability, operator, plan, refusalOf } from "./parts.ts";

const executor = () => undefined;

describe("a value that no option can be", () => {
  const refused: readonly (readonly [string, () => unknown, string])[] = [
    ["a limit below its least", () => createKernel({ limits: { maxSteps: 0 } }), "limits.maxSteps"],
    ["a limit that is a text", () => createKernel({ limits: { maxSteps: "5" } } as never), "limits.maxSteps"],
    ["a limit that is no whole number", () => createKernel({ limits: { leaseMs: 0.5 } }), "limits.leaseMs"],
    ["a limit without end", () => createKernel({ limits: { maxBatch: Number.POSITIVE_INFINITY } }), "limits.maxBatch"],
    ["a limit inherited by every object", () => createKernel({ limits: { toString: 1 } } as never), "limits.toString"],
    ["a durability that is not offered", () => createKernel({ durability: "none" } as never), "durability"],
    ["a planner that cannot plan", () => createKernel({ planner: {} } as never), "planner"],
    ["a notifier that is no function", () => createKernel({ notify: {} } as never), "notify"],
    ["a threshold above one", () => createKernel({ thresholds: { confidence: 2 } }), "thresholds.confidence"],
    ["a seed without a value", () => createTokenKernel({ executor } as never), "seed"],
    ["a seed that is no number", () => createTokenKernel({ seed: Number.NaN, executor }), "seed"],
    ["a seed that is an object", () => createTokenKernel({ seed: {}, executor } as never), "seed"],
    ["no executor", () => createTokenKernel({ seed: 1 } as never), "executor"],
    ["a ceiling below nothing", () => createTokenKernel({ seed: 1, executor, limits: { tokens: -1 } }), "tokens"],
    ["a ceiling in parts", () => createTokenKernel({ seed: 1, executor, limits: { max_queued: 1.5 } }), "max_queued"],
    ["limits that are a list", () => createTokenKernel({ seed: 1, executor, limits: [] } as never), "limits"],
    ["a replay's seed", () => replayTokens("", { seed: Number.POSITIVE_INFINITY, executor }), "seed"],
    [
      "memory's limit below nothing",
      () => createFederatedMemory({ replica: "a", limits: { maxMemoryChars: -1 } }),
      "limits.maxMemoryChars",
    ],
    [
      "memory's limit that is no number",
      () => createFederatedMemory({ replica: "a", limits: { maxSyncChanges: Number.NaN } }),
      "limits.maxSyncChanges",
    ],
    ["memory's policy that is none", () => createFederatedMemory({ replica: "a", policy: true } as never), "policy"],
    ["a replica without a name", () => createFederatedMemory({ replica: "a", replicas: { "": [] } }), "replicas."],
    [
      "a version below nothing",
      () =>
        createFederatedMemory({ replica: "a" }).applyFederatedChanges([
          { origin: "b", key: "k", value: 1, version: -1, capability: "c" },
        ]),
      "0.version",
    ],
    [
      "a version in parts",
      () =>
        createFederatedMemory({ replica: "a" }).applyFederatedChanges([
          { origin: "b", key: "k", value: 1, version: 0.5, capability: "c" },
        ]),
      "0.version",
    ],
    ["a router's seed", () => createModelRouter({ endpoints: [], seed: 0.5 }), "seed"],
    ["a sync that is not known", () => sqliteLedger({ synchronous: "off" } as never), "synchronous"],
    ["an operator without a function", () => operator({ run: undefined }), "run"],
    ["an operator's input that is no schema", () => operator({ input: {} }), "input"],
  ];

  it.each(refused)("[CARD-19] is refused by its path: %s", async (_title, work, path) => {
    const { code, message } = await refusalOf(work);
    expect(code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect(message).toContain(`${path}: `);
  });
});

describe("names", () => {
  const bad = [
    "",
    ".",
    "A.",
    ".A",
    "A..B",
    "1A",
    "A B",
    "A\n.B",
    "Ä.B",
    "A/B",
    "A.B@1.0",
    "a".repeat(300),
    "{{s1.output}}",
  ];

  it.each(bad)("[OPR-04] %j is no operator's", async (name) => {
    expect((await refusalOf(() => operator({ name }))).message).toContain("name: ");
    expect((await refusalOf(() => capability({ operators: [name] }))).message).toContain("operators.0");
    expect((await refusalOf(() => capability({ plan: plan({ operator: name }) }))).message).toContain(
      "plan.steps.0.operator: ",
    );
    await using t = await createTestKernel({ capabilities: [capability({ plan: () => plan({ operator: name }) })] });
    expect((await t.run("Probe.Run")).error).toMatchObject({ code: "T3_PLAN_INVALID", detail: { step_id: "s1" } });
  });

  it.each(["Git.Log", "Files.read_text_file", "All.get-sum", "search", "A.B.C.D"])(
    "[OPR-04] %s is an operator's",
    (name) => {
      expect(operator({ name }).metadata.name).toBe(name);
    },
  );

  it.each([...bad, "Single"])("[REG-01] %j is no intent's", async (intentType) => {
    expect((await refusalOf(() => capability({ intentType }))).message).toContain("intentType: ");
  });
});
