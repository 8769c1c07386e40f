/** A quorum of parts: so many approvals of each role, on one gate. */
import { describe, expect, it } from "vitest";
import { GateSpec } from "../../src/index.ts";
import { describeGate } from "../../src/protocol/describe-gate.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { approve, gated, lend, type Person, person, reject, waiting, withdraw } from "./people.ts";
import { gateOf, payloads, refusalOf } from "./story.ts";

const scopes = ["intent:submit", "workflow:execute", "outcome:read", "gate:approve"];
const roles = Object.fromEntries(["user", "risk", "finance", "boss", "sales"].map((name) => [name, { scopes }]));
const [rita, rob, fay, fred, bo, sam] = [
  ...["rita", "rob"].map((id) => person(id, "risk")),
  ...["fay", "fred"].map((id) => person(id, "finance")),
  person("bo", "boss"),
  person("sam", "sales"),
] as [Person, Person, Person, Person, Person, Person];
const of = [
  { role: "risk", approvals: 1 },
  { role: "finance", approvals: 2 },
];

const open = async (spec: object = {}) => {
  const { capability, sent } = gated({ quorum: { of }, ...spec });
  const t = await createTestKernel({ capabilities: [capability], roles });
  const id = await waiting(t);
  const stop = () => t.kernel.stop({ drainMs: 0 });
  return { t, sent, id, gate: () => gateOf(t, id, "gate-s1"), [Symbol.asyncDispose]: stop };
};
const mine = async ({ kernel }: TestKernel, principal: Person) =>
  (await kernel.gates({ mine: true }, { tenant_id: testCaller.tenant_id, principal })).length;
const seatOf = async ({ kernel }: TestKernel, id: string, principal: Person) =>
  (await kernel.gate(id, "gate-s1", { tenant_id: testCaller.tenant_id, principal })).seat;

describe("a quorum of parts", () => {
  it("[GAT-02] closes with the last part; each vote records its part, and one beyond a part adds nothing", async () => {
    await using fixture = await open();
    const { t, id, sent } = fixture;
    expect((await approve(t, id, fay)).tally).toEqual({
      ...{ approvals: 1, rejections: 0, needed: { approvals: 3, rejections: 1, of } },
      missing: [
        { role: "risk", approvals: 1 },
        { role: "finance", approvals: 1 },
      ],
    });
    await approve(t, id, rita);
    expect([await mine(t, rob), await mine(t, fred), await mine(t, fay)]).toEqual([0, 1, 0]);
    expect(await seatOf(t, id, rob)).toMatchObject({ may: true, part: "risk", spare: true });
    const surplus = await approve(t, id, rob);
    expect([surplus.status, surplus.tally?.approvals, sent()]).toEqual(["voted", 2, []]);
    const facts = describeGate(await fixture.gate()).flatMap((section) => section.facts);
    expect(facts).toContainEqual(expect.objectContaining({ name: "missing", text: "1 of finance" }));
    expect((await approve(t, id, fred)).status).toBe("resumed");
    expect([(await t.rest(id)).state, sent()]).toEqual(["completed", ["s1"]]);
    expect((await payloads(t, id, "GATE_VOTED")).map(({ part }) => part)).toEqual([
      "finance",
      "risk",
      "risk",
      "finance",
    ]);
    const [decided] = await payloads(t, id, "USER_APPROVED");
    expect(decided?.carried_by?.map(({ part }) => part)).toEqual(["finance", "risk", "risk", "finance"]);
  });

  it("[GAT-07] refuses a role that is no part, and one rejection of any part ends it", async () => {
    await using fixture = await open();
    const { t, id, sent } = fixture;
    const refused = await refusalOf(approve(t, id, sam));
    expect([refused.code, refused.message]).toEqual([
      "T5_AUTHZ_FORBIDDEN",
      "gate-s1: it is for risk or finance, not for sales",
    ]);
    await approve(t, id, rita);
    expect((await reject(t, id, rob)).status).toBe("rejected");
    expect([(await t.rest(id)).state, sent()]).toEqual(["cancelled", []]);
  });

  it("[GAT-03] counts a lent seat for its owner's part, and a withdrawn vote for none", async () => {
    await using fixture = await open();
    const { t, id } = fixture;
    await lend(t, id, [rita, sam], new Date(t.clock.now() + 60_000).toISOString());
    await approve(t, id, sam);
    expect((await fixture.gate()).votes).toMatchObject([{ role: "sales", part: "risk", on_behalf_of: { id: "rita" } }]);
    await approve(t, id, fay);
    await withdraw(t, id, sam);
    await approve(t, id, fred);
    expect((await fixture.gate()).status).toBe("open");
    expect((await approve(t, id, rob)).status).toBe("resumed");
  });

  it("drops the votes at an edit, whose author approves for their part", async () => {
    await using fixture = await open();
    const { t, id } = fixture;
    await approve(t, id, rita);
    const edited = await approve(t, id, fay, { edit: { n: 2 } });
    expect(edited.tally).toMatchObject({ approvals: 1, missing: [{ role: "risk" }, { role: "finance" }] });
  });

  it("lets a role that an escalation asks fill any part", async () => {
    await using fixture = await open({ escalation: [{ after_ms: 1_000, role: "boss" }] });
    const { t, id } = fixture;
    await t.clock.advance(1_000);
    await approve(t, id, bo);
    await approve(t, id, fay);
    expect((await approve(t, id, fred)).status).toBe("resumed");
  });

  it.each([
    [{ quorum: {} }, "it says either approvals, or the approvals of each role as of"],
    [{ quorum: { approvals: 1, of } }, "it says either approvals, or the approvals of each role as of"],
    [{ quorum: { of: [...of, ...of] } }, "a role is named twice in of"],
    [{ quorum: { of }, roles: ["risk"] }, "the quorum names the roles that decide; leave roles out"],
    [{ quorum: { of }, advisors: ["risk"] }, "risk cannot both decide and advise"],
    [{ quorum: { of }, approvers: [{ id: "rita" }] }, "3 approvals of 1 approvers can never be had"],
  ])("is refused as %j", (spec, why) => {
    expect(GateSpec.safeParse(spec).error?.issues.map(({ message }) => message)).toContain(why);
  });
});
