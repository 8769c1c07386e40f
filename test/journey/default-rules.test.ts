/**
 * What policy guards (seed 003 section 2.6): the four kinds of step that a rule can stop, and the default rules on
 * sending, final writes and delegated credentials.
 */
import { describe, expect, it } from "vitest";
import type { PolicySubject } from "../../src/contract/policy.ts";
import { toExecutorError } from "../../src/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { counted, intentType, oneStep, packageOf, planStep, ruleOf } from "./parts.ts";

const publicScopes = ["intent:submit", "workflow:execute", "outcome:read", "gate:approve"];
const admin = { ...testCaller, principal: { type: "user", id: 1, role: "admin" } };

describe("what policy gates", () => {
  const kinds = [
    ["external communication", "external_send", { recipients: ["a", "b"], content: "hello" }],
    ["writes to final ledgers", "final_write", { record: 4, value: "new" }],
    ["access to sensitive memory or documents", "sensitive_read", { document_id: 9 }],
    ["the scope of web retrieval", "web_retrieval", { query: "rain", domains: ["*"] }],
  ] as const;

  it.each(kinds)(
    "[PLC-08] %s: a rule sees the step's tag and its content, and can deny it",
    async (_kind, tag, params) => {
      const subjects: PolicySubject[] = [];
      const act = counted("Notes.Act", { policyTags: [tag] });
      await using t = await createTestKernel({
        capabilities: [oneStep(act, { params })],
        defaultPolicies: false,
        policies: [
          ruleOf(["action"], ({ subject }) => {
            subjects.push(subject);
            return subject.tags.includes(tag) ? { decision: "DENY", reason: `no ${tag}` } : null;
          }),
        ],
      });
      const state = await t.run(intentType);
      expect(subjects).toMatchObject([{ operator: "Notes.Act", tags: [tag], payload: params }]);
      expect(state).toMatchObject({ status: "blocked", error: { code: "T5_POLICY_DENIED", message: `no ${tag}` } });
      expect(act.calls).toEqual([]);
    },
  );
});

describe("the default rules", () => {
  it("[PLC-10] nothing is sent to the outside without a human decision", async () => {
    const send = counted("Notes.Send", { policyTags: ["external_send"] });
    await using t = await createTestKernel({ capabilities: [oneStep(send)] });
    const state = await t.run(intentType, {}, admin);
    expect(state.state).toBe("waiting_for_user");
    expect(state.gates.map((g) => g.gate_id)).toEqual(["gate-s1"]);
    expect(send.calls).toEqual([]);
    await t.kernel.decideGate(state.workflow_id, { ...admin, decision: "approve" });
    await t.rest(state.workflow_id);
    expect(send.calls).toHaveLength(1);
  });

  it("[PLC-10] who may not send at all is not even asked", async () => {
    const send = counted("Notes.Send", { effect: "external_send" });
    await using t = await createTestKernel({ capabilities: [oneStep(send)] });
    expect(await t.run(intentType)).toMatchObject({ state: "failed", status: "blocked", gates: [] });
    expect(send.calls).toEqual([]);
  });

  it.each([
    ["tag", { policyTags: ["final_write"] }],
    ["effect", { effect: "final_write" as const }],
  ])("[PLC-10] a write to final records waits for an approved apply, told by its %s", async (_what, more) => {
    const file = counted("Notes.File", more);
    await using t = await createTestKernel({ capabilities: [oneStep(file)] });
    const state = await t.run(intentType);
    expect(state.state).toBe("waiting_for_user");
    expect(file.calls).toEqual([]);
    await t.reject(state.workflow_id);
    expect((await t.rest(state.workflow_id)).state).toBe("cancelled");
    expect(file.calls).toEqual([]);
  });

  it("[PLC-10] a step that applies an outcome is such a write, whatever its operator declares", async () => {
    const write = counted("Notes.Write");
    const file = counted("Notes.File", { effect: "none" });
    const steps = [planStep("s1", write, { outcome: "Note" }), planStep("s2", file, { applies: "s1" })];
    await using t = await createTestKernel({ capabilities: [packageOf([write, file], steps)] });
    expect((await t.run(intentType)).state).toBe("waiting_for_user");
    expect(file.calls).toEqual([]);
  });

  it.each([
    ["neither scope nor toggle", false, false],
    ["the scope alone", true, false],
    ["the toggle alone", false, true],
    ["both", true, true],
  ])("[PLC-10] a delegated credential with %s", async (_what, scoped, toggled) => {
    const roles = { user: { scopes: scoped ? [...publicScopes, "credential:use"] : publicScopes } };
    const read = counted("Mail.Read", { effect: "credential_use" });
    await using t = await createTestKernel({ roles, capabilities: [oneStep(read)] });
    const state = await t.run(intentType, {}, { constraints: toggled ? { allow_credential_use: true } : {} });
    const allowed = scoped && toggled;
    expect(state.state).toBe(allowed ? "completed" : "failed");
    expect(read.calls).toHaveLength(allowed ? 1 : 0);
    if (state.error !== null) expect(toExecutorError(state.error).category).toBe("policy_denied");
  });
});
