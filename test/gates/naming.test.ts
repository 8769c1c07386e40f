/** What a decision names: the gate, or the payload that a gate showed; and that it never reaches another one. */
import { describe, expect, it } from "vitest";
import { createCommandSignal, createDataSignal, digest, moduleRef } from "../../src/index.ts";
import {
  createTestKernel,
  createVirtualClock,
  memoryLedger,
  type TestKernel,
  testCaller,
} from "../../src/testing/index.ts";
import { ann, bob, person, say } from "./people.ts";
import {
  count,
  counted,
  decide,
  gatedSteps,
  gateOf,
  intent,
  publishing,
  refusalOf,
  step,
  steps,
  story,
} from "./story.ts";

/** Two gates, one after the other, that show the same payload. */
function sameTwice() {
  const send = counted("Note.Send", { effect: "write_draft" });
  const same = { gate: {}, params: { text: "same" } };
  const rows = [step("s1", send, same), step("s2", send, { ...same, depends_on: ["s1"] })];
  return { send, capability: story([send], rows), shown: digest({ text: "same" }) };
}

const byDigest = (payload_digest: string) => ({ decision: "approve", payload: { payload_digest } }) as const;

describe("a decision that names nothing", () => {
  it.each([1, 2])(
    "[INV-06] is refused to the tenant whose id is the same text, at the same instant (%s open)",
    async (n) => {
      const { capability } = gatedSteps(n);
      await using t = await createTestKernel({ capabilities: [capability] });
      const { workflow_id } = await t.run(intent);
      const own = t.kernel.decideGate(workflow_id, { ...testCaller, decision: "approve" }).catch(() => null);
      const foreign = t.kernel.decideGate(workflow_id, { ...testCaller, tenant_id: "1", decision: "approve" });
      expect((await refusalOf(foreign)).code).toBe("T4_WORKFLOW_NOT_FOUND");
      await own;
    },
  );
});

describe("a decision by the payload alone", () => {
  it("[GAT-01] is for the gate that shows it", async () => {
    const { capability, ids, sent } = gatedSteps(2);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const { payload_digest } = await gateOf(t, workflow_id, `gate-${ids[1]}`);
    expect((await decide(t, workflow_id, byDigest(payload_digest))).status).toBe("resumed");
    await t.rest(workflow_id);
    expect(sent()).toEqual(["s2"]);
  });

  it("[GAT-01] reaches the open gate that shows it before a closed one that was decided with it", async () => {
    const { capability, send, shown } = sameTwice();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const first = await decide(t, workflow_id, byDigest(shown));
    expect((await t.rest(workflow_id)).state).toBe("waiting_for_user");
    expect((await gateOf(t, workflow_id, "gate-s2")).status).toBe("open");
    expect((await decide(t, workflow_id, byDigest(shown))).status).toBe("resumed");
    expect((await t.rest(workflow_id)).state).toBe("completed");
    // A closed gate answers where no open one shows the payload.
    expect(await decide(t, workflow_id, byDigest(shown))).toEqual(first);
    expect((await refusalOf(decide(t, workflow_id, { ...byDigest(shown), decision: "reject" }))).code).toBe(
      "T5_GATE_CONFLICT",
    );
    expect(send.calls).toHaveLength(2);
  });

  it("[GAT-01] that two open gates show is refused, and says which they are", async () => {
    const send = counted("Note.Send", { effect: "write_draft" });
    const same = { gate: {}, params: { text: "same" } };
    await using t = await createTestKernel({
      capabilities: [story([send], [step("s1", send, same), step("s2", send, same)])],
    });
    const { workflow_id } = await t.run(intent);
    const refused = await refusalOf(decide(t, workflow_id, byDigest(digest({ text: "same" }))));
    expect(refused).toMatchObject({ code: "T5_GATE_AMBIGUOUS", detail: { gates: ["gate-s1", "gate-s2"] } });
    expect(send.calls).toEqual([]);
  });

  it("[GAT-01] that no gate has shown is refused", async () => {
    const { capability } = gatedSteps(2);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const elsewhere = () => refusalOf(decide(t, workflow_id, byDigest("elsewhere")));
    expect((await elsewhere()).code).toBe("T5_GATE_NOT_FOUND");
    await t.approve(workflow_id, "gate-s1");
    await t.rest(workflow_id);
    const { payload_digest } = await gateOf(t, workflow_id, "gate-s2");
    expect(await elsewhere()).toMatchObject({ code: "T5_GATE_CONFLICT", detail: { payload_digest } });
  });

  it("[GAT-01] settles the call in doubt if it has a resolution, not the gate before it", async () => {
    const lost = counted("Note.Lost", { effect: "final_write", timeoutSec: 1 }, () => new Promise(() => undefined));
    await using t = await createTestKernel({ capabilities: [story([lost], [step("s1", lost)])] });
    const { workflow_id } = await t.run(intent);
    const { payload_digest } = await gateOf(t, workflow_id, "gate-s1");
    await decide(t, workflow_id, byDigest(payload_digest));
    expect((await t.rest(workflow_id)).state).toBe("waiting_for_user");
    expect((await gateOf(t, workflow_id, "gate-s1_doubt1")).payload_digest).toBe(payload_digest);
    expect((await decide(t, workflow_id, byDigest(payload_digest))).status).toBe("resumed");
    expect((await gateOf(t, workflow_id, "gate-s1_doubt1")).status).toBe("open");
    await decide(t, workflow_id, { decision: "approve", payload: { payload_digest, resolution: "done" } });
    expect((await t.rest(workflow_id)).state).toBe("completed");
  });
});

describe("a decision with an idempotency key", () => {
  const keyed = (payload_digest: string, idempotency_key: string) => ({ ...byDigest(payload_digest), idempotency_key });

  it("[GAT-03] gets its recorded answer again, from every process, and never reaches the next gate", async () => {
    const { capability, send, shown } = sameTwice();
    const ledger = memoryLedger();
    const first = await createTestKernel({ capabilities: [capability], ledger });
    const { workflow_id } = await first.run(intent);
    const answer = await decide(first, workflow_id, keyed(shown, "k1"));
    await first.rest(workflow_id);
    expect(await decide(first, workflow_id, keyed(shown, "k1"))).toEqual(answer);
    await first.kernel.stop();
    await using t = await createTestKernel({ capabilities: [capability], ledger, seed: 2 });
    expect(await decide(t, workflow_id, keyed(shown, "k1"))).toEqual(answer);
    expect((await gateOf(t, workflow_id, "gate-s2")).status).toBe("open");
    expect((await decide(t, workflow_id, keyed(shown, "k2"))).status).toBe("resumed");
    await t.rest(workflow_id);
    expect(send.calls).toHaveLength(2);
    expect(await t.kernel.replay(workflow_id)).toMatchObject({ identical: true });
  });

  it("[GAT-03] is refused where the key was used for another decision or at another gate", async () => {
    const { capability, shown } = sameTwice();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await decide(t, workflow_id, keyed(shown, "k1"));
    await t.rest(workflow_id);
    const codeFor = async (other: object) =>
      (await refusalOf(decide(t, workflow_id, { ...keyed(shown, "k1"), ...other }))).code;
    expect(await codeFor({ decision: "reject" })).toBe("T5_GATE_CONFLICT");
    expect(await codeFor({ gate_id: "gate-s2" })).toBe("T4_IDEMPOTENCY_PAYLOAD_MISMATCH");
    expect((await gateOf(t, workflow_id, "gate-s2")).status).toBe("open");
  });

  it("[GAT-03] is its sender's: the same key of somebody else names another decision", async () => {
    const { capability, shown } = sameTwice();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await decide(t, workflow_id, keyed(shown, "k1"));
    await t.rest(workflow_id);
    const bobs = { tenant_id: 1, principal: bob, ...keyed(shown, "k1") };
    expect((await t.kernel.decideGate(workflow_id, bobs)).status).toBe("resumed");
    expect((await gateOf(t, workflow_id, "gate-s2")).decision?.principal).toEqual(bob);
  });

  it("[GAT-03] that was a vote is not given again once the vote was taken back", async () => {
    const { capability } = gatedSteps(1, { gate: { quorum: { approvals: 2 } } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const { payload_digest } = await gateOf(t, workflow_id, "gate-s1");
    const vote = () => decide(t, workflow_id, keyed(payload_digest, "k1"));
    const voted = await vote();
    expect(await vote()).toEqual(voted);
    await t.kernel.withdrawVote(workflow_id, { ...testCaller, gate_id: "gate-s1" });
    expect((await refusalOf(vote())).code).toBe("T5_GATE_CONFLICT");
    expect((await decide(t, workflow_id, keyed(payload_digest, "k2"))).status).toBe("voted");
    expect(await t.kernel.replay(workflow_id)).toMatchObject({ identical: true });
  });
});

describe("a decision that names nothing", () => {
  it("[GAT-01] is for the open gate though the clock was stepped back since the gate opened", async () => {
    const { capability, sent } = gatedSteps(1);
    const ledger = memoryLedger();
    const now = Date.UTC(2026, 0, 1);
    const before = await createTestKernel({ capabilities: [capability], ledger, clock: createVirtualClock(now) });
    const { workflow_id } = await before.run(intent);
    await before.kernel.stop();
    const clock = createVirtualClock(now - 1000);
    await using t = await createTestKernel({ capabilities: [capability], ledger, clock, seed: 2 });
    expect((await t.approve(workflow_id)).status).toBe("resumed");
    await t.rest(workflow_id);
    expect(sent()).toEqual(["s1"]);
  });

  it("[GAT-01] is refused as a Signal, whoever sends it, though one gate is open", async () => {
    const { capability, sent } = gatedSteps(1);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const from = moduleRef(0, "test", "ask");
    const request = { ...testCaller, decision: "approve", payload: { apply_targets: [] } };
    const asked = await t.kernel.ask(5, createDataSignal({ workflow_id, request }, "GateRequest", from, "t-1"));
    expect(asked.error?.code).toBe("T5_GATE_UNNAMED");
    const auth = (await t.kernel.workflow(workflow_id)) && {
      tenant_id: 1,
      principal_id: 1,
      principal_type: "user",
      role: "user",
      scopes: ["*"],
      data_policy: { allow_pii: true, allow_external_send: false },
    };
    const target = moduleRef(4, "ooda_loop", "act");
    const activation = { workflow_id, decision: request, auth };
    const told = await t.kernel.ask(4, createCommandSignal("activate", target, from, "t-2", activation));
    expect(told.error?.code).toBe("T5_GATE_UNNAMED");
    expect(sent()).toEqual([]);
  });

  it("[GAT-03] in process is for the one open gate, and reaches no other when another was faster", async () => {
    const { capability } = sameTwice();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const said = await Promise.allSettled([t.approve(workflow_id), t.approve(workflow_id), t.approve(workflow_id)]);
    // Who reads after the first was committed may find no gate open, and is told so.
    const refused = said.flatMap((one) => (one.status === "rejected" ? [one.reason.error?.code] : []));
    expect(refused.filter((code) => code !== "T5_GATE_NOT_FOUND")).toEqual([]);
    await t.rest(workflow_id);
    expect(count(await t.types(workflow_id), "USER_APPROVED")).toBe(1);
    expect((await gateOf(t, workflow_id, "gate-s2")).status).toBe("open");
  });
});

describe("a rejection by the payload alone", () => {
  it("[GAT-01] settles the call in doubt that is asked about, though the gate before it is decided", async () => {
    const lost = counted("Note.Lost", { effect: "final_write", timeoutSec: 1 }, () => new Promise(() => undefined));
    await using t = await createTestKernel({ capabilities: [story([lost], [step("s1", lost)])] });
    const { workflow_id } = await t.run(intent);
    const { payload_digest } = await gateOf(t, workflow_id, "gate-s1");
    await decide(t, workflow_id, byDigest(payload_digest));
    await t.rest(workflow_id);
    await decide(t, workflow_id, { decision: "reject", payload: { payload_digest } });
    expect((await gateOf(t, workflow_id, "gate-s1_doubt1")).status).toBe("rejected");
  });
});

describe("a gate that was revised", () => {
  async function revised(): Promise<{ t: TestKernel; id: string; before: string; now: string }> {
    const { capability } = publishing({ gate: { quorum: { approvals: 2 } } });
    const t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    const before = (await gateOf(t, id)).payload_digest;
    const edit = { text: "edited" };
    await say(t, id, ann, "approve", { payload_digest: before, edit });
    const now = (await gateOf(t, id)).payload_digest;
    expect(now).not.toBe(before);
    return { t, id, before, now };
  }

  it.each(["the gate alone", "nothing", "the payload before", "gate and payload before"])(
    "[GAT-04] takes no vote that names %s, and says what it shows now",
    async (names) => {
      const { t, id, before, now } = await revised();
      await using _ = t;
      const named = names.includes("gate") ? { gate_id: "gate-publish" } : {};
      const payload = names.includes("before") ? { payload: { payload_digest: before } } : {};
      const vote = { tenant_id: 1, principal: bob, decision: "approve", ...named, ...payload } as const;
      expect(await refusalOf(t.kernel.decideGate(id, vote))).toMatchObject({
        code: "T5_GATE_CONFLICT",
        detail: { gate_id: "gate-publish", payload_digest: now },
      });
      expect(await steps(t, id, ["GATE_VOTED"])).toHaveLength(1);
      expect((await say(t, id, bob, "approve", { payload_digest: now })).status).toBe("resumed");
    },
  );

  it("[GAT-03] answers the repeated edit that revised it, also by the payload that it was made on", async () => {
    const { t, id, before } = await revised();
    await using _ = t;
    const { sequence } = await t.kernel.workflow(id);
    const again = { payload_digest: before, edit: { text: "edited" } };
    expect(await say(t, id, ann, "approve", again)).toMatchObject({ status: "voted", tally: { approvals: 1 } });
    expect((await refusalOf(say(t, id, person("cat"), "approve", again))).code).toBe("T5_GATE_CONFLICT");
    expect((await t.kernel.workflow(id)).sequence).toBe(sequence);
  });
});
