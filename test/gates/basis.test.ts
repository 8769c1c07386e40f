/**
 * What a preview rests on is part of what is approved: changed meanwhile, the gate is asked again and nothing is
 * called.
 */
import { describe, expect, it } from "vitest";
import type { GatePreview } from "../../src/contract/operator.ts";
import { type LedgerStore, signingInput } from "../../src/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger, type TestKernel } from "../../src/testing/index.ts";
import { ann, approve, bob, reject } from "./people.ts";
import { counted, decide, eventsOf, gateOf, held, intent, payloads, refusalOf, step, steps, story } from "./story.ts";

const hour = 3_600_000;
const gateId = "gate-publish";

/** A board that notes are published to; its preview rests on what hangs there. */
function board(gate: object = {}) {
  const world = { hangs: "nothing", asked: 0 };
  const preview = ({ input }: { readonly input: unknown }): GatePreview => {
    world.asked += 1;
    const { to } = input as { readonly to: string };
    const basis = world.hangs === "" ? [] : [{ name: to, digest: `${to}:${world.hangs}` }];
    return { preview: "a note", diff: `- ${world.hangs}`, basis };
  };
  const publish = counted("Note.Publish", { effect: "final_write", preview });
  const busy = held<object>();
  const slow = counted("Note.Slow", { timeoutSec: 864_000 }, () => busy.promise);
  const plan = [step("publish", publish, { params: { text: "a", to: "board" }, gate })];
  const beside = [...plan, step("slow", slow)];
  return {
    world,
    publish,
    busy,
    capability: story([publish], plan),
    /** With a step that holds the only place while it runs. */
    crowded: story([publish, slow], beside),
  };
}

const basisOf = async (t: TestKernel, id: string): Promise<string | undefined> =>
  (await gateOf(t, id, gateId)).basis?.[0]?.digest;

/** Approves what the gate shows now. */
async function approveShown(t: TestKernel, id: string) {
  const { payload_digest, basis_digest } = await gateOf(t, id, gateId);
  const payload = { payload_digest, ...(basis_digest !== undefined && { basis_digest }) };
  return decide(t, id, { gate_id: gateId, decision: "approve", payload });
}

/** Stops without closing the ledger, which the next kernel goes on with. */
const kept = (ledger: LedgerStore): LedgerStore =>
  Object.assign(Object.create(ledger), { close: async () => undefined });

describe("what a preview rests on", () => {
  it("[GAT-05] is shown at the gate and approved with it; unchanged, the call is made knowing it", async () => {
    const { capability, publish } = board();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    const { basis, basis_digest } = await gateOf(t, id, gateId);
    expect(basis).toEqual([{ name: "board", digest: "board:nothing" }]);
    await approveShown(t, id);
    expect((await t.rest(id)).state).toBe("completed");
    expect(await payloads(t, id, "USER_APPROVED")).toMatchObject([{ basis_digest }]);
    expect(publish.calls.map(({ context }) => context.basis)).toEqual([basis]);
  });

  it("[GAT-05] changed before a vote, the vote is refused and the gate is opened again on the new one", async () => {
    const { capability, publish, world } = board();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    world.hangs = "a poster";
    expect((await refusalOf(approveShown(t, id))).code).toBe("T5_GATE_CONFLICT");
    expect(await payloads(t, id, "GATE_REVISED")).toMatchObject([{ cause: "basis", principal: null }]);
    const gate = await gateOf(t, id, gateId);
    expect(gate).toMatchObject({ status: "open", diff: "- a poster", basis: [{ digest: "board:a poster" }] });
    expect(publish.calls).toEqual([]);
    await approveShown(t, id);
    expect((await t.rest(id)).state).toBe("completed");
    expect(publish.calls).toHaveLength(1);
  });

  it("[GAT-05] gone before a vote, the gate rests on nothing: that has a digest too, and can be approved", async () => {
    const { capability, publish, world } = board();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    world.hangs = "";
    expect((await refusalOf(approveShown(t, id))).code).toBe("T5_GATE_CONFLICT");
    const { basis, payload_digest } = await gateOf(t, id, gateId);
    expect(basis).toEqual([]);
    const unnamed = decide(t, id, { gate_id: gateId, decision: "approve", payload: { payload_digest } });
    expect((await refusalOf(unnamed)).code).toBe("T5_GATE_CONFLICT");
    await approveShown(t, id);
    expect((await t.rest(id)).state).toBe("completed");
    expect(publish.calls.map(({ context }) => context.basis)).toEqual([[]]);
    expect((await t.kernel.replay(id)).identical).toBe(true);
  });

  it("[GAT-03] an approval of the earlier basis, sent again, does not approve the present one", async () => {
    const { capability, publish, world } = board();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    const seen = await gateOf(t, id, gateId);
    world.hangs = "a poster";
    await refusalOf(approveShown(t, id));
    const { payload_digest, basis_digest } = seen;
    const old = [{}, { payload_digest }, { payload_digest, basis_digest: basis_digest as string }];
    for (const payload of old) {
      const refused = await refusalOf(decide(t, id, { gate_id: gateId, decision: "approve", payload }));
      expect(refused).toMatchObject({
        code: "T5_GATE_CONFLICT",
        detail: { basis_digest: (await gateOf(t, id, gateId)).basis_digest },
      });
    }
    expect(publish.calls).toEqual([]);
    expect((await reject(t, id, ann)).status).toBe("rejected");
    expect((await t.rest(id)).state).toBe("cancelled");
  });

  it("[GAT-05] changed between the approval and the call, the gate is asked again and nothing is called", async () => {
    const { crowded, publish, world, busy } = board();
    await using t = await createTestKernel({ capabilities: [crowded], limits: { maxConcurrentSteps: 1 } });
    const id = await t.submit(intent);
    await t.clock.settle();
    await approveShown(t, id);
    world.hangs = "a poster";
    busy.release({});
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    expect(await steps(t, id, ["USER_APPROVED", "GATE_REVISED"])).toEqual([
      "USER_APPROVED:publish",
      "GATE_REVISED:publish",
    ]);
    expect(await gateOf(t, id, gateId)).toMatchObject({ status: "open", decision: null, diff: "- a poster" });
    expect(await t.kernel.gates()).toMatchObject([{ gate_id: gateId, basis: [{ digest: "board:a poster" }] }]);
    expect(publish.calls).toEqual([]);
    await approveShown(t, id);
    expect((await t.rest(id)).state).toBe("completed");
    expect(publish.calls).toHaveLength(1);
  });

  it("[GAT-05] changed while no process ran, after an approval: the next one asks again before it calls", async () => {
    const { crowded, publish, world } = board();
    const ledger = memoryLedger();
    const options = { capabilities: [crowded], limits: { maxConcurrentSteps: 1 } };
    const first = await createTestKernel({ ...options, ledger: kept(ledger) });
    const id = await first.submit(intent);
    await first.clock.settle();
    await approveShown(first, id);
    await first.kernel.stop({ drainMs: 0 });
    world.hangs = "a poster";
    const later = createVirtualClock(Date.UTC(2026, 0, 2));
    await using t = await createTestKernel({ ...options, ledger, seed: 2, clock: later });
    await t.clock.settle();
    expect([await basisOf(t, id), publish.calls.length]).toEqual(["board:a poster", 0]);
    expect((await gateOf(t, id, gateId)).status).toBe("open");
  });

  it("[GAT-05] changed when an expiry would allow the gate, it is asked again for the full time", async () => {
    const { capability, publish, world } = board({ expiry: { after_ms: hour, action: "allow" } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    world.hangs = "a poster";
    await t.clock.advance(hour);
    const gate = await gateOf(t, id, gateId);
    expect([gate.status, Date.parse(gate.due_at ?? "") - Date.parse(gate.opened_at)]).toEqual(["open", hour]);
    expect(publish.calls).toEqual([]);
    await t.clock.advance(hour);
    expect((await t.rest(id)).state).toBe("completed");
    expect(publish.calls).toHaveLength(1);
  });

  it("[GAT-05] changed between two votes of a quorum, the first is void", async () => {
    const { capability, publish, world } = board({ quorum: { approvals: 2 } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    await approve(t, id, ann);
    world.hangs = "a poster";
    expect((await refusalOf(approve(t, id, bob))).code).toBe("T5_GATE_CONFLICT");
    expect((await gateOf(t, id, gateId)).votes).toEqual([]);
    const basis_digest = (await gateOf(t, id, gateId)).basis_digest as string;
    expect((await approve(t, id, bob, { basis_digest })).status).toBe("voted");
    expect((await approve(t, id, ann, { basis_digest })).status).toBe("resumed");
    expect((await t.rest(id)).state).toBe("completed");
    expect(publish.calls).toHaveLength(1);
  });

  it("[GAT-05] is another after an edit: what nobody was shown is not approved by who made it", async () => {
    const { capability, publish } = board();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    const edit = { to: "street" };
    expect((await decide(t, id, { decision: "approve", payload: { edit } })).status).toBe("revised");
    expect([await basisOf(t, id), publish.calls.length]).toEqual(["street:nothing", 0]);
    await approveShown(t, id);
    expect((await t.rest(id)).state).toBe("completed");
    expect(publish.calls.map(({ input }) => input)).toEqual([{ text: "a", to: "street" }]);
  });

  it("[GAT-05] is the same after an edit of what it does not concern: the edit is approved with its word", async () => {
    const { capability, publish } = board();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    expect((await decide(t, id, { decision: "approve", payload: { edit: { text: "b" } } })).status).toBe("resumed");
    expect((await t.rest(id)).state).toBe("completed");
    expect(publish.calls.map(({ input }) => input)).toEqual([{ text: "b", to: "board" }]);
  });

  it("[GAT-05] is not asked again of a call that has begun: its own work may be what changed it", async () => {
    const { world } = board();
    const preview = (): GatePreview => ({ preview: "", basis: [{ name: "board", digest: world.hangs }] });
    const write = counted("Note.Write", { effect: "final_write", idempotent: true, retry: "STANDARD", preview }, () => {
      if (world.hangs !== "nothing") return { done: true };
      world.hangs = "the note";
      throw Object.assign(new Error("the line broke"), { name: "TimeoutError" });
    });
    const capability = story([write], [step("publish", write)]);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    await t.approve(id);
    expect((await t.rest(id)).state).toBe("completed");
    expect(await steps(t, id, ["GATE_REVISED"])).toEqual([]);
    expect(write.calls).toHaveLength(2);
  });

  it("[GAT-05] that cannot be told any more lets nothing through", async () => {
    const { capability, publish, world } = board();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    const shown = await gateOf(t, id, gateId);
    Object.defineProperty(world, "hangs", {
      get() {
        throw new Error("too dark to see");
      },
    });
    expect((await refusalOf(approveShown(t, id))).message).toContain("too dark to see");
    expect([await gateOf(t, id, gateId), publish.calls.length]).toEqual([shown, 0]);
  });

  it("[GAT-07] is not known to who decides ahead: at a gate that rests on something such a word is void", async () => {
    const { capability, publish } = board();
    const { promise, release } = held<object>();
    const look = counted("Note.Look", {}, () => promise);
    const plan = [
      step("look", look),
      step("publish", publish, { params: { text: "a", to: "board" }, gate: {}, depends_on: ["look"] }),
    ];
    await using trial = await createTestKernel({ capabilities: [capability] });
    const { payload_digest } = await gateOf(trial, (await trial.run(intent)).workflow_id, gateId);
    await using t = await createTestKernel({ capabilities: [story([look, publish], plan)] });
    const id = await t.submit(intent);
    await t.clock.settle();
    const ahead = await decide(t, id, { gate_id: gateId, decision: "approve", payload: { payload_digest } });
    expect(ahead.status).toBe("kept");
    release({});
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    expect(publish.calls).toEqual([]);
  });
});

it("[GAT-05] a signature names the basis of the gate; without a basis its claims are as before", async () => {
  const { capability } = board();
  await using t = await createTestKernel({ capabilities: [capability] });
  const { workflow_id: id } = await t.run(intent);
  const gate = await gateOf(t, id, gateId);
  const said = { principal: { type: "user", id: 1 }, decision: "approve" } as const;
  expect(JSON.parse(signingInput(gate, said))).toMatchObject({ basis_digest: gate.basis_digest });
  const { basis_digest: _, ...bare } = gate;
  expect(JSON.parse(signingInput(bare, said))).not.toHaveProperty("basis_digest");
});

it("[GAT-05] a preview that rests on nothing is shown once, when its gate opens", async () => {
  let asked = 0;
  const preview = (): GatePreview => {
    asked += 1;
    return { preview: "as it is" };
  };
  const write = counted("Note.Write", { effect: "final_write", preview });
  await using t = await createTestKernel({ capabilities: [story([write], [step("publish", write)])] });
  const { workflow_id: id } = await t.run(intent);
  await t.approve(id);
  await t.rest(id);
  expect([asked, write.calls.length]).toEqual([1, 1]);
  expect((await eventsOf(t, id)).some(({ payload }) => JSON.stringify(payload).includes("basis"))).toBe(false);
});
