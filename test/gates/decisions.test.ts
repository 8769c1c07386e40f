/** Deciding: what a decision says, what it does, that it counts once, and who may decide what. */
import { describe, expect, it } from "vitest";
import { definePolicy, GateRequest, GateResponse } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import {
  count,
  counted,
  decide,
  eventsOf,
  gatedSteps,
  gateOf,
  held,
  intent,
  payloads,
  publishing,
  refusalOf,
  step,
  steps,
  story,
} from "./story.ts";

const target = { type: "Draft.Note", outcome_id: "out_1" };

describe("a decision", () => {
  it("[GAT-01] names tenant, principal, gate, approve or reject, target and apply targets, and no other word", () => {
    const request = {
      ...testCaller,
      gate_id: "gate-s6",
      decision: "approve",
      payload: { target, apply_targets: ["a"] },
    };
    expect(GateRequest.parse(request)).toEqual(request);
    expect(GateRequest.parse({ ...testCaller, decision: "reject" }).payload.apply_targets).toEqual([]);
    for (const wrong of [
      { ...request, decision: "maybe" },
      { ...request, decision: undefined },
      { ...request, tenant_id: undefined },
      { ...request, principal: { id: 1 } },
      { ...request, payload: { target: { type: "Draft.Note" } } },
      { ...request, payload: { apply_targets: "table" } },
      { ...request, payload: { resolution: "failed" } },
    ])
      expect(GateRequest.safeParse(wrong).success).toBe(false);
    const more = { edit: { text: "b" }, resolution: "done", apply_targets: [] };
    expect(GateRequest.parse({ ...request, payload: more }).payload).toEqual(more);
  });

  it("[GAT-01] with another word is refused and leaves the gate as it was", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id, sequence } = await t.run(intent);
    const refused = await refusalOf(decide(t, workflow_id, { decision: "postpone" as "approve" }));
    expect(refused.code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect(await t.kernel.workflow(workflow_id)).toMatchObject({ state: "waiting_for_user", sequence });
  });

  it("[GAT-01] passes its apply targets on as they are", async () => {
    const { capability, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const apply_targets = ["table:notes", "", "  päth/ü ", "{{draft.output}}"];
    const { target: shown } = await gateOf(t, workflow_id);
    const { type, outcome_id } = shown ?? target;
    await decide(t, workflow_id, { decision: "approve", payload: { target: { type, outcome_id }, apply_targets } });
    await t.rest(workflow_id);
    expect(publish.calls[0]?.context.target?.apply_targets).toEqual(apply_targets);
    expect((await payloads(t, workflow_id, "USER_APPROVED"))[0]?.apply_targets).toEqual(apply_targets);
  });

  it("[GAT-01] that names an outcome is refused at a gate about none, and at a gate about another", async () => {
    const { capability } = gatedSteps(1);
    const { capability: publishes } = publishing({}, { intentType: "Story.Note.Apply" });
    await using t = await createTestKernel({ capabilities: [capability, publishes] });
    const [plain, applying] = [await t.run(intent), await t.run("Story.Note.Apply")];
    const { type, outcome_id } = (await gateOf(t, applying.workflow_id)).target ?? target;
    const codeOf = async (id: string, named: typeof target, decision: "approve" | "reject" = "approve") =>
      (await refusalOf(decide(t, id, { decision, payload: { target: named } }))).code;
    expect(await codeOf(plain.workflow_id, { type, outcome_id })).toBe("T5_GATE_CONFLICT");
    expect(await codeOf(plain.workflow_id, { type, outcome_id }, "reject")).toBe("T5_GATE_CONFLICT");
    expect(await codeOf(applying.workflow_id, { type, outcome_id: "out_other" })).toBe("T5_GATE_CONFLICT");
    expect(await codeOf(applying.workflow_id, { type: "Draft.Other", outcome_id })).toBe("T5_GATE_CONFLICT");
    await t.approve(plain.workflow_id);
    const again = decide(t, plain.workflow_id, { decision: "approve", gate_id: "gate-s1", payload: { target } });
    expect((await refusalOf(again)).code).toBe("T5_GATE_CONFLICT");
  });

  it.each([
    ["approve", "USER_APPROVED", "resumed"],
    ["reject", "USER_REJECTED", "rejected"],
  ] as const)(
    "[GAT-02] %s is one %s, and is answered %s with the workflow's own ids",
    async (decision, type, status) => {
      const { capability } = publishing();
      await using t = await createTestKernel({ capabilities: [capability] });
      const { workflow_id, correlation_id } = await t.run(intent);
      const answer = await decide(t, workflow_id, { decision, gate_id: "gate-publish" });
      expect(answer).toEqual({ workflow_id, status, correlation_id });
      expect(GateResponse.parse(answer)).toEqual(answer);
      await t.rest(workflow_id);
      const decided = (await eventsOf(t, workflow_id)).filter((e) => e.event_type.startsWith("USER_"));
      expect(decided).toHaveLength(1);
      expect(decided[0]).toMatchObject({
        event_type: type,
        correlation_id,
        step_id: "publish",
        actor: { type: "user", id: 1 },
        payload: { gate_id: "gate-publish", principal: testCaller.principal },
      });
    },
  );

  it("[GAT-02] is in the ledger when it is answered", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id);
    expect(await t.types(workflow_id)).toContain("USER_APPROVED");
  });

  it("[GAT-03] given twice, one after the other and long after, is answered alike and counts once", async () => {
    const { capability, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const first = await t.approve(workflow_id, "gate-publish");
    const second = await t.approve(workflow_id, "gate-publish");
    expect((await t.rest(workflow_id)).state).toBe("completed");
    const { sequence } = await t.kernel.workflow(workflow_id);
    const late = await t.approve(workflow_id, "gate-publish");
    expect([second, late]).toEqual([first, first]);
    expect(count(await t.types(workflow_id), "USER_APPROVED")).toBe(1);
    expect((await t.kernel.workflow(workflow_id)).sequence).toBe(sequence);
    expect(publish.calls).toHaveLength(1);
  });

  it("[GAT-03] given by many at once is answered alike and counts once", async () => {
    const { capability, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const answers = await Promise.all(Array.from({ length: 8 }, () => t.approve(workflow_id, "gate-publish")));
    await t.rest(workflow_id);
    expect(new Set(answers.map((a) => JSON.stringify(a))).size).toBe(1);
    expect(count(await t.types(workflow_id), "USER_APPROVED")).toBe(1);
    expect(publish.calls).toHaveLength(1);
  });

  it("that contradicts the one before is a conflict, at once and later, and changes nothing", async () => {
    const { capability, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const [yes, no] = await Promise.allSettled([
      t.approve(workflow_id, "gate-publish"),
      t.reject(workflow_id, "gate-publish"),
    ]);
    expect([yes.status, no.status]).toEqual(["fulfilled", "rejected"]);
    await t.rest(workflow_id);
    expect((await refusalOf(t.reject(workflow_id, "gate-publish"))).code).toBe("T5_GATE_CONFLICT");
    expect(await t.types(workflow_id)).not.toContain("USER_REJECTED");
    expect(publish.calls).toHaveLength(1);
  });
});

describe("what became of a call", () => {
  it.each([{ resolution: "done" }, { resolution: "retry" }, { result: "sent by hand" }] as const)(
    "[GAT-01] %o is refused where nothing was called yet, and nothing is",
    async (said) => {
      const { capability, publish } = publishing();
      await using t = await createTestKernel({ capabilities: [capability] });
      const { workflow_id } = await t.run(intent);
      const refused = decide(t, workflow_id, { decision: "approve", gate_id: "gate-publish", payload: said });
      expect((await refusalOf(refused)).code).toBe("T5_GATE_CONFLICT");
      expect((await gateOf(t, workflow_id)).status).toBe("open");
      expect(publish.calls).toHaveLength(0);
    },
  );
});

describe("what a decision does", () => {
  it("[GAT-04] an approval resumes into the apply step, which is told the outcome it applies", async () => {
    const { capability, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id, outcomes } = await t.run(intent);
    expect(publish.calls).toHaveLength(0);
    await t.approve(workflow_id);
    const done = await t.rest(workflow_id);
    expect(done.state).toBe("completed");
    expect(publish.calls).toHaveLength(1);
    expect(publish.calls[0]?.context).toMatchObject({
      workflow_id,
      step_id: "publish",
      target: { outcome_id: outcomes[0]?.outcome_id, version: 1 },
    });
    expect(publish.calls[0]?.input).toEqual({ text: "draft 1", to: "board" });
  });

  it("[GAT-04] a rejection ends the step as denied by a person, uncalled, and skips dependents by name", async () => {
    const { draft, publish } = publishing();
    const after = counted("Note.Tell");
    const rows = [
      step("draft", draft, { outcome: "Draft.Note" }),
      step("publish", publish, { applies: "draft", params: { text: "x", to: "board" } }),
      step("tell", after, { depends_on: ["publish"] }),
      step("file", after, { depends_on: ["tell"] }),
    ];
    await using t = await createTestKernel({ capabilities: [story([draft, publish, after], rows)] });
    const { workflow_id } = await t.run(intent);
    await t.reject(workflow_id);
    const end = await t.rest(workflow_id);
    expect(end.state).toBe("cancelled");
    expect([publish.calls.length, after.calls.length]).toEqual([0, 0]);
    expect(end.steps.find((s) => s.step_id === "publish")).toMatchObject({
      state: "failed",
      error: { code: "T5_HUMAN_DENIED" },
    });
    expect((await payloads(t, workflow_id, "STEP_FAILED"))[0]).toMatchObject({ blocked: true });
    expect(await payloads(t, workflow_id, "STEP_SKIPPED")).toMatchObject([
      { reason: "dependency_blocked", because: "publish" },
      { reason: "dependency_blocked" },
    ]);
    expect((await payloads(t, workflow_id, "WORKFLOW_CANCELLED"))[0]?.reason).toBe("human_denied");
    expect((await t.kernel.outcomes(workflow_id)).outcomes.map((o) => o.status)).toEqual(["draft"]);
  });

  it("without a gate id is for the one open gate, and is refused when two are open", async () => {
    const { capability, sent } = gatedSteps(2);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const refused = await refusalOf(t.approve(workflow_id));
    expect(refused).toMatchObject({ code: "T5_GATE_AMBIGUOUS", detail: { gates: ["gate-s1", "gate-s2"] } });
    expect(await t.types(workflow_id)).not.toContain("USER_APPROVED");
    await t.approve(workflow_id, "gate-s2");
    await t.rest(workflow_id);
    await t.approve(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(sent()).toEqual(["s2", "s1"]);
  });

  it.each(["aaaa", "aara", "rara", "rrrr", "raar"])(
    "on parallel gates stands alone: %s runs exactly the approved steps",
    async (decisions) => {
      const { capability, ids, sent } = gatedSteps(decisions.length);
      await using t = await createTestKernel({ capabilities: [capability] });
      const { workflow_id } = await t.run(intent);
      const approved = ids.filter((_, i) => decisions[i] === "a");
      for (const [i, id] of ids.entries()) {
        const send = decisions[i] === "a" ? t.approve : t.reject;
        await send(workflow_id, `gate-${id}`);
        await t.rest(workflow_id);
        const left = decisions.length - i - 1;
        const { state, gates } = await t.kernel.workflow(workflow_id);
        expect(gates.filter((g) => g.status === "open")).toHaveLength(left);
        if (left > 0) expect(state).toBe("waiting_for_user");
      }
      expect(sent()).toEqual(approved);
      const end = await t.kernel.workflow(workflow_id);
      expect(end.state).toBe(approved.length === ids.length ? "completed" : "cancelled");
      expect(end.steps.map((s) => s.state)).toEqual([...decisions].map((d) => (d === "a" ? "succeeded" : "failed")));
      expect(await steps(t, workflow_id, ["GATE_OPENED"])).toHaveLength(ids.length);
    },
  );

  it("on the later of two gates first: each going on names the gate that was decided for it", async () => {
    const { capability } = gatedSteps(2);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    for (const id of ["s2", "s1"]) {
      await t.clock.advance(1_000);
      await t.approve(workflow_id, `gate-${id}`);
      await t.rest(workflow_id);
    }
    const resumed = await payloads(t, workflow_id, "WORKFLOW_RESUMED");
    expect(resumed.map(({ gate_id }) => gate_id)).toEqual(["gate-s2", "gate-s1"]);
  });

  it("a step that runs meanwhile goes on, and the workflow waits only when nothing else can run", async () => {
    const end = held<object>();
    const slow = counted("Note.Slow", {}, () => end.promise);
    const { send } = gatedSteps(1);
    const rows = [step("slow", slow), step("s1", send, { gate: {} })];
    await using t = await createTestKernel({ capabilities: [story([slow, send], rows)] });
    const id = await t.submit(intent);
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).state).toBe("running");
    expect((await gateOf(t, id, "gate-s1")).status).toBe("open");
    await t.approve(id);
    await t.clock.settle();
    expect(send.calls).toHaveLength(1);
    end.release({});
    expect((await t.rest(id)).state).toBe("completed");
    expect(await t.types(id)).not.toContain("WORKFLOW_WAITING");
  });
});

describe("who may decide, and what", () => {
  const deciders: readonly (readonly [string, (t: TestKernel, id: string) => Promise<unknown>, string])[] = [
    [
      "another tenant",
      (t, id) => t.kernel.decideGate(id, { ...testCaller, tenant_id: 2, decision: "approve" }),
      "T4_WORKFLOW_NOT_FOUND",
    ],
    [
      "a principal without gate:approve",
      (t, id) =>
        t.kernel.decideGate(id, {
          ...testCaller,
          principal: { type: "user", id: 3, role: "reader" },
          decision: "approve",
        }),
      "T5_AUTHZ_FORBIDDEN",
    ],
    [
      "a role nobody knows",
      (t, id) =>
        t.kernel.decideGate(id, {
          ...testCaller,
          principal: { type: "user", id: 3, role: "ghost" },
          decision: "approve",
        }),
      "T5_AUTHN_FAILED",
    ],
    ["a gate that is none", (t, id) => t.approve(id, "gate-draft"), "T5_GATE_NOT_FOUND"],
    ["a gate of no step at all", (t, id) => t.approve(id, "gate-elsewhere"), "T5_GATE_NOT_FOUND"],
    ["a workflow that is none", (t) => t.approve(`wf_${"0".repeat(26)}`, "gate-publish"), "T4_WORKFLOW_NOT_FOUND"],
  ];

  it.each(deciders)("[GAT-07] a decision is refused for %s, and the workflow waits on", async (_who, send, code) => {
    const { capability, publish } = publishing();
    const roles = {
      user: { scopes: ["intent:submit", "workflow:execute", "gate:approve"] },
      reader: { scopes: ["intent:submit", "workflow:execute", "outcome:read"] },
    };
    await using t = await createTestKernel({ capabilities: [capability], roles });
    const { workflow_id, sequence } = await t.run(intent);
    expect((await refusalOf(send(t, workflow_id))).code).toBe(code);
    await t.clock.settle();
    expect(await t.kernel.workflow(workflow_id)).toMatchObject({ state: "waiting_for_user", sequence });
    expect((await gateOf(t, workflow_id)).status).toBe("open");
    expect(publish.calls).toHaveLength(0);
  });

  it("[GAT-07] a gate of a finished workflow takes no decision", async () => {
    const { capability, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.kernel.cancel(workflow_id, { ...testCaller });
    expect((await refusalOf(t.approve(workflow_id, "gate-publish"))).code).toBe("T5_GATE_CONFLICT");
    expect((await refusalOf(t.reject(workflow_id, "gate-publish"))).code).toBe("T5_GATE_CONFLICT");
    expect(publish.calls).toHaveLength(0);
    expect((await t.kernel.workflow(workflow_id)).state).toBe("cancelled");
  });

  it("a gate for named roles is decided by them alone", async () => {
    const { capability, publish } = publishing({ gate: { roles: ["admin"] } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    expect((await refusalOf(t.approve(workflow_id))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await gateOf(t, workflow_id)).status).toBe("open");
    const principal = { type: "user", id: 9, role: "admin" };
    await t.kernel.decideGate(workflow_id, { tenant_id: 1, principal, decision: "approve" });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(publish.calls).toHaveLength(1);
  });

  it("a policy at stage gate that denies leaves the gate open", async () => {
    const { capability, publish } = publishing();
    const rule = definePolicy({
      name: "not the author",
      stages: ["gate"],
      evaluate: ({ auth }) => (auth.principal_id === 1 ? { decision: "DENY", reason: "four eyes" } : null),
    });
    await using t = await createTestKernel({ capabilities: [capability], policies: [rule] });
    const { workflow_id } = await t.run(intent);
    expect(await refusalOf(t.approve(workflow_id))).toMatchObject({ code: "T5_POLICY_DENIED", message: "four eyes" });
    expect((await gateOf(t, workflow_id)).status).toBe("open");
    const principal = { type: "user", id: 2, role: "user" };
    await t.kernel.decideGate(workflow_id, { tenant_id: 1, principal, decision: "approve" });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(publish.calls).toHaveLength(1);
  });

  it("a decision about another outcome, or another payload, than the gate shows is a conflict", async () => {
    const { capability, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    for (const payload of [{ target }, { payload_digest: "not what is shown" }])
      expect((await refusalOf(decide(t, workflow_id, { decision: "approve", payload }))).code).toBe("T5_GATE_CONFLICT");
    expect(publish.calls).toHaveLength(0);
    const { payload_digest } = await gateOf(t, workflow_id);
    await decide(t, workflow_id, { decision: "approve", payload: { payload_digest } });
    expect((await t.rest(workflow_id)).state).toBe("completed");
  });
});
