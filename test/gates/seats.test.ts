/** Whose seat is whose: nobody takes two, and nobody takes one that is not theirs any more. */
import { describe, expect, it } from "vitest";
import { definePolicy } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { ann, approve, bob, cat, gated, lend, person, reject, waiting, withdraw } from "./people.ts";
import { gateOf, held, refusalOf, steps } from "./story.ts";

const minute = 60_000;
const decisions = ["GATE_VOTED", "USER_APPROVED"];
const board = { approvers: [{ id: "ann" }, { id: "bob" }], quorum: { approvals: 2 } } as const;

describe("an approver named without a type", () => {
  const agentAnn = { ...ann, type: "agent" };

  it("[GAT-07] has one seat, whichever types go by that name", async () => {
    const { capability, sent } = gated(board as never);
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await approve(t, id, ann);
    for (const decide of [approve, reject])
      expect(await refusalOf(decide(t, id, agentAnn))).toMatchObject({
        code: "T5_GATE_CONFLICT",
        message: expect.stringContaining("by user ann"),
      });
    expect((await refusalOf(lend(t, id, [agentAnn, cat], new Date(t.clock.now() + minute).toISOString()))).code).toBe(
      "T5_DELEGATION_REFUSED",
    );
    expect(await steps(t, id, decisions)).toEqual(["GATE_VOTED:s1"]);
    expect(sent()).toEqual([]);
  });

  it("[GAT-07] lends one seat: two loans of it are one vote", async () => {
    const { capability } = gated(board as never);
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    const until = new Date(t.clock.now() + minute).toISOString();
    await lend(t, id, [ann, cat], until);
    await lend(t, id, [agentAnn, person("dan")], until);
    await approve(t, id, cat);
    expect((await refusalOf(approve(t, id, person("dan")))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await withdraw(t, id, agentAnn)).tally?.approvals).toBe(0);
    expect((await approve(t, id, bob)).tally?.approvals).toBe(1);
  });
});

describe("a lent seat", () => {
  it("is not counted in an adviser's hands", async () => {
    const { capability, sent } = gated({ ...board, quorum: { approvals: 1 }, advisors: ["support"] } as never);
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    const coach = person("coach", "support");
    await lend(t, id, [ann, coach], new Date(t.clock.now() + minute).toISOString());
    expect(await approve(t, id, coach)).toMatchObject({ status: "voted", tally: { approvals: 0 } });
    expect((await gateOf(t, id, "gate-s1")).votes).toMatchObject([{ advisory: true, on_behalf_of: null }]);
    expect(sent()).toEqual([]);
    expect((await approve(t, id, ann)).status).toBe("resumed");
  });

  it("is gone once the gate asks others than its owner", async () => {
    const escalation = [{ after_ms: minute, role: "admin", replace: true }];
    const { capability, sent } = gated({ ...board, quorum: { approvals: 1 }, escalation } as never);
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await lend(t, id, [ann, cat], new Date(t.clock.now() + 60 * minute).toISOString());
    await t.clock.advance(minute);
    expect((await gateOf(t, id, "gate-s1")).roles).toEqual(["admin"]);
    expect((await refusalOf(approve(t, id, ann))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await refusalOf(approve(t, id, cat))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect(sent()).toEqual([]);
    expect((await approve(t, id, person("boss", "admin"))).status).toBe("resumed");
  });
});

describe("whoever was asked while they were judged", () => {
  it("[GAT-07] decides nothing once the gate asks others", async () => {
    const answer = held<null>();
    const rule = definePolicy({ name: "slow", stages: ["gate"], evaluate: () => answer.promise });
    const escalation = [{ after_ms: 1_000, role: "admin" }];
    const { capability, sent } = gated({ approvers: [{ id: "ann" }], escalation } as never);
    await using t = await createTestKernel({ capabilities: [capability], policies: [rule] });
    const id = await waiting(t);
    const refused = refusalOf(approve(t, id, ann));
    await t.clock.advance(1_000);
    expect((await gateOf(t, id, "gate-s1")).added_roles).toEqual(["admin"]);
    answer.release(null);
    expect((await refused).code).toBe("T5_GATE_CONFLICT");
    await t.clock.settle();
    expect(sent()).toEqual([]);
  });
});
