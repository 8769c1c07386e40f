/** The count of votes: what decides, what may still be said, and what old gates are taken for. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { acceptsEvent, foldEvents } from "../../machines/index.ts";
import { isSamePrincipal, seatsOf, tallyOf, verdictOf } from "../../machines/quorum.ts";
import { draft, type EventDraft, type LedgerEvent } from "../../src/contract/event.ts";
import { plainGate } from "../../src/contract/events.ts";
import type { Gate } from "../../src/contract/gate.ts";
import type { GateVote } from "../../src/contract/gate-vote.ts";
import type { WorkflowRecord } from "../../src/contract/workflow.ts";

const gateWith = (more: Partial<Gate>): Gate =>
  ({
    ...plainGate,
    gate_id: "gate-s1",
    status: "open",
    payload_digest: "d",
    policy_version: "1",
    target: null,
    ...more,
  }) as Gate;
const recordWith = (gate: Gate) => ({ gates: new Map([[gate.gate_id, gate]]) }) as unknown as WorkflowRecord;
const by = (id: string, decision: "approve" | "reject" = "approve", more: Partial<GateVote> = {}): GateVote => ({
  decision,
  principal: { type: "user", id },
  role: "user",
  on_behalf_of: null,
  advisory: false,
  at: "2026-01-01T00:00:00.000Z",
  payload_digest: "d",
  signature: null,
  comment: null,
  ...more,
});
const voted = (id: string, more: object = {}): EventDraft =>
  draft("GATE_VOTED", {
    ...by(id),
    gate_id: "gate-s1",
    principal: { type: "user", id, role: "user" },
    policy_version: "1",
    outcome_id: null,
    outcome_version: null,
    ...more,
  });
const binding = { payload_digest: "d", policy_version: "1", outcome_id: null, outcome_version: null };
const decided = (type: "USER_APPROVED" | "USER_REJECTED", payload_digest = "d", more: object = {}): EventDraft =>
  draft(type, { gate_id: "gate-s1", ...binding, payload_digest, ...more } as never);

const two = { approvals: 2, rejections: 2 };

describe("a vote that says whom it was held against", () => {
  const a = { type: "user", id: "a" } as const;
  const b = { type: "user", id: "b" } as const;
  const lent = by("a", "approve", { on_behalf_of: b });

  it.each<readonly [string, readonly GateVote[], object, boolean]>([
    ["everybody who has voted", [by("a")], { apart_from: [a] }, true],
    ["nobody, where nobody has voted", [], { apart_from: [] }, true],
    ["nobody, where one has voted meanwhile", [by("a")], { apart_from: [] }, false],
    ["one of the two who have voted", [by("a"), by("b", "reject")], { apart_from: [a] }, false],
    ["somebody of another type under the same id", [by("a")], { apart_from: [{ type: "service", id: "a" }] }, false],
    ["who voted and not whose seat that was", [lent], { apart_from: [a] }, false],
    ["whose seat it was and not who voted", [lent], { apart_from: [b] }, false],
    ["who voted and whose seat that was", [lent], { apart_from: [a, b] }, true],
    ["nobody, where one has advised", [by("a", "approve", { advisory: true })], { apart_from: [] }, true],
    ["nobody, as advice itself", [by("a")], { apart_from: [], advisory: true }, true],
    ["nothing at all, as hosts without samePerson record it", [by("a")], {}, true],
  ])("[GAT-07] fits the gate only where those are all who count: %s", (_whom, votes, more, fits) => {
    const gate = gateWith({ quorum: { approvals: 3, rejections: 2 }, votes: [...votes] });
    expect(acceptsEvent(recordWith(gate), voted("c", more))).toBe(fits);
  });
});

describe("the count", () => {
  it("[GAT-02] is of people who count, each once; a verdict comes with the first side that has enough", () => {
    const vote = fc.record({
      id: fc.constantFrom("a", "b", "c", "d", "e"),
      decision: fc.constantFrom("approve" as const, "reject" as const),
      advisory: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.uniqueArray(vote, { selector: (v) => v.id }), fc.nat(4), fc.nat(4), (votes, n, k) => {
        const quorum = { approvals: n + 1, rejections: k + 1 };
        const gate = { quorum, votes: votes.map(({ id, decision, advisory }) => by(id, decision, { advisory })) };
        const count = (decision: string) => votes.filter((v) => !v.advisory && v.decision === decision).length;
        expect(tallyOf(gate)).toEqual({ approvals: count("approve"), rejections: count("reject"), needed: quorum });
        const verdict = count("reject") > k ? "reject" : count("approve") > n ? "approve" : null;
        expect(verdictOf(gate)).toBe(verdict);
        expect(verdictOf({ ...gate, quorum: null })).toBe(null);
      }),
    );
  });

  it("[GAT-02] of parts is met where each is filled by people of its role, in whichever order they vote", () => {
    const part = fc.constantFrom("risk", "finance", "legal", "boss");
    const vote = fc.record({ id: fc.nat(9), part, approves: fc.boolean(), advisory: fc.boolean() });
    const need = fc.uniqueArray(
      fc.record({ role: fc.constantFrom("risk", "finance", "legal"), approvals: fc.integer({ min: 1, max: 3 }) }),
      { selector: ({ role }) => role, minLength: 1 },
    );
    const votesOf = fc.uniqueArray(vote, { selector: (v) => v.id, maxLength: 8 });
    const drawn = votesOf.chain((votes) =>
      fc.tuple(fc.constant(votes), fc.shuffledSubarray(votes, { minLength: votes.length })),
    );
    fc.assert(
      fc.property(need, drawn, (of, [votes, shuffled]) => {
        const approvals = of.reduce((sum, one) => sum + one.approvals, 0);
        const quorum = { approvals, rejections: 99, of };
        const gateOf = (given: typeof votes) => ({
          quorum,
          votes: given.map(({ id, part, approves, advisory }) =>
            by(String(id), approves ? "approve" : "reject", { part, advisory }),
          ),
        });
        const counted = votes.filter((v) => v.approves && !v.advisory);
        const named = (role: string) => counted.filter((v) => v.part === role).length;
        const lack = of.reduce((sum, one) => sum + Math.max(0, one.approvals - named(one.role)), 0);
        const free = counted.filter((v) => !of.some(({ role }) => role === v.part)).length;
        expect(verdictOf(gateOf(votes))).toBe(lack <= free ? "approve" : null);
        expect(tallyOf(gateOf(shuffled))).toEqual(tallyOf(gateOf(votes)));
        const missing = (tallyOf(gateOf(votes)).missing ?? []).reduce((sum, one) => sum + one.approvals, 0);
        expect(missing).toBe(Math.max(0, lack - free));
      }),
    );
  });

  it("knows a person by type and id, whatever the spelling of the id", () => {
    expect(isSamePrincipal({ type: "user", id: 1 }, { type: "user", id: "1" })).toBe(true);
    expect(isSamePrincipal({ type: "user", id: 1 }, { type: "agent", id: 1 })).toBe(false);
    expect(isSamePrincipal({ id: 1 }, { type: "agent", id: 1 })).toBe(true);
    const approvers = [{ id: "1" }, { type: "user", id: "ann" }];
    expect(seatsOf({ approvers, separation: true }, [{ type: "user", id: 1 }])).toEqual([approvers[1]]);
    expect(seatsOf({ approvers }, [{ type: "user", id: 1 }])).toEqual(approvers);
  });
});

describe("what may be appended", () => {
  it("is no decision that the votes do not carry", () => {
    const half = recordWith(gateWith({ quorum: two, votes: [by("a")] }));
    expect(acceptsEvent(half, decided("USER_APPROVED"))).toBe(false);
    const whole = recordWith(gateWith({ quorum: two, votes: [by("a"), by("b")] }));
    expect(acceptsEvent(whole, decided("USER_APPROVED"))).toBe(true);
    expect(acceptsEvent(whole, decided("USER_REJECTED"))).toBe(false);
  });

  it("is no decision and no vote for another payload than the gate shows", () => {
    const plain = recordWith(gateWith({}));
    expect(acceptsEvent(plain, decided("USER_APPROVED"))).toBe(true);
    expect(acceptsEvent(plain, decided("USER_APPROVED", "before"))).toBe(false);
    expect(acceptsEvent(plain, voted("a", { payload_digest: "before" }))).toBe(false);
  });

  it.each([{ policy_version: "2" }, { outcome_id: "out_1" }, { outcome_version: 2 }])(
    "is no decision and no vote for another policy or outcome version than the gate's: %j",
    (more) => {
      const target = { type: "Note", outcome_id: "out_2", version: 1 };
      for (const gate of [gateWith({}), gateWith({ target })]) {
        const on = { outcome_id: gate.target?.outcome_id ?? null, outcome_version: gate.target?.version ?? null };
        expect(acceptsEvent(recordWith(gate), decided("USER_APPROVED", "d", on))).toBe(true);
        expect(acceptsEvent(recordWith(gate), decided("USER_APPROVED", "d", { ...on, ...more }))).toBe(false);
        expect(acceptsEvent(recordWith(gate), voted("a", { ...on, ...more }))).toBe(false);
      }
    },
  );

  it("is no vote with a signature that was used, however its seal is written", () => {
    const spent = recordWith(gateWith({ quorum: two, spent_signatures: ["head.claims"] }));
    const signed = (jws: string) => voted("a", { signature: { jws, jwk: {}, kid: null } });
    expect(acceptsEvent(spent, signed("head.claims.seal"))).toBe(false);
    expect(acceptsEvent(spent, signed("head2.claims.seal"))).toBe(true);
  });

  it("is one vote on the seat of an approver who is named without a type", () => {
    const votes = [by("a")];
    const agent = { principal: { type: "agent", id: "a", role: "user" } };
    const named = recordWith(gateWith({ quorum: two, approvers: [{ id: "a" }, { id: "b" }], votes }));
    expect(acceptsEvent(named, voted("a", agent))).toBe(false);
    expect(acceptsEvent(named, voted("c", { on_behalf_of: { type: "agent", id: "a" } }))).toBe(false);
    const typed = [
      { type: "user", id: "a" },
      { type: "agent", id: "a" },
    ];
    expect(acceptsEvent(recordWith(gateWith({ quorum: two, approvers: typed, votes })), voted("a", agent))).toBe(true);
  });

  it("is no second vote of a person or a seat, and no withdrawal of what was not said", () => {
    const lent = by("c", "approve", { on_behalf_of: { type: "user", id: "b" } });
    const record = recordWith(gateWith({ quorum: two, votes: [by("a"), lent] }));
    for (const id of ["a", "b", "c"]) expect(acceptsEvent(record, voted(id))).toBe(false);
    expect(acceptsEvent(record, voted("d", { on_behalf_of: { type: "user", id: "a" } }))).toBe(false);
    expect(acceptsEvent(record, voted("d"))).toBe(true);
    const withdrawn = (id: string) =>
      draft("GATE_VOTE_WITHDRAWN", { gate_id: "gate-s1", principal: { type: "user", id } });
    expect([acceptsEvent(record, withdrawn("a")), acceptsEvent(record, withdrawn("d"))]).toEqual([true, false]);
  });
});

describe("what was lent and signed at a gate", () => {
  const event = (event_type: string, payload: object, sequence = 2): LedgerEvent =>
    ({
      sequence,
      event_type,
      payload,
      step_id: null,
      plan_id: null,
      timestamp: "t",
      actor: {},
    }) as unknown as LedgerEvent;
  const begun = event("INTENT_RECEIVED", { intent: { intent_id: "int_1" }, auth: {}, plan_id: "pln_1" }, 1);
  const ann = { type: "user", id: "ann" };
  const loan = { from: ann, to: { type: "user", id: "cat" }, expires_at: "2026-02-01T00:00:00.000Z" };
  const opened = event("GATE_OPENED", { gate: gateWith({ quorum: two }) });
  const said = [
    event("GATE_DELEGATED", { gate_id: "gate-s1", ...loan }),
    event("GATE_VOTED", { ...voted("bob").payload, signature: { jws: "head.claims.seal", jwk: {}, kid: null } }),
  ];

  it("stands through a revision that another process made without knowing of it; the votes do not", () => {
    const revised = event("GATE_REVISED", { gate: gateWith({ quorum: two, payload_digest: "e" }), cause: "edit" });
    const gate = foldEvents([begun, opened, ...said, revised])?.gates.get("gate-s1");
    expect(gate).toMatchObject({ delegations: [loan], spent_signatures: ["head.claims"], votes: [] });
  });

  it("is nobody's to use once the gate asks others: seats go with those who had them", () => {
    const escalated = event("GATE_ESCALATED", { gate_id: "gate-s1", role: "admin", due_at: null });
    const gate = foldEvents([begun, opened, ...said, escalated])?.gates.get("gate-s1");
    expect(gate).toMatchObject({ roles: ["admin"], delegations: [], spent_signatures: ["head.claims"] });
    expect(gate?.votes).toHaveLength(1);
  });
});

describe("a gate of an older ledger", () => {
  it("[SCH-06] folds into one that a single person decides", () => {
    const { gate_id, status, payload_digest } = gateWith({});
    const event = (sequence: number, event_type: string, payload: object): LedgerEvent =>
      ({
        sequence,
        event_type,
        payload,
        step_id: null,
        plan_id: null,
        timestamp: "t",
        actor: {},
      }) as unknown as LedgerEvent;
    const old = {
      gate_id,
      status,
      payload_digest,
      roles: ["admin"],
      due_at: null,
      expiry_action: null,
      decision: null,
    };
    const record = foldEvents([
      event(1, "INTENT_RECEIVED", {
        intent: { intent_id: "int_1" },
        auth: {},
        plan_id: "pln_1",
      }),
      event(2, "GATE_OPENED", { gate: old }),
    ]);
    expect(record?.gates.get("gate-s1")).toEqual({ ...plainGate, ...old });
  });
});
