/**
 * Decisions that come before their gate: kept if they name what is decided, applied if that is what opens, else void.
 */
import { describe, expect, it } from "vitest";
import { definePolicy, digest, type GateSpec } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { person } from "./people.ts";
import {
  count,
  counted,
  decide,
  eventsOf,
  gateOf,
  held,
  intent,
  Note,
  payloads,
  refusalOf,
  step,
  story,
} from "./story.ts";

const right = digest({ text: "first" });
const wrong = digest({ text: "something else" });

/** `first` takes as long as the test likes; the gate of `second` is declared and not open until then. */
function slowThenGate(gate: Partial<GateSpec> = {}, ofFirst: Parameters<typeof step>[2] = {}) {
  const end = held<object>();
  const first = counted("Note.First", {}, () => end.promise);
  const send = counted("Note.Send");
  const rows = [
    step("first", first, ofFirst),
    step("second", send, { gate, params: { text: "{{first.output.text}}" }, depends_on: ["first"] }),
  ];
  return { send, capability: story([first, send], rows), finish: () => end.release({ text: "first" }) };
}

async function started(t: TestKernel): Promise<string> {
  const id = await t.submit(intent);
  await t.clock.settle();
  expect((await t.kernel.workflow(id)).gates).toEqual([]);
  return id;
}

const early = (t: TestKernel, id: string, decision: "approve" | "reject", payload_digest: string) =>
  decide(t, id, { decision, gate_id: "gate-second", payload: { payload_digest, apply_targets: ["a"] } });

describe("a decision before its gate opens", () => {
  it("[GAT-07] is refused where it is to be signed: what is signed is not known yet", async () => {
    const { capability } = slowThenGate({ signed: true });
    await using t = await createTestKernel({ capabilities: [capability], approverKeys: () => null });
    const id = await started(t);
    expect((await refusalOf(early(t, id, "approve", right))).code).toBe("T5_SIGNATURE_REQUIRED");
    expect(await payloads(t, id, "GATE_DECISION_KEPT")).toEqual([]);
  });

  it("[GAT-07] is void where another that was said ahead has the outcome applied elsewhere", async () => {
    const { capability, finish } = slowThenGate({ quorum: { approvals: 2 } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    for (const [who, apply_targets] of [
      ["ann", ["a"]],
      ["bob", ["b"]],
    ] as const) {
      const request = { tenant_id: 1, principal: person(who), gate_id: "gate-second", decision: "approve" } as const;
      const payload = { payload_digest: right, apply_targets: [...apply_targets] };
      expect((await t.kernel.decideGate(id, { ...request, payload })).status).toBe("kept");
    }
    finish();
    await t.rest(id);
    const { status, votes } = await gateOf(t, id, "gate-second");
    expect([status, votes.map(({ principal }) => principal.id)]).toEqual(["open", ["ann"]]);
  });

  it("[GAT-07] with the right digest is kept, and applied at opening without asking again", async () => {
    const { capability, send, finish } = slowThenGate();
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    const { correlation_id } = await t.kernel.workflow(id);
    expect(await early(t, id, "approve", right)).toEqual({ workflow_id: id, status: "kept", correlation_id });
    expect(await payloads(t, id, "GATE_DECISION_KEPT")).toMatchObject([
      { gate_id: "gate-second", decision: "approve", payload_digest: right, principal: testCaller.principal },
    ]);
    expect(send.calls).toHaveLength(0);
    finish();
    expect((await t.rest(id)).state).toBe("completed");
    expect(send.calls.map((c) => c.input)).toEqual([{ text: "first" }]);
    expect(await gateOf(t, id, "gate-second")).toMatchObject({
      status: "approved",
      decision: { apply_targets: ["a"] },
    });
    expect(await payloads(t, id, "USER_APPROVED")).toMatchObject([
      { principal: testCaller.principal, payload_digest: right },
    ]);
    expect(await t.types(id)).not.toContain("WORKFLOW_WAITING");
  });

  it("[GAT-07] with an edit is refused, since nothing was shown; the edit can be made at the gate", async () => {
    const { capability, send, finish } = slowThenGate();
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    const payload = { payload_digest: right, edit: { text: "second" } };
    const ahead = decide(t, id, { decision: "approve", gate_id: "gate-second", payload });
    expect((await refusalOf(ahead)).code).toBe("T5_GATE_CONFLICT");
    expect(await payloads(t, id, "GATE_DECISION_KEPT")).toEqual([]);
    finish();
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    await decide(t, id, { decision: "approve", gate_id: "gate-second", payload });
    expect((await t.rest(id)).state).toBe("completed");
    expect(send.calls.map((c) => c.input)).toEqual([{ text: "second" }]);
  });

  it("[GAT-07] with a signature is refused: what was signed was no gate's", async () => {
    const { capability, finish } = slowThenGate();
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    const payload = { payload_digest: right, signature: "e30.e30.AA" };
    const ahead = decide(t, id, { decision: "approve", gate_id: "gate-second", payload });
    expect((await refusalOf(ahead)).code).toBe("T5_SIGNATURE_INVALID");
    finish();
    expect((await t.rest(id)).state).toBe("waiting_for_user");
  });

  it("[GAT-07] keeps what its person wrote, also for a replay", async () => {
    const { capability, finish } = slowThenGate();
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    const payload = { payload_digest: right, comment: "as we said on Monday" };
    await decide(t, id, { decision: "approve", gate_id: "gate-second", payload });
    finish();
    await t.rest(id);
    expect((await gateOf(t, id, "gate-second")).decision?.comment).toBe("as we said on Monday");
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("[GAT-07] that rejects with the right digest ends the step at opening, uncalled", async () => {
    const { capability, send, finish } = slowThenGate();
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    await early(t, id, "reject", right);
    finish();
    const end = await t.rest(id);
    expect(end.state).toBe("cancelled");
    expect(end.steps[1]).toMatchObject({ state: "failed", error: { code: "T5_HUMAN_DENIED" } });
    expect(send.calls).toHaveLength(0);
  });

  it("[GAT-07] with a wrong digest is void: the gate opens and asks", async () => {
    const { capability, send, finish } = slowThenGate();
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    await early(t, id, "approve", wrong);
    finish();
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    expect((await gateOf(t, id, "gate-second")).status).toBe("open");
    expect(await t.types(id)).not.toContain("USER_APPROVED");
    expect(send.calls).toHaveLength(0);
    await t.reject(id);
    expect((await t.rest(id)).state).toBe("cancelled");
    expect(send.calls).toHaveLength(0);
  });

  it("[GAT-07] without a digest is refused as a conflict, and so is one on a gate outside the plan", async () => {
    const { capability, send, finish } = slowThenGate();
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    expect((await refusalOf(t.approve(id, "gate-second"))).code).toBe("T5_GATE_CONFLICT");
    expect((await refusalOf(decide(t, id, { decision: "approve", gate_id: "gate-first" }))).code).toBe(
      "T5_GATE_NOT_FOUND",
    );
    expect((await refusalOf(t.approve(id))).code).toBe("T5_GATE_NOT_FOUND");
    expect(await t.types(id)).not.toContain("GATE_DECISION_KEPT");
    finish();
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    expect(send.calls).toHaveLength(0);
  });

  it("is kept once, however often it is given, and a contradicting one is refused", async () => {
    const { capability, send, finish } = slowThenGate();
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    const answers = [await early(t, id, "approve", right), await early(t, id, "approve", right)];
    expect(answers[1]).toEqual(answers[0]);
    expect((await refusalOf(early(t, id, "reject", right))).code).toBe("T5_GATE_CONFLICT");
    expect(count(await t.types(id), "GATE_DECISION_KEPT")).toBe(1);
    finish();
    expect((await t.rest(id)).state).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });

  it("[GAT-07] by a role that may not decide the gate is void: nobody gains power by deciding early", async () => {
    const { capability, send, finish } = slowThenGate({ roles: ["admin"] });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    await early(t, id, "approve", right);
    finish();
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    expect(await t.types(id)).not.toContain("USER_APPROVED");
    expect(send.calls).toHaveLength(0);
  });

  it("[GAT-07] of who has edited since the work began is void where the gate separates duties", async () => {
    const { capability, send, finish } = slowThenGate({ separation: true }, { gate: {}, params: { text: "zero" } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await t.submit(intent);
    await t.rest(id);
    const request = { tenant_id: 1, principal: person("ann"), decision: "approve" } as const;
    await t.kernel.decideGate(id, { ...request, gate_id: "gate-first", payload: { edit: { text: "one" } } });
    await t.clock.settle();
    await t.kernel.decideGate(id, { ...request, gate_id: "gate-second", payload: { payload_digest: right } });
    finish();
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    expect((await payloads(t, id, "USER_APPROVED")).map((each) => each["gate_id"])).toEqual(["gate-first"]);
    expect(send.calls).toHaveLength(0);
  });

  it("is judged by policy at opening, with the payload that opens", async () => {
    const { capability, send, finish } = slowThenGate();
    const seen: unknown[] = [];
    const rule = definePolicy({
      name: "not first",
      stages: ["gate"],
      evaluate({ subject }) {
        seen.push(subject.payload);
        return { decision: "DENY", reason: "not by this person" };
      },
    });
    await using t = await createTestKernel({ capabilities: [capability], policies: [rule] });
    const id = await started(t);
    await early(t, id, "approve", right);
    finish();
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    expect(seen).toEqual([{ text: "first" }]);
    expect(await t.types(id)).not.toContain("USER_APPROVED");
    expect(send.calls).toHaveLength(0);
  });

  it("is a person's: the event that keeps it and the event that applies it name them", async () => {
    const { capability, finish } = slowThenGate();
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    await early(t, id, "approve", right);
    finish();
    await t.rest(id);
    const events = await eventsOf(t, id);
    const keptBy = events.find((e) => e.event_type === "GATE_DECISION_KEPT")?.actor;
    expect(keptBy).toEqual({ type: "user", id: 1 });
    expect((await gateOf(t, id, "gate-second")).decision?.principal).toEqual(testCaller.principal);
  });
});

describe("decisions of several people before the gate opens", () => {
  const asUser = (t: TestKernel, id: string, who: string | number, payload_digest: string, decision = "approve") =>
    t.kernel.decideGate(id, {
      tenant_id: testCaller.tenant_id,
      principal: { type: "user", id: who, role: "user" },
      gate_id: "gate-second",
      decision: decision as "approve",
      payload: { payload_digest },
    });

  it("[GAT-07] are each kept: nobody who may not decide stands before one who may", async () => {
    const { capability, send, finish } = slowThenGate({ approvers: [{ id: "ann" }] });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    await asUser(t, id, "mallory", wrong);
    await asUser(t, id, "eve", right, "reject");
    expect((await asUser(t, id, "ann", right)).status).toBe("kept");
    finish();
    expect((await t.rest(id)).state).toBe("completed");
    expect((await gateOf(t, id, "gate-second")).decision?.principal?.id).toBe("ann");
    expect(send.calls).toHaveLength(1);
  });

  it("is a conflict where the same person means another payload, not an answer that nothing keeps", async () => {
    const { capability } = slowThenGate();
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    await asUser(t, id, "ann", wrong);
    expect((await refusalOf(asUser(t, id, "ann", right))).code).toBe("T5_GATE_CONFLICT");
    expect(count(await t.types(id), "GATE_DECISION_KEPT")).toBe(1);
  });

  it("[GAT-07] take one seat once, though two types of a name have spoken for it", async () => {
    const { capability, finish } = slowThenGate({
      approvers: [{ id: "ann" }, { id: "bob" }],
      quorum: { approvals: 2 },
    });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    const request = { tenant_id: 1, gate_id: "gate-second", decision: "approve", payload: { payload_digest: right } };
    for (const type of ["user", "agent"])
      await t.kernel.decideGate(id, { ...request, principal: { type, id: "ann", role: "user" } } as never);
    finish();
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    expect((await gateOf(t, id, "gate-second")).votes).toHaveLength(1);
  });

  it("are spent by the opening: what was taken back does not come back with a later version", async () => {
    const draft = held<object>();
    const write = counted("Note.Write", { effect: "write_draft" }, () =>
      write.calls.length === 1 ? draft.promise : { text: "first" },
    );
    const send = counted("Note.Send", { effect: "final_write" });
    const rows = [
      step("first", write, { outcome: "Draft.Note" }),
      step("second", send, {
        applies: "first",
        gate: { quorum: { approvals: 2 } },
        params: { text: "{{first.output.text}}" },
      }),
    ];
    const capability = story([write, send], rows, { outcomes: { "Draft.Note": Note } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    await asUser(t, id, "ann", right);
    draft.release({ text: "first" });
    await t.rest(id);
    expect((await gateOf(t, id, "gate-second")).votes).toHaveLength(1);
    await t.kernel.withdrawVote(id, { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } });
    await t.kernel.retry(id, { ...testCaller, mode: "regenerate" });
    await t.rest(id);
    expect(await gateOf(t, id, "gate-second")).toMatchObject({
      payload_digest: right,
      target: { version: 2 },
      votes: [],
    });
  });
});
