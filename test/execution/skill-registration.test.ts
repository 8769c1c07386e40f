// Registering skills: metadata made whole and closed, the index by capability, and who gets the retrieval provider
// (seed 002 section 15).

import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { RetrievalProvider } from "../../src/contract/operator.ts";
import { normalizeMetadata } from "../../src/define/define-operator.ts";
import { createRegistry } from "../../src/engine/actors/registry.ts";
import { defineOperator, KernelErrorException, type Operator, OperatorMetadata } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { anyObject, flow, intent, skill, step } from "./flow.ts";

const whole = {
  version: "1.0",
  description: "",
  effect: "none",
  idempotent: false,
  honours_abort: false,
  timeout_sec: 0,
  retry: "STANDARD",
  capabilities: [],
  policy_tags: [],
  risk_level: "low",
  estimated_cost: 0,
  resources: { cpu_time: 0, memory_bytes: 0, network_bytes: 0, tokens: 0 },
  limits: { max_invocations: null, max_tokens: null },
  outputs: ["data"],
  kind: "skill",
  extensions: {},
};

/** An operator as somebody writes it who does not use defineOperator. */
const written = (metadata: object): Operator =>
  ({ ...skill("Probe.Written", () => 1), metadata }) as unknown as Operator;

describe("metadata", () => {
  it("[SKL-01] a plain object with only a name becomes a full record, however it is registered", async () => {
    await using t = await createTestKernel();
    expect(normalizeMetadata({ name: "Probe.A" })).toEqual({ name: "Probe.A", ...whole });
    expect(t.kernel.registerOperator(written({ name: "Probe.B" }))).toEqual({ name: "Probe.B", ...whole });
    const defined = defineOperator({ name: "Probe.C", input: anyObject, run: () => 1 });
    expect(t.kernel.registerOperator(defined)).toEqual({ name: "Probe.C", ...whole });
    for (const metadata of [{ name: "Probe.B" }, defined.metadata])
      expect(OperatorMetadata.parse(metadata)).toMatchObject(whole);
  });

  it.each([
    ["timeout_sec", "abc"],
    ["timeout_sec", -1],
    ["name", ""],
    ["name", undefined],
    ["effect", "whatever"],
    ["capabilities", "reasoning"],
    ["estimated_cost", -1],
    ["estimated_cost", Number.NaN],
    ["risk_level", "enormous"],
    ["idempotent", "yes"],
  ])("[SKL-01] invalid metadata is refused: %s %j", async (field, value) => {
    const metadata = { name: "Probe.A", [field]: value };
    expect(() => normalizeMetadata(metadata)).toThrow(KernelErrorException);
    await using t = await createTestKernel();
    expect(() => t.kernel.registerOperator(written(metadata))).toThrow(KernelErrorException);
  });

  it("[SKL-01] what was registered unfinished runs like any other", async () => {
    const operator = written({ name: "Probe.Written" });
    await using t = await createTestKernel({ capabilities: [flow([operator], [step("s1", "Probe.Written")])] });
    expect((await t.run(intent)).state).toBe("completed");
  });

  it("[SKL-01] the same operator may come with two packages; another one under its name may not", async () => {
    const operator = written({ name: "Probe.Written" });
    const steps = [step("s1", "Probe.Written")];
    const again = flow([operator], steps, { intentType: "Probe.Other.Run" });
    await using t = await createTestKernel({ capabilities: [flow([operator], steps), again] });
    expect((await t.run("Probe.Other.Run")).state).toBe("completed");
    expect(() => t.kernel.registerOperator(written({ name: "Probe.Written" }))).toThrow(KernelErrorException);
  });

  it("[SKL-04] neither the registered object nor the caller's original changes it afterwards", async () => {
    const options = {
      name: "Probe.Act",
      input: anyObject,
      timeoutSec: 5,
      capabilities: ["reasoning"],
      extensions: { vendor: { level: 1 } },
      run: () => 1,
    };
    const raw = {
      name: "Probe.Raw",
      timeout_sec: 5,
      capabilities: ["reasoning"],
      extensions: { vendor: { level: 1 } },
    };
    const registry = createRegistry();
    const registered = [registry.registerOperator(defineOperator(options)), registry.registerOperator(written(raw))];
    options.timeoutSec = 600;
    raw.timeout_sec = 600;
    for (const original of [options, raw]) {
      original.capabilities.push("deep_research");
      original.extensions.vendor.level = 9;
    }
    for (const metadata of registered) {
      expect(() => Object.assign(metadata, { timeout_sec: 600 })).toThrow(TypeError);
      expect(() => metadata.capabilities.push("deep_research")).toThrow(TypeError);
      expect(() => Object.assign(metadata.extensions["vendor"] as object, { level: 9 })).toThrow(TypeError);
    }
    for (const name of ["Probe.Act", "Probe.Raw"]) {
      const found = registry.findOperator(name);
      expect(() => Object.assign(found as object, { metadata: {} })).toThrow(TypeError);
      expect(registry.findOperator(name)?.metadata).toMatchObject({
        timeout_sec: 5,
        capabilities: ["reasoning"],
        extensions: { vendor: { level: 1 } },
      });
    }
    expect(registry.capIndex("deep_research")).toEqual([]);
  });

  it("[SKL-04] a step runs by what was registered, whatever the original says by then", async () => {
    const raw = { name: "Probe.Written", timeout_sec: 5, retry: "NONE" };
    const operator = { ...written(raw), input: z.unknown(), run: () => new Promise<never>(() => undefined) };
    await using t = await createTestKernel({
      capabilities: [flow([operator], [step("s1", "Probe.Written")])],
      limits: { maxReplans: 0 },
    });
    raw.timeout_sec = 600;
    const start = t.clock.now();
    await t.run(intent);
    expect(t.clock.now() - start).toBe(5_000);
  });
});

describe("capabilities of a skill", () => {
  it("[SKL-02] every declared capability finds its skills", () => {
    const registry = createRegistry();
    registry.registerOperator(skill("Probe.A", () => 1, { capabilities: ["reasoning"] }));
    registry.registerOperator(skill("Probe.B", () => 1, { capabilities: ["writing", "reasoning"] }));
    registry.registerOperator(skill("Probe.C", () => 1));
    expect(registry.capIndex("reasoning")).toEqual(["Probe.A", "Probe.B"]);
    expect(registry.capIndex("writing")).toEqual(["Probe.B"]);
    expect(registry.capIndex("nothing")).toEqual([]);
  });

  it("[SKL-02] a new version of a skill is in the index once", () => {
    const registry = createRegistry();
    for (const version of ["1.0", "1.1"])
      registry.registerOperator(skill("Probe.A", () => 1, { version, capabilities: ["reasoning"] }));
    expect(registry.capIndex("reasoning")).toEqual(["Probe.A"]);
  });

  it("[SKL-03] deep_research and reasoning get the retrieval provider, nobody else does", async () => {
    const retrieval: RetrievalProvider = { retrieve: async () => [] };
    const seen: Record<string, unknown> = {};
    const asking = (name: string, capabilities: readonly string[]) =>
      skill(
        name,
        ({ context }) => {
          seen[name] = "retrieval" in context ? context.retrieval : "none";
        },
        { capabilities },
      );
    const operators = [
      asking("Probe.Research", ["deep_research"]),
      asking("Probe.Reason", ["writing", "reasoning"]),
      asking("Probe.Write", ["writing"]),
      asking("Probe.Plain", []),
    ];
    const steps = operators.map(({ metadata }, i) => step(`s${i}`, metadata.name));
    await using t = await createTestKernel({ capabilities: [flow(operators, steps)], retrieval });
    await t.run(intent);
    expect(seen).toEqual({
      "Probe.Research": retrieval,
      "Probe.Reason": retrieval,
      "Probe.Write": "none",
      "Probe.Plain": "none",
    });
  });
});
