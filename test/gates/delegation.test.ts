/** Lending one's seat: to whom, until when, and what a lent seat's vote counts as. */
import { describe, expect, it } from "vitest";
import { definePolicy } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { ann, approve, bob, cat, dan, gated, lend, person, reject, requester, waiting } from "./people.ts";
import { gateOf, payloads, refusalOf } from "./story.ts";

const hour = 3_600_000;
const later = (t: TestKernel, ms = hour): string => new Date(t.clock.now() + ms).toISOString();
const board = { approvers: [{ id: "ann" }, { id: "bob" }], quorum: { approvals: 2 }, separation: true } as const;
const open = async (spec: object = board) => {
  const { capability, sent } = gated(spec);
  const t = await createTestKernel({ capabilities: [capability] });
  return {
    t,
    sent,
    id: await waiting(t),
    async [Symbol.asyncDispose]() {
      await t.kernel.stop({ drainMs: 0 });
    },
  };
};

describe("a lent seat", () => {
  it("votes as its owner's, once: by whoever it was lent to, or by the owner", async () => {
    await using fixture = await open();
    const { t, id, sent } = fixture;
    const expires_at = later(t);
    expect(await lend(t, id, [ann, cat], expires_at)).toMatchObject({ workflow_id: id, status: "delegated" });
    await lend(t, id, [ann, cat], expires_at);
    expect(await payloads(t, id, "GATE_DELEGATED")).toEqual([
      { gate_id: "gate-s1", from: { type: "user", id: "ann" }, to: { type: "user", id: "cat" }, expires_at },
    ]);
    expect(await approve(t, id, cat)).toMatchObject({ status: "voted", tally: { approvals: 1 } });
    for (const decide of [approve, reject])
      expect(await refusalOf(decide(t, id, ann))).toMatchObject({
        code: "T5_GATE_CONFLICT",
        message: expect.stringContaining("voted to approve by user cat"),
      });
    await approve(t, id, bob);
    await t.rest(id);
    expect(sent()).toEqual(["s1"]);
    expect((await payloads(t, id, "USER_APPROVED"))[0]?.carried_by).toEqual([
      { principal: { type: "user", id: "cat" }, on_behalf_of: { type: "user", id: "ann" } },
      { principal: { type: "user", id: "bob" }, on_behalf_of: null },
    ]);
  });

  it("gives nobody a second vote: who holds two lent seats takes one", async () => {
    await using fixture = await open();
    const { t, id } = fixture;
    for (const from of [ann, bob]) await lend(t, id, [from, cat], later(t));
    expect((await approve(t, id, cat)).tally?.approvals).toBe(1);
    expect((await approve(t, id, cat)).tally?.approvals).toBe(1);
    expect((await gateOf(t, id, "gate-s1")).status).toBe("open");
  });

  it("cannot vote once its owner has", async () => {
    await using fixture = await open();
    const { t, id } = fixture;
    await lend(t, id, [ann, cat], later(t));
    await approve(t, id, ann);
    expect((await refusalOf(approve(t, id, cat))).code).toBe("T5_AUTHZ_FORBIDDEN");
  });

  it("has run out at its instant, to the millisecond", async () => {
    await using fixture = await open();
    const { t, id } = fixture;
    await lend(t, id, [ann, cat], later(t));
    await lend(t, id, [bob, dan], later(t));
    await t.clock.advance(hour - 1);
    expect((await approve(t, id, cat)).status).toBe("voted");
    await t.clock.advance(1);
    expect((await refusalOf(approve(t, id, dan))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await gateOf(t, id, "gate-s1")).votes).toHaveLength(1);
  });

  it("is with the last it was lent to, and nobody before", async () => {
    await using fixture = await open();
    const { t, id } = fixture;
    await lend(t, id, [ann, cat], later(t));
    await lend(t, id, [ann, dan], later(t));
    expect((await refusalOf(approve(t, id, cat))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await approve(t, id, dan)).status).toBe("voted");
  });
});

describe("lending a seat is refused, and nothing is applied", () => {
  const refusals = [
    [
      "that ran out before",
      "T5_DELEGATION_REFUSED",
      (t: TestKernel, id: string) => lend(t, id, [ann, cat], later(t, 0)),
    ],
    ["to oneself", "T5_DELEGATION_REFUSED", (t: TestKernel, id: string) => lend(t, id, [ann, ann], later(t))],
    [
      "to who asked for the work",
      "T5_DELEGATION_REFUSED",
      (t: TestKernel, id: string) => lend(t, id, [ann, requester], later(t)),
    ],
    ["to who has one", "T5_DELEGATION_REFUSED", (t: TestKernel, id: string) => lend(t, id, [ann, bob], later(t))],
    ["by who has none", "T5_AUTHZ_FORBIDDEN", (t: TestKernel, id: string) => lend(t, id, [cat, dan], later(t))],
    [
      "by who asked for the work",
      "T5_AUTHZ_FORBIDDEN",
      (t: TestKernel, id: string) => lend(t, id, [requester, dan], later(t)),
    ],
    [
      "by an unknown role",
      "T5_AUTHN_FAILED",
      (t: TestKernel, id: string) => lend(t, id, [person("ann", "x"), dan], later(t)),
    ],
    [
      "until no instant",
      "T0_VALIDATION_SCHEMA_MISMATCH",
      (t: TestKernel, id: string) => lend(t, id, [ann, cat], "tomorrow"),
    ],
  ] as const;

  it.each(refusals)("[GAT-07] %s: %s", async (_title, code, ask) => {
    await using fixture = await open();
    const { t, id } = fixture;
    const before = (await t.kernel.workflow(id)).sequence;
    expect((await refusalOf(ask(t, id))).code).toBe(code);
    expect((await t.kernel.workflow(id)).sequence).toBe(before);
  });

  it("of a seat that has voted, and one that was lent itself", async () => {
    await using fixture = await open();
    const { t, id } = fixture;
    await lend(t, id, [ann, cat], later(t));
    expect((await refusalOf(lend(t, id, [cat, dan], later(t)))).code).toBe("T5_AUTHZ_FORBIDDEN");
    await approve(t, id, bob);
    expect((await refusalOf(lend(t, id, [bob, dan], later(t)))).code).toBe("T5_DELEGATION_REFUSED");
  });

  it("where the gate forbids it, and on a gate that is closed", async () => {
    await using fixture = await open({ delegation: false });
    const { t, id } = fixture;
    expect((await refusalOf(lend(t, id, [ann, cat], later(t)))).code).toBe("T5_DELEGATION_REFUSED");
    await approve(t, id, ann);
    await t.rest(id);
    const closed = { tenant_id: 1, principal: ann, gate_id: "gate-s1", to: { id: "cat" }, expires_at: later(t) };
    expect((await refusalOf(t.kernel.delegateGate(id, closed))).code).toBe("T5_GATE_CONFLICT");
  });

  it("where policy at stage gate says no", async () => {
    const rule = definePolicy({
      name: "nobody lends",
      stages: ["gate"],
      evaluate: ({ subject }) => (subject.tags.includes("delegate") ? { decision: "DENY", reason: "no" } : null),
    });
    const { capability } = gated({});
    await using t = await createTestKernel({ capabilities: [capability], policies: [rule] });
    const id = await waiting(t);
    expect((await refusalOf(lend(t, id, [ann, cat], later(t)))).code).toBe("T5_POLICY_DENIED");
    expect(await t.types(id)).not.toContain("GATE_DELEGATED");
    expect((await approve(t, id, ann)).status).toBe("resumed");
  });
});
