/** No tier is decoration: with the doors of any one of the eight gone, work that was done is done no longer. */
import { describe, expect, it } from "vitest";
import type { TierPatch } from "../../src/kernel/options.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/test-kernel.ts";
import { allTiers, errand, eventsOf, intentType, operator, step, tool } from "./fixture.ts";

const client = { request: async () => ({ content: [{ type: "text", text: "fetched" }] }) };
const capability = () =>
  errand(
    [step("s1", "Test.Fetch"), step("s2", "Test.Do", { depends_on: ["s1"] })],
    [tool("Test.Fetch", client), operator("Test.Do")],
  );
const withoutDoors =
  (tier: number): TierPatch =>
  (definition) =>
    definition.tier === tier ? { ...definition, doors: {} } : definition;

/** How far a request gets. */
async function outcomeOf(t: TestKernel): Promise<{ readonly code: string | null; readonly steps: readonly string[] }> {
  const submitted = await t
    .submit(intentType)
    .catch((thrown: { readonly error: { readonly code: string } }) => thrown.error);
  if (typeof submitted !== "string") return { code: submitted.code, steps: [] };
  const { error } = await t.rest(submitted);
  const done = (await eventsOf(t, submitted)).filter((event) => event.event_type === "STEP_SUCCEEDED");
  return { code: error?.code ?? null, steps: done.map((event) => event.step_id ?? "") };
}

describe("the work of all tiers", () => {
  it("is done when all are there", async () => {
    await using t = await createTestKernel({ capabilities: [capability()] });
    expect(await outcomeOf(t)).toEqual({ code: null, steps: ["s1", "s2"] });
  });

  it.each(allTiers)("is not done without T%i", async (tier) => {
    await using t = await createTestKernel({
      capabilities: [capability()],
      patchTier: withoutDoors(tier),
      limits: { maxReplans: 0 },
    });
    expect(await outcomeOf(t)).toEqual({ code: "T0_VALIDATION_SCHEMA_MISMATCH", steps: [] });
    const refused = t.items.filter((item) => "result" in item && item.from === tier);
    expect(refused.length).toBeGreaterThan(0);
  });
});
