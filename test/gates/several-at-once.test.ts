/** Several decisions of one request: each is taken or refused by itself, and bound to what its gate showed. */
import { describe, expect, it } from "vitest";
import { defaultRoles, GateDecisions, maxDecisionsAtOnce } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { gatedSteps, gateOf, intent, payloads, publishing, refusalOf } from "./story.ts";

/** Begins so many workflows that wait at a gate, and returns an approval of each. */
async function approvals(t: TestKernel, many: number) {
  const given: { workflow_id: string; decision: "approve" | "reject"; payload: { payload_digest: string } }[] = [];
  for (let n = 0; n < many; n += 1) {
    const { workflow_id } = await t.run(intent);
    const { payload_digest } = await gateOf(t, workflow_id);
    given.push({ workflow_id, decision: "approve", payload: { payload_digest } });
  }
  return given;
}

const stateOf = async ({ kernel }: TestKernel, workflowId: string) => (await kernel.workflow(workflowId)).state;

describe("several decisions at once", () => {
  it("are each answered as by itself, in the order of the request; one that is refused refuses no other", async () => {
    const { capability, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const [first, second, third] = await approvals(t, 3);
    if (first === undefined || second === undefined || third === undefined) throw new Error("three were begun");
    const decisions = [
      first,
      { ...second, payload: { payload_digest: "of-nothing" } },
      { ...third, decision: "reject" as const },
      { ...first, workflow_id: "wf_01JZ0000000000000000000000" },
    ];
    const answer = await t.kernel.decideGates({ ...testCaller, decisions });
    expect(answer).toMatchObject({ taken: 2, refused: 2 });
    expect(answer.results).toMatchObject([
      { workflow_id: first.workflow_id, ok: true, answer: { status: "resumed" } },
      { workflow_id: second.workflow_id, ok: false, error: { code: expect.stringMatching(/^T5_GATE_/) } },
      { workflow_id: third.workflow_id, ok: true, answer: { status: "rejected" } },
      { ok: false, error: { code: "T4_WORKFLOW_NOT_FOUND" } },
    ]);
    await t.rest(first.workflow_id);
    expect(await stateOf(t, first.workflow_id)).toBe("completed");
    expect(await stateOf(t, second.workflow_id)).toBe("waiting_for_user");
    expect(await stateOf(t, third.workflow_id)).toBe("cancelled");
    expect(publish.calls).toHaveLength(1);
  });

  it("given again have the same answers, and are recorded once", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const decisions = await approvals(t, 2);
    const once = await t.kernel.decideGates({ ...testCaller, decisions });
    expect(await t.kernel.decideGates({ ...testCaller, decisions })).toEqual(once);
    for (const { workflow_id } of decisions) expect(await payloads(t, workflow_id, "USER_APPROVED")).toHaveLength(1);
  });

  it("at several gates of one workflow are taken in their order", async () => {
    const { capability } = gatedSteps(3);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id, gates } = await t.run(intent);
    const decisions = gates.map(({ gate_id, payload_digest }) => ({
      ...{ workflow_id, gate_id, decision: "approve" as const },
      payload: { payload_digest },
    }));
    expect((await t.kernel.decideGates({ ...testCaller, decisions })).taken).toBe(gates.length);
    await t.rest(workflow_id);
    expect(await stateOf(t, workflow_id)).toBe("completed");
  });

  it("are refused as a whole where two are at one gate, or one names no digest, and none is taken", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const [given] = await approvals(t, 1);
    if (given === undefined) throw new Error("one was begun");
    const wrong = [
      [],
      [given, { ...given, decision: "reject" }],
      [{ ...given, payload: {} }],
      [{ ...given, payload: undefined }],
      [{ ...given, unknown: 1 }],
      [{ ...given, tenant_id: 1 }],
    ];
    for (const decisions of wrong) {
      const { code } = await refusalOf(t.kernel.decideGates({ ...testCaller, decisions } as GateDecisions));
      expect([decisions, code]).toEqual([decisions, "T0_VALIDATION_SCHEMA_MISMATCH"]);
    }
    expect(await stateOf(t, given.workflow_id)).toBe("waiting_for_user");
  });

  it("of somebody who may decide nothing are refused at once", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({
      capabilities: [capability],
      roles: { ...defaultRoles, reader: { scopes: ["outcome:read"] } },
    });
    const decisions = await approvals(t, 1);
    const reader = { tenant_id: 1, principal: { type: "user", id: 9, role: "reader" } };
    expect((await refusalOf(t.kernel.decideGates({ ...reader, decisions }))).code).toBe("T5_AUTHZ_FORBIDDEN");
  });

  it("are 500 at most", async () => {
    const { capability, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const decisions = await approvals(t, 40);
    expect((await t.kernel.decideGates({ ...testCaller, decisions })).taken).toBe(40);
    for (const { workflow_id } of decisions) await t.rest(workflow_id);
    expect(publish.calls).toHaveLength(40);
    const [one] = decisions;
    const many = Array.from({ length: maxDecisionsAtOnce + 1 }, (_, n) => ({ ...one, gate_id: `gate-s${n}` }));
    expect(GateDecisions.safeParse({ ...testCaller, decisions: many.slice(1) }).success).toBe(true);
    expect(GateDecisions.safeParse({ ...testCaller, decisions: many }).success).toBe(false);
  });
});
