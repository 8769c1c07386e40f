/** A vote can be taken back until the gate closes. */
import { describe, expect, it } from "vitest";
import { createTestKernel } from "../../src/testing/index.ts";
import { ann, approve, bob, gated, lend, person, reject, requester, waiting, withdraw } from "./people.ts";
import { gateOf, intent, payloads, refusalOf, steps } from "./story.ts";

const twoVotes = { quorum: { approvals: 2, rejections: 2 } };

describe("withdrawing a vote", () => {
  it("takes it out of the count, so that the same person may vote otherwise", async () => {
    const { capability, sent } = gated(twoVotes);
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await approve(t, id, ann);
    expect(await withdraw(t, id, ann)).toMatchObject({ workflow_id: id, status: "withdrawn" });
    expect((await gateOf(t, id, "gate-s1")).votes).toEqual([]);
    expect(await payloads(t, id, "GATE_VOTE_WITHDRAWN")).toEqual([
      { gate_id: "gate-s1", principal: { type: "user", id: "ann" } },
    ]);
    expect(await approve(t, id, bob)).toMatchObject({ status: "voted", tally: { approvals: 1 } });
    expect((await reject(t, id, ann)).status).toBe("voted");
    expect(sent()).toEqual([]);
  });

  it("[GAT-07] is for whose vote it is, on a gate that is open, of the tenant's own workflow", async () => {
    const { capability } = gated(twoVotes);
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await approve(t, id, ann);
    const before = (await t.kernel.workflow(id)).sequence;
    expect((await refusalOf(withdraw(t, id, bob))).code).toBe("T5_GATE_CONFLICT");
    const foreign = t.kernel.withdrawVote(id, { tenant_id: 2, principal: ann });
    expect((await refusalOf(foreign)).code).toBe("T4_WORKFLOW_NOT_FOUND");
    const unknown = t.kernel.withdrawVote(id, { tenant_id: 1, principal: ann, gate_id: "gate-x" });
    expect((await refusalOf(unknown)).code).toBe("T5_GATE_NOT_FOUND");
    expect((await refusalOf(withdraw(t, id, person("ann", "nobody")))).code).toBe("T5_AUTHN_FAILED");
    const shapeless = t.kernel.withdrawVote(id, { principal: ann } as never);
    expect((await refusalOf(shapeless)).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect((await t.kernel.workflow(id)).sequence).toBe(before);
  });

  it("comes too late once the gate has closed", async () => {
    const { capability } = gated(twoVotes);
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await approve(t, id, ann);
    await approve(t, id, bob);
    await t.rest(id);
    const named = t.kernel.withdrawVote(id, { tenant_id: 1, principal: ann, gate_id: "gate-s1" });
    expect((await refusalOf(named)).code).toBe("T5_GATE_CONFLICT");
    expect(await steps(t, id, ["GATE_VOTE_WITHDRAWN"])).toEqual([]);
  });

  it("is also for whose seat it was given on", async () => {
    const { capability } = gated({ ...twoVotes, approvers: [{ id: "ann" }, { id: "bob" }, { id: 1 }] });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await lend(t, id, [ann, person("cat")], new Date(t.clock.now() + 60_000).toISOString());
    await approve(t, id, person("cat"));
    expect((await withdraw(t, id, ann)).status).toBe("withdrawn");
    expect((await approve(t, id, ann)).status).toBe("voted");
    expect((await approve(t, id, requester)).status).toBe("resumed");
  });

  it("and the completing vote in a race leave a decided gate that its votes carry, or an open one", async () => {
    const { capability, sent } = gated(twoVotes);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await approve(t, workflow_id, ann);
    await Promise.allSettled([withdraw(t, workflow_id, ann), approve(t, workflow_id, bob)]);
    await t.clock.settle();
    const gate = await gateOf(t, workflow_id, "gate-s1");
    expect(gate.status === "approved").toBe(gate.votes.length === 2);
    expect(sent()).toEqual(gate.status === "approved" ? ["s1"] : []);
  });
});
