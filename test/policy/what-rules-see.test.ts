/** What a rule is given at each stage: the subject, and who asks for what, in which context. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { PolicyQuestion } from "../../src/contract/policy.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted, eventsOf, intentType, ofType, packageOf, planStep, ruleOf } from "../journey/parts.ts";

const stages = ["plan", "action", "outcome", "gate"] as const;

/** A draft, then its use behind a gate: each stage is asked at least once. */
async function askedInARun() {
  const asked: PolicyQuestion[] = [];
  const watching = ruleOf([...stages], (question) => {
    asked.push(question);
    return null;
  });
  const write = counted("Notes.Write", {}, () => ({ text: "calm" }));
  const file = counted("Notes.File");
  const steps = [
    planStep("s1", write, { outcome: "Draft.Note" }),
    planStep("s2", file, { depends_on: ["s1"], gate: { reason: "look first" } }),
  ];
  const outcomes = { "Draft.Note": z.object({ text: z.string() }) };
  await using t = await createTestKernel({
    policies: [watching],
    capabilities: [packageOf([write, file], steps, { outcomes })],
  });
  const fact = { tenant_id: 1, type: "fact", source: "host", confidence: 1 };
  await t.kernel.memory.write({ ...fact, key: "profile:1", value: { language: "en" } });
  const scope = { scope_type: "folder", scope_id: 12 };
  const more = { thread_id: "t", scope, input: { text: "write a calm note" } };
  const { workflow_id } = await t.run(intentType, { about: "rain" }, more);
  await t.approve(workflow_id);
  await t.rest(workflow_id);
  return { asked, events: await eventsOf(t, workflow_id) };
}

describe("a rule", () => {
  it.each(stages)(
    "[PLC-01] is given the intent with its text, the context and the caller at stage %s",
    async (stage) => {
      const { asked, events } = await askedInARun();
      const [built] = ofType(events, "CONTEXT_BUILT");
      const question = asked.find((one) => one.stage === stage);
      expect(question?.intent).toMatchObject({
        type: intentType,
        text: "write a calm note",
        inputs: { about: "rain" },
      });
      expect(question?.intent.scope).toMatchObject({ scope_type: "folder", scope_id: 12 });
      expect(question?.context).toEqual(built?.payload["bundle"]);
      expect(question?.context?.profile.fields).toEqual({ language: "en" });
      expect(question?.auth).toMatchObject({ tenant_id: 1, principal_id: 1, role: "user" });
      expect(Number.isNaN(Date.parse(question?.now ?? ""))).toBe(false);
    },
  );
});
