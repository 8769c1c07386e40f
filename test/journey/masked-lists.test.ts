/** What a caller may not see is masked however deep it stands, and whatever shape it has. */
import { describe, expect, it } from "vitest";
import type { ContextBundle } from "../../src/contract/context-bundle.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted, eventsOf, intentType, ofType, oneStep } from "./parts.ts";

const profile = {
  language: "en",
  email: ["ann@example.org", "ann@example.com"],
  address: { street: "Main Street 1", city: "Linz" },
  contacts: [{ phone: "0660-1", since: 2020 }, [{ name: "Ben" }], "a friend"],
};

/** The profile's fields in the bundle that a run records. */
async function fieldsFor(allow_pii: boolean): Promise<unknown> {
  const scopes = ["intent:submit", "workflow:execute"];
  const roles = { user: { scopes, data_policy: { allow_pii } } };
  await using t = await createTestKernel({ roles, capabilities: [oneStep(counted("Notes.Write"))] });
  const fact = { tenant_id: 1, type: "fact", source: "host", confidence: 1 };
  await t.kernel.memory.write({ ...fact, key: "profile:1", value: profile });
  const { workflow_id } = await t.run(intentType, {}, { thread_id: "t" });
  const [built] = ofType(await eventsOf(t, workflow_id), "CONTEXT_BUILT");
  const bundle = built?.payload["bundle"] as ContextBundle | undefined;
  return bundle?.profile.fields;
}

describe("without allow_pii", () => {
  it("[CTX-06] personal fields are masked in lists, in nested lists, and as lists or objects themselves", async () => {
    expect(await fieldsFor(false)).toEqual({
      language: "en",
      email: ["[masked]", "[masked]"],
      address: { street: "[masked]", city: "[masked]" },
      contacts: [{ phone: "[masked]", since: 2020 }, [{ name: "[masked]" }], "a friend"],
    });
  });

  it("[CTX-06] who may see them sees them all", async () => {
    expect(await fieldsFor(true)).toEqual(profile);
  });
});
