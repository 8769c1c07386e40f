/** What may be added to a gate has a limit, and nobody's talk keeps a vote from being counted. */
import { exportJWK, generateKeyPair } from "jose";
import { describe, expect, it } from "vitest";
import { digest, signApproval } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { ann, approve, bob, cat, dan, gated, lend, person, reject, waiting, withdraw } from "./people.ts";
import { counted, gateOf, held, intent, refusalOf, step, story } from "./story.ts";

const limits = { maxGateEntries: 2 };
const gate_id = "gate-s1";

describe("a gate that is full", () => {
  it("takes no more advice, and still counts", async () => {
    const { capability } = gated({ advisors: ["support"], quorum: { approvals: 3 } });
    await using t = await createTestKernel({ capabilities: [capability], limits });
    const id = await waiting(t);
    for (const who of ["a", "b"]) await reject(t, id, person(who, "support"));
    expect((await refusalOf(reject(t, id, person("c", "support")))).code).toBe("T5_GATE_FULL");
    for (const who of [ann, bob, cat]) await approve(t, id, who);
    expect((await t.rest(id)).state).toBe("completed");
  });

  it("takes no more loans", async () => {
    const { capability } = gated({ quorum: { approvals: 3 } });
    await using t = await createTestKernel({ capabilities: [capability], limits });
    const id = await waiting(t);
    const until = new Date(t.clock.now() + 60_000).toISOString();
    for (const from of [ann, bob]) await lend(t, id, [from, person("x")], until);
    expect((await refusalOf(lend(t, id, [cat, dan], until))).code).toBe("T5_GATE_FULL");
    expect((await gateOf(t, id, gate_id)).delegations).toHaveLength(2);
  });

  it("keeps no more early decisions", async () => {
    const end = held<object>();
    const first = counted("Note.First", {}, () => end.promise);
    const send = counted("Note.Send");
    const rows = [step("first", first), step("s1", send, { gate: {}, depends_on: ["first"] })];
    await using t = await createTestKernel({ capabilities: [story([first, send], rows)], limits });
    const id = await t.submit(intent);
    await t.clock.settle();
    const ahead = (principal: typeof ann) =>
      t.kernel.decideGate(id, {
        tenant_id: 1,
        principal,
        gate_id,
        decision: "approve",
        payload: { payload_digest: digest({}) },
      });
    for (const who of [ann, bob]) await ahead(who);
    expect((await refusalOf(ahead(cat))).code).toBe("T5_GATE_FULL");
    expect((await ahead(ann)).status).toBe("kept");
  });

  it("lets no more signed votes be taken back, and what stands is counted", async () => {
    const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
    const [known, key] = [await exportJWK(publicKey), await exportJWK(privateKey)];
    const { capability } = gated({ signed: true, quorum: { approvals: 2 } });
    await using t = await createTestKernel({ capabilities: [capability], approverKeys: () => known, limits });
    const id = await waiting(t);
    const vote = async (who: typeof ann, nonce: string) => {
      const gate = await gateOf(t, id, gate_id);
      return approve(t, id, who, {
        signature: await signApproval(gate, { principal: who, decision: "approve", key, nonce }),
      });
    };
    await vote(ann, "1");
    await withdraw(t, id, ann);
    await vote(ann, "2");
    expect((await refusalOf(withdraw(t, id, ann))).code).toBe("T5_GATE_FULL");
    expect((await vote(bob, "1")).status).toBe("resumed");
  });
});
