/** Stages: one gate that asks one group after another about the same payload. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type GateNotice, GateSpec, verifySignatures } from "../../src/index.ts";
import { describeGate } from "../../src/protocol/describe-gate.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { approve, gated, lend, type Person, person, reject, say, waiting, withdraw } from "./people.ts";
import { counted, eventsOf, gateOf, payloads, refusalOf, step, story } from "./story.ts";

const scopes = ["intent:submit", "workflow:execute", "outcome:read", "gate:approve"];
const roles = Object.fromEntries(["user", "risk", "finance", "legal", "boss"].map((name) => [name, { scopes }]));
const [rita, rob, fay, fred, liz, bo] = [
  ...["rita", "rob"].map((id) => person(id, "risk")),
  ...["fay", "fred"].map((id) => person(id, "finance")),
  person("liz", "legal"),
  person("bo", "boss"),
] as [Person, Person, Person, Person, Person, Person];
const stages = [
  { roles: ["risk"] },
  { quorum: { of: ["finance", "legal"].map((role) => ({ role, approvals: 1 })) } },
  { roles: ["boss", "risk"], quorum: { approvals: 2 } },
];

const open = async (spec: object = {}) => {
  const { capability, sent } = gated({ stages, ...spec });
  const told: string[] = [];
  const deliver = async ({ kind, gate }: GateNotice) => void told.push(`${kind} ${gate.roles?.join(" ")}`);
  const t = await createTestKernel({ capabilities: [capability], roles, notifiers: [{ name: "chat", deliver }] });
  const id = await waiting(t);
  const stop = () => t.kernel.stop({ drainMs: 0 });
  return { t, sent, id, told, gate: () => gateOf(t, id, "gate-s1"), [Symbol.asyncDispose]: stop };
};
const mine = async ({ kernel }: TestKernel, ...people: readonly Person[]) =>
  Promise.all(
    people.map(async (principal) => (await kernel.gates({ mine: true }, { ...testCaller, principal })).length),
  );

describe("a gate with stages", () => {
  it("[GAT-02] waits for the people of one stage after another, tells each, and calls after the last", async () => {
    await using fixture = await open();
    const { t, id, sent, told } = fixture;
    expect(await mine(t, rita, fay, bo)).toEqual([1, 0, 0]);
    const early = await refusalOf(approve(t, id, fay));
    expect(early.message).toBe("gate-s1: stage 1 of 3 is for risk, not for finance");
    expect((await approve(t, id, rita)).tally).toMatchObject({ stage: 2, approvals: 0, needed: { approvals: 2 } });
    expect(await mine(t, rita, rob, fay, liz, bo)).toEqual([0, 0, 1, 1, 0]);
    expect((await refusalOf(withdraw(t, id, rita))).message).toContain("stage 1 is filled");
    await approve(t, id, fay);
    const shown = await t.kernel.gate(id, "gate-s1", { ...testCaller, principal: liz });
    expect(shown.seat).toMatchObject({ may: true, stage: 2, part: "legal" });
    expect(shown.consequences.approve).toContain("It fills stage 2 of 3; Note.Send does not run before the last stage");
    await approve(t, id, liz);
    const facts = describeGate(await fixture.gate()).flatMap((section) => section.facts);
    expect(facts.filter(({ name }) => name === "stage").map(({ text }) => text)).toEqual([
      "1. 1 of risk: filled",
      "2. 1 of finance and 1 of legal: filled",
      "3. 2 of boss or risk: asked now",
    ]);
    expect((await approve(t, id, rita)).tally).toMatchObject({ stage: 3, approvals: 0 });
    await approve(t, id, bo);
    expect([sent(), (await approve(t, id, rob)).status]).toEqual([[], "resumed"]);
    expect([(await t.rest(id)).state, sent()]).toEqual(["completed", ["s1"]]);
    await t.clock.advance(0);
    expect(told).toEqual(["opened risk", "next_stage finance legal", "next_stage boss risk", "decided boss risk"]);
    const [decided] = await payloads(t, id, "USER_APPROVED");
    expect(decided?.carried_by?.map(({ stage }) => stage)).toEqual([1, 2, 2, 3, 3]);
    expect(JSON.stringify(await t.kernel.explain(id))).toContain(
      "user rita in stage 1, user fay for finance in stage 2",
    );
    expect((await t.kernel.replay(id)).identical).toBe(true);
    expect(await verifySignatures(await eventsOf(t, id))).toEqual([]);
  });

  it("[GAT-07] ends with one rejection in any stage; a seat that was lent in an earlier stage is none", async () => {
    await using fixture = await open();
    const { t, id, sent } = fixture;
    await lend(t, id, [rob, liz], new Date(t.clock.now() + 60_000).toISOString());
    await approve(t, id, rita);
    expect((await fixture.gate()).delegations).toEqual([]);
    expect((await reject(t, id, fred)).status).toBe("rejected");
    expect([(await t.rest(id)).state, sent()]).toEqual(["cancelled", []]);
  });

  it("goes back to its first stage at an edit, which is no vote; its time goes on", async () => {
    await using fixture = await open({ expiry: { after_ms: 60_000, action: "deny" } });
    const { t, id } = fixture;
    await approve(t, id, rita);
    await t.clock.advance(40_000);
    expect((await approve(t, id, fay, { edit: { n: 2 } })).status).toBe("revised");
    expect(await fixture.gate()).toMatchObject({ stage: 1, roles: ["risk"], votes: [], payload: { n: 2 } });
    const { payload_digest } = await fixture.gate();
    expect((await refusalOf(approve(t, id, fay, { payload_digest }))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await approve(t, id, rita, { payload_digest })).tally).toMatchObject({ stage: 2 });
    await t.clock.advance(20_000);
    expect([(await fixture.gate()).status, (await t.rest(id)).state]).toEqual(["expired", "cancelled"]);
  });

  it("[GAT-02] is approved if and only if each stage was filled in order by distinct people", async () => {
    const specs = [stages, [{ roles: ["risk", "finance"] }, { quorum: { approvals: 3 } }], stages.slice(1)];
    const send = counted("Note.Send", { effect: "write_draft" });
    const capabilities = specs.map((spec, at) =>
      story([send], [step("s1", send, { gate: { stages: spec } as never })], { intentType: `Story.Stage.S${at}` }),
    );
    await using t = await createTestKernel({ capabilities, roles });
    const names = ["risk", "finance", "legal", "boss"] as const;
    const voter = fc.record({
      id: fc.nat(6),
      role: fc.constantFrom(...names),
      rejects: fc.nat(30).map((n) => n === 0),
    });
    const votes = fc.array(voter, { minLength: 4, maxLength: 16 });
    await fc.assert(
      fc.asyncProperty(fc.nat(2), votes, async (at, cast) => {
        const { workflow_id: id } = await t.run(`Story.Stage.S${at}`);
        const asked = specs[at] as readonly { roles?: string[]; quorum?: { approvals?: number; of?: never[] } }[];
        const seen = new Set<number>();
        const filled: string[][] = [[]];
        let end = "open";
        for (const { id: who, role, rejects } of cast) {
          await say(t, id, person(`p${who}`, role), rejects ? "reject" : "approve").catch(() => null);
          const { roles: may, quorum: { of, approvals = 1 } = {} } = asked[filled.length - 1] ?? {};
          const parts = of as { role: string }[] | undefined;
          const isAsked = (may ?? parts?.map((part) => part.role) ?? [role]).includes(role);
          if (end !== "open" || seen.has(who) || !isAsked) continue;
          seen.add(who);
          const given = [...(filled.pop() ?? []), role];
          filled.push(given);
          if (rejects) end = "rejected";
          else if (parts === undefined ? given.length === approvals : parts.every((p) => given.includes(p.role)))
            if (filled.length < asked.length) filled.push([]);
            else end = "approved";
        }
        expect((await gateOf(t, id, "gate-s1")).status).toBe(end);
      }),
      { numRuns: 30 },
    );
  });

  it.each([
    [{ stages: stages.slice(1, 2) }, "Too small: expected array to have >=2 items"],
    [{ stages: [{}, {}] }, "a stage names its roles or its quorum"],
    [{ stages, roles: ["risk"] }, "the stages name the roles that decide; leave roles out"],
    [{ stages, quorum: { approvals: 1 } }, "each stage has a quorum of its own; leave this one out"],
    [{ stages, approvers: [{ id: "rita" }] }, "a stage asks roles; leave approvers out"],
    [
      { stages, escalation: [{ after_ms: 1, role: "x", replace: true }] },
      "the roles of stages are not replaced; leave replace out",
    ],
    [{ stages, advisors: ["legal"] }, "legal cannot both decide and advise"],
    [{ stages: [{ roles: ["risk"], quorum: { approvals: 1, rejections: 2 } }, {}] }, 'Unrecognized key: "rejections"'],
  ])("is refused as %j", (spec, why) => {
    expect(GateSpec.safeParse(spec).error?.issues.map(({ message }) => message)).toContain(why);
  });
});
