/**
 * What kind of principal decides: who a gate admits by type, and what is told of a decision by a service or an agent.
 */
import { describe, expect, it } from "vitest";
import { type EvidenceContent, sealEvidence } from "../../src/contract/evidence.ts";
import { type GateSpec, verifyEvidence } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { bob, gated, type Person, waiting } from "./people.ts";
import { gateOf, intent, refusalOf } from "./story.ts";

const tenant_id = 1;
const service: Person = { type: "service", id: "ci", role: "user" };
const agent: Person = { type: "agent", id: "bot", role: "user" };
const staff: Person = { type: "staff", id: "sue", role: "user" };

const decide = (t: TestKernel, id: string, principal: Person, decision: "approve" | "reject" = "approve") =>
  t.kernel.decideGate(id, { tenant_id, principal, gate_id: "gate-s1", decision });

const decisionsOf = async (t: TestKernel, id: string) =>
  (await t.kernel.audit(id)).filter(({ decided_by }) => decided_by !== undefined);

/** The lines of an export, as one reads them from a file. */
async function exported(t: TestKernel, id: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of t.kernel.evidence(id)) lines.push(line);
  return lines;
}

describe("the audit of a decision", () => {
  it.each([
    [bob, "approve", { type: "HumanApproved" }],
    [bob, "reject", { type: "HumanRejected" }],
    [staff, "approve", { type: "HumanApproved" }],
    [service, "approve", { type: "AutoApproved" }],
    [agent, "approve", { type: "AutoApproved" }],
    [service, "reject", { type: "Blocked", policy: "gate decision" }],
    [agent, "reject", { type: "Blocked", policy: "gate decision" }],
  ] as const)("[RLH-02] by %j, who is to %s, says what kind of principal decided", async (who, decision, outcome) => {
    await using t = await createTestKernel({ capabilities: [gated({}).capability] });
    const id = await waiting(t);
    await decide(t, id, who, decision);
    await t.rest(id);
    expect(await decisionsOf(t, id)).toMatchObject([{ outcome, decided_by: who.id, decided_by_type: who.type }]);
    expect((await verifyEvidence(await exported(t, id))).ok).toBe(true);
  });

  it("[RLH-02] is no person's where a machine's vote helped to carry it", async () => {
    await using t = await createTestKernel({ capabilities: [gated({ quorum: { approvals: 2 } }).capability] });
    const id = await waiting(t);
    await decide(t, id, agent);
    await decide(t, id, bob);
    await t.rest(id);
    expect(await decisionsOf(t, id)).toMatchObject([
      {
        outcome: { type: "AutoApproved" },
        decided_by_type: "user",
        carried_by: ["bot", "bob"],
        carried_by_types: ["agent", "user"],
      },
    ]);
  });

  it("[RLH-05] verifies with the kind that the rows tell, and with no other", async () => {
    await using t = await createTestKernel({ capabilities: [gated({}).capability] });
    const id = await waiting(t);
    await decide(t, id, service);
    await t.rest(id);
    const lines = await exported(t, id);
    expect((await verifyEvidence(lines)).ok).toBe(true);
    const forge = (from: string, to: string) => reseal(lines.map((line) => line.replace(from, to)));
    for (const [from, to] of [
      ['"decided_by_type":"service"', '"decided_by_type":"user"'],
      [',"decided_by_type":"service"', ""],
    ] as const)
      expect((await verifyEvidence(forge(from, to))).ok).toBe(false);
  });

  it("is told by explain and by the gate, with the kind of principal", async () => {
    await using t = await createTestKernel({ capabilities: [gated({}).capability] });
    const id = await waiting(t);
    await decide(t, id, service);
    await t.rest(id);
    expect((await gateOf(t, id, "gate-s1")).decision?.principal).toEqual(service);
    expect(JSON.stringify(await t.kernel.explain(id))).toContain("service ci");
  });
});

/** Chains the lines of evidence anew, as whoever may write the file can. */
function reseal(lines: readonly string[]): string[] {
  let previous = "";
  return lines.map((text) => {
    const { hash, ...content } = JSON.parse(text) as { readonly hash: string } & EvidenceContent;
    const line = "evidence" in content ? JSON.stringify(sealEvidence(previous, content)) : text;
    previous = (JSON.parse(line) as { readonly hash: string }).hash;
    return line;
  });
}

describe("a gate that names types of principals", () => {
  const people: Partial<GateSpec> = { principal_types: ["user"] };

  it.each(["approve", "reject"] as const)("[GAT-07] takes no decision to %s from another type", async (decision) => {
    const { capability, sent } = gated(people);
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    for (const machine of [service, agent, staff]) {
      const refused = await refusalOf(decide(t, id, machine, decision));
      expect([refused.code, refused.message]).toEqual([
        "T5_AUTHZ_FORBIDDEN",
        `gate-s1: it is for principals of type user, not for ${machine.type} ${machine.id}`,
      ]);
      const seen = await t.kernel.gate(id, "gate-s1", { tenant_id, principal: machine });
      expect(seen.seat?.may).toBe(false);
    }
    expect(sent()).toEqual([]);
    await decide(t, id, bob, decision);
  });

  it("[GAT-07] lets nobody lend a seat to another type", async () => {
    await using t = await createTestKernel({ capabilities: [gated(people).capability] });
    const id = await waiting(t);
    const to = { type: service.type, id: service.id };
    const lent = t.kernel.delegateGate(id, { tenant_id, principal: bob, to, expires_at: "2030-01-01T00:00:00.000Z" });
    expect((await refusalOf(lent)).code).toBe("T5_DELEGATION_REFUSED");
  });

  it("[GAT-07] holds an escalation's role to them as well", async () => {
    const escalation = [{ after_ms: 1_000, role: "admin" }];
    const { capability } = gated({ ...people, roles: ["user"], escalation });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await t.clock.advance(1_000);
    expect((await refusalOf(decide(t, id, { ...service, role: "admin" }))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await decide(t, id, { ...bob, role: "admin" })).status).toBe("resumed");
  });

  it("takes a machine's advice, which is not counted", async () => {
    await using t = await createTestKernel({ capabilities: [gated({ ...people, advisors: ["support"] }).capability] });
    const id = await waiting(t);
    expect((await decide(t, id, { ...agent, role: "support" })).status).toBe("voted");
    expect((await gateOf(t, id, "gate-s1")).status).toBe("open");
  });

  it("decides nothing by a word of another type that is kept ahead of it", async () => {
    await using t = await createTestKernel({ capabilities: [gated(people).capability] });
    const { payload_digest } = await gateOf(t, await waiting(t), "gate-s1");
    const id = await t.submit(intent);
    const ahead = { gate_id: "gate-s1", decision: "approve", payload: { payload_digest } } as const;
    expect((await t.kernel.decideGate(id, { tenant_id, principal: service, ...ahead })).status).toBe("kept");
    expect((await t.rest(id)).state).toBe("waiting_for_user");
  });

  it.each([
    [{ principal_types: [] }],
    [{ principal_types: ["user"], approvers: [{ type: "service", id: "ci" }] }],
  ] as const)("is refused when it is defined, where it admits nobody or leaves out whom it names: %j", (gate) => {
    expect(() => gated(gate as never)).toThrow("T0_VALIDATION_SCHEMA_MISMATCH");
  });
});
