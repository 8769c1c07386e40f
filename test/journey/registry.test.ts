/**
 * Packages and their registry (seed 003 sections 5, 9.1): what a package must bring, how its versions live side by
 * side, and that the kernel knows nothing but what is registered.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  CapabilityPackage,
  defineCapability,
  type KernelError,
  KernelErrorException,
  Plan,
  toExecutorError,
} from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { counted, eventsOf, intentType, ofType, oneStep, packageOf, planStep, refusalOf } from "./parts.ts";

const whole = () => {
  const write = counted("Notes.Write");
  return {
    intentType,
    version: "1.0",
    input: z.object({ topic: z.string() }),
    operators: [write.operator],
    outcomes: { Note: z.object({ text: z.string() }) },
    plan: { reasoning: "one step", steps: [planStep("s1", write)] },
    policyTags: { s1: ["draft"] },
    uiActions: { s1: [{ action: "apply", label: "Apply" }] },
    weights: { s1: 3 },
  };
};

/** The error of a call that throws at once. */
function thrownBy(call: () => unknown): KernelError {
  try {
    call();
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) return thrown.error;
    throw thrown;
  }
  throw new Error("nothing was thrown");
}

describe("a package", () => {
  it("[REG-01] brings schema and version, plan, operators, outcomes, policy tags, UI actions and weights", async () => {
    const { outcomes, ...rest } = whole();
    expect(CapabilityPackage.parse({ ...rest, outcomes })).toMatchObject({
      policyTags: { s1: ["draft"] },
      uiActions: { s1: [{ action: "apply", label: "Apply" }] },
      weights: { s1: 3 },
    });
    const gated = { ...whole(), plan: { reasoning: "", steps: [{ ...whole().plan.steps[0], gate: {} }] } };
    await using t = await createTestKernel({ capabilities: [defineCapability(gated as ReturnType<typeof whole>)] });
    const state = await t.run(intentType, { topic: "rain" });
    expect(state.plan?.steps[0]).toMatchObject({ policy_tags: ["draft"], weight: 3 });
    expect(state.gates[0]?.ui_actions).toEqual([{ action: "apply", label: "Apply" }]);
  });

  it.each([
    ["the intent schema", { input: undefined }],
    ["the intent type", { intentType: undefined }],
    ["a version", { version: undefined }],
    ["both template and hook", { plan: undefined }],
    ["the operator list", { operators: undefined }],
  ])("[REG-01] is refused without %s", (_what, lack) => {
    const error = thrownBy(() => defineCapability({ ...whole(), ...lack } as never));
    expect(error).toMatchObject({ code: "T0_VALIDATION_SCHEMA_MISMATCH", category: "input" });
  });

  it.each([{ plan: () => ({ reasoning: "", steps: [] }) }, {}])(
    "[REG-01] may plan by a hook or by a template",
    (more) => {
      expect(defineCapability({ ...whole(), ...more }).intentType).toBe(intentType);
    },
  );

  it("[REG-03] is named by a dotted intent type and major.minor", () => {
    for (const wrong of ["Notes", "notes draft", ".Draft", "Notes."])
      expect(thrownBy(() => defineCapability({ ...whole(), intentType: wrong })).category).toBe("input");
    for (const wrong of ["1", "v1.0", "1.0.0"])
      expect(thrownBy(() => defineCapability({ ...whole(), version: wrong })).category).toBe("input");
  });
});

describe("the registry", () => {
  const versioned = (version: string) => oneStep(counted(`Notes.Write_${version.replace(".", "_")}`), {}, { version });

  it("[REG-02] gives the definition of a registered type, and a structured failure for an unknown one", async () => {
    const pkg = oneStep(counted("Notes.Write"));
    await using t = await createTestKernel({ capabilities: [pkg] });
    expect(t.kernel.getCapability(intentType)).toBe(pkg);
    const error = thrownBy(() => t.kernel.getCapability("Notes.Nothing"));
    expect(error).toMatchObject({ category: "input", retry_eligible: false, detail: { known: [`${intentType}@1.0`] } });
    expect(toExecutorError(error).category).toBe("validation");
  });

  it("[REG-03] holds versions side by side; the type alone is the newest, by number and not by text", async () => {
    const packages = ["1.0", "1.2", "1.10"].map(versioned);
    await using t = await createTestKernel({ capabilities: packages });
    for (const pkg of packages) expect(t.kernel.getCapability(intentType, pkg.version)).toBe(pkg);
    const versions = [];
    for (const type of [`${intentType}@1.2`, intentType]) versions.push((await t.run(type)).intent.version);
    expect(versions).toEqual(["1.2", "1.10"]);
    expect((await refusalOf(t.submit(`${intentType}@3.0`))).code).toBe("T1_NORMALIZE_UNKNOWN_INTENT");
  });

  it("[REG-03] a running workflow keeps its version when a newer one is loaded", async () => {
    const [old, young] = [counted("Notes.Old"), counted("Notes.Young")];
    const steps = [planStep("s1", old, { gate: {} }), planStep("s2", old, { depends_on: ["s1"] })];
    await using t = await createTestKernel({ capabilities: [packageOf([old], steps)] });
    const { workflow_id } = await t.run(intentType);
    t.kernel.registerCapability(oneStep(young, {}, { version: "1.1" }));
    await t.approve(workflow_id);
    expect(await t.rest(workflow_id)).toMatchObject({ state: "completed", intent: { version: "1.0" } });
    expect([old.calls.length, young.calls.length]).toEqual([2, 0]);
    expect((await t.run(intentType)).intent.version).toBe("1.1");
  });

  it("[REG-04] empty, it rejects every intent; with one package exactly that type is valid", async () => {
    await using t = await createTestKernel();
    const types = [intentType, "Words.Count", "Kernel.Respond", "Repo.ReleaseNotes.Draft"];
    const accepted = async (): Promise<string[]> => {
      const verdicts = await Promise.all(
        types.map((type) =>
          t.submit(type).then(
            () => [type],
            () => [],
          ),
        ),
      );
      return verdicts.flat();
    };
    expect(await accepted()).toEqual([]);
    t.kernel.registerCapability(oneStep(counted("Notes.Write")));
    expect(await accepted()).toEqual([intentType]);
  });

  it("[REG-05] a planner's use of a registered but unlisted operator fails planning, and runs nothing", async () => {
    const [listed, other] = [counted("Notes.Write"), counted("Notes.Other")];
    const steps = [planStep("s1", listed), planStep("s2", other)];
    await using t = await createTestKernel({
      capabilities: [oneStep(listed)],
      operators: [other.operator],
      planner: { plan: () => ({ plan: { reasoning: "", steps }, usage: { total_cost: 0 } }) },
    });
    const state = await t.run(intentType);
    expect(state.error).toMatchObject({ code: "T3_PLAN_OPERATOR_NOT_ALLOWED", category: "policy" });
    expect(ofType(await eventsOf(t, state.workflow_id), "PLAN_REJECTED")).toHaveLength(1);
    expect([listed.calls.length, other.calls.length]).toEqual([0, 0]);
  });

  it("[REG-05] an operator is on the list by definition or by the name it is registered under", async () => {
    const other = counted("Notes.Other");
    const pkg = defineCapability({
      ...whole(),
      operators: ["Notes.Other"],
      plan: { reasoning: "", steps: [planStep("s1", other)] },
    });
    await using t = await createTestKernel({ capabilities: [pkg], operators: [other.operator] });
    expect((await t.run(intentType, { topic: "rain" })).state).toBe("completed");
    expect(other.calls).toHaveLength(1);
  });
});

describe("the sample packages", () => {
  it("[REG-07] three intents and six operators run through the deterministic planner", async () => {
    const names = ["Notes.Collect", "Notes.Write", "Words.Split", "Words.Count", "Lists.Sort", "Lists.Print"];
    const operators = names.map((name) => counted(name));
    const pairs = ["Notes.Draft", "Words.Count.All", "Lists.Show"].map((type, i) => {
      const pair = operators.slice(2 * i, 2 * i + 2) as [ReturnType<typeof counted>, ReturnType<typeof counted>];
      const steps = [planStep("s1", pair[0]), planStep("s2", pair[1], { depends_on: ["s1"] })];
      return packageOf(pair, steps, { intentType: type });
    });
    await using t: TestKernel = await createTestKernel({ capabilities: pairs });
    const plans: (Plan | null)[] = [];
    for (const { intentType: type } of pairs) {
      const state = await t.run(type);
      expect(state.state).toBe("completed");
      plans.push(state.plan);
    }
    for (const plan of plans) expect(Plan.parse(plan)).toEqual(plan);
    expect(new Set(operators.filter(({ calls }) => calls.length === 1).map(({ name }) => name)).size).toBe(6);
  });
});
