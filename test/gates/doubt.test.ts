/** A call whose end nobody knows: a person says what became of it, and what they say is what counts. */
import { exportJWK, generateKeyPair } from "jose";
import { describe, expect, it } from "vitest";
import { type GateSpec, type KernelError, signApproval } from "../../src/index.ts";
import { failureLines } from "../../src/protocol/failure-lines.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { eventsOf } from "../fixtures.ts";
import { ann, approve, bob, type Person, person, requester } from "./people.ts";
import { count, counted, decide, gateOf, intent, payloads, refusalOf, step, steps, story } from "./story.ts";

const never = (): Promise<never> => new Promise(() => undefined);

/** `send` may take effect and does not answer the first time; `tell` needs it. */
function lostCall() {
  const send = counted("Note.Send", { effect: "write_draft", timeoutSec: 1 }, () =>
    send.calls.length === 1 ? never() : { sent: send.calls.length },
  );
  const tell = counted("Note.Tell");
  const rows = [
    step("send", send, { params: { text: "a" } }),
    step("tell", tell, { depends_on: ["send"], params: { heard: "{{send.output}}" } }),
  ];
  return { send, tell, capability: story([send, tell], rows) };
}

async function lost(t: TestKernel): Promise<string> {
  const { workflow_id, state } = await t.run(intent);
  expect(state).toBe("waiting_for_user");
  return workflow_id;
}

const gate_id = "gate-send_doubt1";

describe("an in-doubt gate", () => {
  it("[GAT-01] shows the call as it was made, and needs a resolution to be approved", async () => {
    const { capability, send } = lostCall();
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const id = await lost(t);
    expect(await gateOf(t, id, gate_id)).toMatchObject({ kind: "in_doubt", status: "open", payload: { text: "a" } });
    expect((await t.kernel.actions(id)).map((a) => a.status)).toEqual(["in_doubt"]);
    expect((await refusalOf(decide(t, id, { decision: "approve", gate_id }))).code).toBe("T5_GATE_CONFLICT");
    const edited = decide(t, id, {
      decision: "approve",
      gate_id,
      payload: { resolution: "done", edit: { text: "b" } },
    });
    expect((await refusalOf(edited)).code).toBe("T5_GATE_CONFLICT");
    expect((await t.types(id)).filter((type) => /^(USER_|ACTION_SETTLED)/.test(type))).toEqual([]);
    expect((await gateOf(t, id, gate_id)).status).toBe("open");
    expect(send.calls).toHaveLength(1);
  });

  it("carries the record of the call: its beginning, and the error that it threw with its causes", async () => {
    const cause = Object.assign(new Error("connection reset by peer"), { code: "ECONNRESET" });
    const send = counted("Note.Send", { effect: "write_draft" }, () => {
      throw new TypeError("fetch failed", { cause });
    });
    const thrown = story([send], [step("send", send, { params: { text: "a" } })]);
    await using t = await createTestKernel({ capabilities: [thrown], limits: { maxReplans: 0 } });
    const id = await lost(t);
    const [call] = await t.kernel.actions(id);
    const { doubt } = await gateOf(t, id, gate_id);
    expect(doubt).toMatchObject({ called_at: call?.timing.started_at });
    expect(failureLines(doubt?.error as KernelError)).toEqual([
      "TypeError: fetch failed",
      "caused by: Error (ECONNRESET): connection reset by peer",
    ]);
    const opened = (await eventsOf(t, id)).find(({ event_type }) => event_type === "GATE_OPENED");
    expect(opened?.payload).not.toHaveProperty("gate.doubt");
    const listed = await t.kernel.gates({ workflow_id: id }, testCaller);
    expect(listed[0]?.doubt).toEqual(doubt);
    expect((await t.kernel.verify()).ok).toBe(true);
  });

  it("says when the call began and what each answer leads to: a new plan may call a failed one again", async () => {
    const { capability, send } = lostCall();
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await lost(t);
    const { reasons, consequences } = await gateOf(t, id, gate_id);
    const [call] = await t.kernel.actions(id);
    expect(reasons[0]?.reason).toContain(`Note.Send was called at ${call?.timing.started_at}`);
    expect(consequences.approve).toContain("with the result that is given, or null");
    expect(consequences.reject).toContain("A new plan or a retry may call Note.Send again");
    await decide(t, id, { decision: "reject", gate_id });
    await t.rest(id);
    expect([send.calls.length, new Set(send.calls.map((c) => c.idempotencyKey)).size]).toEqual([2, 1]);
  });

  it("asks in words: no consequence and no vote names a code of the request", async () => {
    const { capability } = lostCall();
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await lost(t);
    const { consequences } = await gateOf(t, id, gate_id);
    expect(consequences.approve).toMatch(/^If it happened, .* If it did not happen, it can be called again /);
    expect(JSON.stringify(consequences)).not.toMatch(/resolution|"(done|retry)/);
  });

  it("[GAT-01] done: the step counts as done with the result the person gives, and is not called again", async () => {
    const { capability, send, tell } = lostCall();
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await lost(t);
    await decide(t, id, { decision: "approve", gate_id, payload: { resolution: "done", result: { sent: "by hand" } } });
    const done = await t.rest(id);
    expect(done.state).toBe("completed");
    expect(send.calls).toHaveLength(1);
    expect(tell.calls.map((c) => c.input)).toEqual([{ heard: { sent: "by hand" } }]);
    expect(await payloads(t, id, "ACTION_SETTLED")).toMatchObject([
      { resolution: "done", result: { sent: "by hand" } },
    ]);
    const [action] = (await t.kernel.actions(id)).filter((a) => a.step_id === "send");
    expect(action).toMatchObject({ status: "succeeded", result_payload: { sent: "by hand" } });
  });

  it("[GAT-01] retry: it is called again under the same key", async () => {
    const { capability, send, tell } = lostCall();
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await lost(t);
    await decide(t, id, { decision: "approve", gate_id, payload: { resolution: "retry" } });
    expect((await t.rest(id)).state).toBe("completed");
    expect(send.calls).toHaveLength(2);
    expect(new Set(send.calls.map((c) => c.idempotencyKey)).size).toBe(1);
    expect(tell.calls.map((c) => c.input)).toEqual([{ heard: { sent: 2 } }]);
    expect((await t.kernel.actions(id)).filter((a) => a.step_id === "send")).toHaveLength(1);
  });

  it("[GAT-06] retry and lost again: the next doubt has a gate of its own", async () => {
    const send = counted("Note.Send", { effect: "write_draft", timeoutSec: 1 }, never);
    await using t = await createTestKernel({ capabilities: [story([send], [step("send", send)])] });
    const id = await lost(t);
    await decide(t, id, { decision: "approve", payload: { resolution: "retry" } });
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    await decide(t, id, { decision: "approve", payload: { resolution: "done", result: {} } });
    const done = await t.rest(id);
    expect(done.gates.map((g) => [g.gate_id, g.status, g.decision?.resolution])).toEqual([
      ["gate-send_doubt1", "approved", "retry"],
      ["gate-send_doubt2", "approved", "done"],
    ]);
    expect([done.state, send.calls.length]).toEqual(["completed", 2]);
  });

  it("[GAT-01] reject: the call counts as failed, and so does its step", async () => {
    const { capability, send, tell } = lostCall();
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const id = await lost(t);
    await decide(t, id, { decision: "reject", gate_id });
    const end = await t.rest(id);
    expect(end.state).toBe("failed");
    expect(end.steps.map((s) => s.state)).toEqual(["failed", "skipped"]);
    expect([send.calls.length, tell.calls.length]).toEqual([1, 0]);
    expect(await payloads(t, id, "ACTION_SETTLED")).toMatchObject([{ resolution: "failed" }]);
    expect((await t.kernel.actions(id)).map((a) => a.status)).toEqual(["failed"]);
  });

  it("is decided once: the same answer again, and a conflict for another one", async () => {
    const { capability, send } = lostCall();
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await lost(t);
    const request = { decision: "approve", gate_id, payload: { resolution: "retry" } } as const;
    const first = await decide(t, id, request);
    await t.rest(id);
    expect(await decide(t, id, request)).toEqual(first);
    expect((await refusalOf(decide(t, id, { decision: "reject", gate_id }))).code).toBe("T5_GATE_CONFLICT");
    expect(count(await t.types(id), "ACTION_SETTLED")).toBe(1);
    expect(send.calls).toHaveLength(2);
  });

  it("is answered by the call itself if that ends after all", async () => {
    let release: (value: object) => void = () => undefined;
    const send = counted("Note.Send", { effect: "write_draft", timeoutSec: 1 }, () => {
      return new Promise((resolve) => {
        release = resolve;
      });
    });
    await using t = await createTestKernel({ capabilities: [story([send], [step("send", send)])] });
    const id = await lost(t);
    release({ sent: "late" });
    await t.clock.settle();
    expect(await payloads(t, id, "ACTION_SUCCEEDED")).toMatchObject([{ late: true, result: { sent: "late" } }]);
    expect((await t.kernel.actions(id)).map((a) => a.status)).toEqual(["succeeded"]);
    await decide(t, id, { decision: "approve", payload: { resolution: "retry" } });
    expect((await t.rest(id)).state).toBe("completed");
    expect(send.calls).toHaveLength(1);
    expect(await steps(t, id, ["STEP_SUCCEEDED"])).toEqual(["STEP_SUCCEEDED:send"]);
  });
});

describe("a call that was gated and lost", () => {
  const board = { approvers: [{ id: "ann" }, { id: "bob" }], quorum: { approvals: 2 }, separation: true };

  async function lostBehind(gate: Partial<GateSpec>) {
    const send = counted("Note.Send", { effect: "write_draft", timeoutSec: 1 }, () =>
      send.calls.length === 1 ? never() : { sent: send.calls.length },
    );
    const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
    const known = await exportJWK(publicKey);
    const key = await exportJWK(privateKey);
    const t = await createTestKernel({
      capabilities: [story([send], [step("send", send, { gate: gate as GateSpec })])],
      approverKeys: () => known,
    });
    const id = await t.submit(intent);
    await t.rest(id);
    const sign = async (who: Person, at: string, resolution: "retry" | null = null) =>
      signApproval(await gateOf(t, id, at), { principal: who, decision: "approve", resolution, key });
    for (const who of [ann, bob])
      await approve(t, id, who, gate.signed ? { signature: await sign(who, "gate-send") } : {});
    await t.clock.advance(2_000);
    await t.rest(id);
    return { t, id, send, sign, [Symbol.asyncDispose]: () => t.kernel.stop({ drainMs: 0 }) };
  }

  it("[GAT-07] is told of by those who were asked before it, one of them, and by nobody else", async () => {
    await using fixture = await lostBehind(board);
    const { t, id, send } = fixture;
    const known = { resolution: "done", result: { sent: "forged" } } as const;
    for (const who of [requester, person("mallory"), person("mallory", "admin")])
      expect((await refusalOf(approve(t, id, who, known))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await gateOf(t, id, gate_id)).quorum).toBe(null);
    expect(await t.types(id)).not.toContain("ACTION_SETTLED");
    expect((await approve(t, id, bob, { resolution: "retry" })).status).toBe("resumed");
    expect((await t.rest(id)).state).toBe("completed");
    expect(send.calls).toHaveLength(2);
  });

  it("is told of with a signature where the gate before it asked for one", async () => {
    await using fixture = await lostBehind({ ...board, signed: true });
    const { t, id, sign } = fixture;
    expect((await refusalOf(approve(t, id, ann, { resolution: "retry" }))).code).toBe("T5_SIGNATURE_REQUIRED");
    const signature = await sign(ann, gate_id, "retry");
    const other = approve(t, id, ann, { resolution: "done", signature });
    expect((await refusalOf(other)).code).toBe("T5_SIGNATURE_INVALID");
    await approve(t, id, ann, { resolution: "retry", signature });
    expect((await t.rest(id)).state).toBe("completed");
    expect((await t.kernel.verify(id)).ok).toBe(true);
  });
});
