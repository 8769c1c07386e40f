/** Stand-ins: who decides for a person who is away, at which gates, until when, and who sees it. */
import { describe, expect, it } from "vitest";
import { definePolicy, type GateNotice, type GateSpec } from "../../src/index.ts";
import { findRecipients } from "../../src/observers/notifiers/find-recipients.ts";
import { describeGate } from "../../src/protocol/describe-gate.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { ledgerPaths, openProcess } from "../recovery/shared-file.ts";
import { away, day, endAway, hour, later } from "./away.ts";
import { ann, approve, bob, cat, dan, gated, lend, type Person, person, reject, requester, waiting } from "./people.ts";
import { gateOf, payloads, refusalOf } from "./story.ts";

const { tenant_id } = testCaller;
const freshPath = ledgerPaths();
const ref = ({ type, id }: Person) => ({ type, id });
const board: Partial<GateSpec> = { approvers: [{ id: "ann" }, { id: "bob" }], quorum: { approvals: 2 } };
const open = async (spec: Partial<GateSpec> = board, options: object = {}) => {
  const { capability, sent } = gated(spec);
  const t = await createTestKernel({ capabilities: [capability], ...options });
  const id = await waiting(t);
  return { t, sent, id, [Symbol.asyncDispose]: () => t.kernel.stop({ drainMs: 0 }) };
};
const facts = (gate: Parameters<typeof describeGate>[0]) => describeGate(gate).flatMap((section) => section.facts);
const textOf = (gate: Parameters<typeof describeGate>[0], name: string) =>
  facts(gate).find((fact) => fact.name === name)?.text;

describe("a stand-in", () => {
  it("[GAT-07] takes the seat of the one who is away, once, at gates open before and after the order", async () => {
    await using fixture = await open();
    const { t, id, sent } = fixture;
    const { stand_in_id, status } = await away(t, [ann, cat]);
    expect([status, (await away(t, [ann, cat], { until: later(t) })).stand_in_id]).toEqual(["named", stand_in_id]);
    for (const workflow of [id, await waiting(t)]) {
      expect(await approve(t, workflow, cat)).toMatchObject({ status: "voted", tally: { approvals: 1 } });
      expect((await refusalOf(approve(t, workflow, ann))).message).toContain("voted to approve by user cat");
      const [vote] = await payloads(t, workflow, "GATE_VOTED");
      expect(vote).toMatchObject({ principal: cat, on_behalf_of: ref(ann), stand_in: stand_in_id });
      await approve(t, workflow, bob);
      await t.rest(workflow);
      expect((await t.kernel.replay(workflow)).difference).toBeNull();
    }
    expect(sent()).toEqual(["s1", "s1"]);
    expect(JSON.stringify(await t.kernel.explain(id))).toContain(`in the place of user ann by ${stand_in_id}`);
    expect(await t.kernel.standIns({}, testCaller)).toMatchObject([{ stand_in_id, by: ann, to: ref(cat), votes: 2 }]);
    expect(await t.kernel.decisions({}, testCaller)).toEqual(
      expect.arrayContaining([expect.objectContaining({ on_behalf_of: ref(ann) })]),
    );
    expect((await t.kernel.verify()).broken).toEqual([]);
  });

  it("decides a gate that one decision closes, by the role of the one who is away", async () => {
    const roles = { user: { scopes: ["*"] }, finance: { scopes: ["*"] } };
    await using fixture = await open({ roles: ["finance"] }, { roles });
    const { t, id } = fixture;
    expect((await refusalOf(approve(t, id, cat))).code).toBe("T5_AUTHZ_FORBIDDEN");
    const { stand_in_id } = await away(t, [person("ann", "finance"), cat]);
    expect((await approve(t, id, cat)).status).toBe("resumed");
    await t.rest(id);
    const gate = await gateOf(t, id, "gate-s1");
    expect(gate.decision).toMatchObject({ principal: cat, on_behalf_of: ref(ann), stand_in: stand_in_id });
    expect(textOf(gate, "for")).toBe(`user ann, by ${stand_in_id}`);
    expect(textOf(gate, "state")).toContain("by user cat in the place of user ann");
    expect(JSON.stringify(await t.kernel.explain(id))).toContain(`in the place of user ann by ${stand_in_id}`);
    expect((await t.kernel.replay(id)).difference).toBeNull();
    const other = await waiting(t);
    await reject(t, other, cat);
    expect((await payloads(t, other, "USER_REJECTED"))[0]).toMatchObject({ on_behalf_of: ref(ann) });
  });

  it("votes for the part of the quorum, and in the stage, of the one who is away", async () => {
    const roles = { user: { scopes: ["*"] }, law: { scopes: ["*"] }, finance: { scopes: ["*"] } };
    const quorum = {
      of: [
        { role: "law", approvals: 1 },
        { role: "finance", approvals: 1 },
      ],
    };
    await using parts = await open({ quorum }, { roles });
    await away(parts.t, [person("ann", "law"), cat]);
    await approve(parts.t, parts.id, cat);
    expect((await payloads(parts.t, parts.id, "GATE_VOTED"))[0]).toMatchObject({ part: "law" });
    await using staged = await open({ stages: [{ roles: ["law"] }, { roles: ["finance"] }] }, { roles });
    await away(staged.t, [person("ann", "finance"), cat]);
    expect((await refusalOf(approve(staged.t, staged.id, cat))).message).toContain("stage 1 of 2 is for law");
    await approve(staged.t, staged.id, person("dan", "law"));
    expect((await approve(staged.t, staged.id, cat)).status).toBe("resumed");
    expect((await payloads(staged.t, staged.id, "GATE_VOTED")).at(-1)).toMatchObject({ stage: 2 });
  });

  it("stands in from its beginning to its end, to the millisecond, and no longer once it is ended", async () => {
    await using fixture = await open();
    const { t, id } = fixture;
    await away(t, [ann, cat], { from: later(t, hour), until: later(t, 2 * hour) });
    const { stand_in_id } = await away(t, [bob, dan], { until: later(t, hour) });
    expect((await refusalOf(approve(t, id, cat))).message).toContain("is none of its approvers");
    await t.clock.advance(hour - 1);
    expect((await refusalOf(approve(t, id, cat))).code).toBe("T5_AUTHZ_FORBIDDEN");
    await endAway(t, bob, stand_in_id);
    expect((await refusalOf(approve(t, id, dan))).code).toBe("T5_AUTHZ_FORBIDDEN");
    await t.clock.advance(1);
    const other = await waiting(t);
    expect((await approve(t, id, cat)).status).toBe("voted");
    await t.clock.advance(hour);
    expect((await refusalOf(approve(t, other, cat))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect(await t.kernel.standIns({}, testCaller)).toEqual([]);
  });

  it("uses their own seat first, then one lent at the gate, and one seat for several who are away", async () => {
    await using fixture = await open({ ...board, quorum: { approvals: 2 } });
    const { t, id } = fixture;
    for (const from of [ann, bob]) await away(t, [from, cat]);
    await away(t, [ann, bob]);
    expect((await approve(t, id, cat)).tally?.approvals).toBe(1);
    expect((await approve(t, id, cat)).tally?.approvals).toBe(1);
    await approve(t, id, bob);
    expect((await payloads(t, id, "GATE_VOTED")).map((vote) => vote.on_behalf_of)).toEqual([ref(ann), null]);
    const second = await waiting(t);
    await lend(t, second, [ann, dan], later(t));
    await approve(t, second, cat);
    expect((await payloads(t, second, "GATE_VOTED"))[0]?.on_behalf_of).toEqual(ref(bob));
    expect((await approve(t, second, dan)).status).toBe("resumed");
  });
});

describe("a stand-in has no seat", () => {
  const cases: readonly (readonly [
    string,
    Partial<GateSpec>,
    (t: TestKernel, id: string) => Promise<unknown>,
    string,
  ])[] = [
    [
      "by a chain of two orders",
      board,
      async (t) => [await away(t, [ann, dan]), await away(t, [dan, cat])],
      "none of its approvers",
    ],
    [
      "by a seat that was lent to the one who is away",
      board,
      async (t, id) => [await lend(t, id, [ann, dan], later(t)), await away(t, [dan, cat])],
      "these have no seat",
    ],
    [
      "where nobody may lend a seat",
      { ...board, delegation: false },
      (t) => away(t, [ann, cat]),
      "nobody may lend their seat at it",
    ],
    [
      "whose owner has voted",
      board,
      async (t, id) => [await away(t, [ann, cat]), await approve(t, id, ann)],
      "their seat has voted",
    ],
    [
      "whose owner asked for the work",
      { separation: true, roles: ["user"], principal_types: ["user"] },
      (t) => away(t, [requester, person("cat", "admin")]),
      "these have no seat",
    ],
    [
      "at a gate for people, as a service",
      { ...board, principal_types: ["user"] },
      (t) => away(t, [ann, { ...cat, type: "service" }]),
      "not for service cat",
    ],
  ];
  it.each(cases)("[GAT-07] %s", async (title, spec, arrange, why) => {
    await using fixture = await open(spec);
    const { t, id } = fixture;
    await arrange(t, id);
    const voter = title.includes("service")
      ? { ...cat, type: "service" }
      : title.includes("asked")
        ? person("cat", "admin")
        : cat;
    const refused = await refusalOf(approve(t, id, voter));
    expect([refused.code, refused.message]).toEqual(["T5_AUTHZ_FORBIDDEN", expect.stringContaining(why)]);
    const mine = { tenant_id, principal: voter };
    expect(await t.kernel.gates({ mine: true }, mine)).toEqual([]);
  });

  it("[GAT-07] if they asked for the work themselves", async () => {
    await using fixture = await open({ ...board, separation: true });
    const { t, id } = fixture;
    await away(t, [ann, requester]);
    expect((await refusalOf(approve(t, id, requester))).message).toContain("who asked for the work");
    expect((await t.kernel.gate(id, "gate-s1", { tenant_id, principal: bob })).away).toBeUndefined();
  });

  it("[GAT-07] beyond the reach of their own role, and of that of the one who is away", async () => {
    const roles = {
      user: { scopes: ["*"] },
      mail: { scopes: ["gate:approve", "outcome:read", "operator:Mail.Send"] },
    };
    await using fixture = await open(board, { roles });
    const { t, id } = fixture;
    await away(t, [ann, person("cat", "mail")]);
    expect((await refusalOf(approve(t, id, person("cat", "mail")))).message).toContain("may not decide about operator");
    await away(t, [person("bob", "mail"), dan]);
    expect((await refusalOf(approve(t, id, dan))).message).toContain("role mail may not decide about operator");
  });

  it.each(["delegate", "approve"])("[GAT-07] where policy at stage gate denies it as %s", async (tag) => {
    const evaluate = ({ subject: { tags } }: { readonly subject: { readonly tags: readonly string[] } }) =>
      tags.includes(tag) && tags.some((one) => one === "to:cat" || one === "principal:cat")
        ? ({ decision: "DENY", reason: "not by cat" } as const)
        : null;
    await using fixture = await open(board, { policies: [definePolicy({ name: "no", stages: ["gate"], evaluate })] });
    const { t, id } = fixture;
    await away(t, [ann, cat]);
    const refused = await refusalOf(approve(t, id, cat));
    expect([refused.code, refused.message]).toEqual(["T5_POLICY_DENIED", expect.stringContaining("not by cat")]);
    expect((await payloads(t, id, "POLICY_DECIDED")).at(-1)).toMatchObject({ decision: "DENY", reason: "not by cat" });
    expect(await t.types(id)).not.toContain("GATE_VOTED");
  });
});

describe("an order that names a stand-in", () => {
  const refusals: readonly (readonly [string, string, (t: TestKernel) => object])[] = [
    ["oneself", "T5_STAND_IN_REFUSED", () => ({ to: { id: "ann" } })],
    ["past", "T5_STAND_IN_REFUSED", (t) => ({ until: later(t, 0) })],
    ["before its beginning", "T5_STAND_IN_REFUSED", (t) => ({ from: later(t, day), until: later(t, hour) })],
    ["91 days ahead", "T5_STAND_IN_REFUSED", (t) => ({ until: later(t, 90 * day + 1) })],
    ["no instant", "T0_VALIDATION_SCHEMA_MISMATCH", () => ({ until: "tomorrow" })],
    ["no end", "T0_VALIDATION_SCHEMA_MISMATCH", () => ({ until: undefined })],
    ["no reason", "T0_VALIDATION_SCHEMA_MISMATCH", () => ({ reason: "" })],
    ["another member", "T0_VALIDATION_SCHEMA_MISMATCH", () => ({ at: "gate-s1" })],
    ["unknown role", "T5_AUTHN_FAILED", () => ({ principal: person("ann", "x") })],
    ["long reason", "T0_VALIDATION_SCHEMA_MISMATCH", () => ({ reason: "x".repeat(1025) })],
  ];
  it.each(refusals)("is refused: %s", async (_title, code, terms) => {
    await using fixture = await open();
    const { t } = fixture;
    const order = { tenant_id, principal: ann, to: { id: "cat" }, until: later(t), reason: "away", ...terms(t) };
    expect((await refusalOf(t.kernel.standIn(order as never))).code).toBe(code);
    expect(await t.kernel.standIns({}, testCaller)).toEqual([]);
  });

  it("holds for 90 days at most, 20 of one person at once, and is ended by its author or an admin", async () => {
    await using fixture = await open();
    const { t } = fixture;
    const { stand_in_id } = await away(t, [ann, cat], { until: later(t, 90 * day) });
    for (let n = 1; n < 20; n += 1) await away(t, [ann, person(`d${n}`)]);
    expect((await refusalOf(away(t, [ann, dan]))).code).toBe("T5_STAND_IN_REFUSED");
    expect((await refusalOf(endAway(t, cat, stand_in_id))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await endAway(t, person("zoe", "admin"), stand_in_id)).status).toBe("ended");
    expect((await refusalOf(endAway(t, ann, stand_in_id))).code).toBe("T5_STAND_IN_NOT_FOUND");
    await away(t, [ann, dan]);
    expect(await t.kernel.standIns({ mine: true, limit: 99 }, { tenant_id, principal: dan })).toMatchObject([
      { by: ann, to: ref(dan) },
    ]);
    expect(await t.kernel.standIns({}, { tenant_id: 2, principal: ann })).toEqual([]);
  });

  it("takes no vote once it has ended, also one that was judged before", async () => {
    const path = freshPath();
    const { capability } = gated(board);
    const judging = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const evaluate = async ({ subject }: { readonly subject: { readonly tags: readonly string[] } }) => {
      if (!subject.tags.includes("principal:cat")) return null;
      judging.resolve();
      await ended.promise;
      return null;
    };
    const slow = definePolicy({ name: "slow", stages: ["gate"], evaluate });
    await using one = await openProcess(path, { capabilities: [capability], policies: [slow] });
    await using other = await openProcess(path, { capabilities: [capability] });
    const id = await waiting(one);
    const { stand_in_id } = await away(one, [ann, cat]);
    const vote = refusalOf(approve(one, id, cat));
    await judging.promise;
    await endAway(other, ann, stand_in_id);
    ended.resolve();
    expect((await vote).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect(await one.types(id)).not.toContain("GATE_VOTED");
    expect((await one.kernel.verify()).broken).toEqual([]);
  });

  it("holds in every process, and after a restart", async () => {
    const path = freshPath();
    const { capability } = gated(board);
    await using one = await openProcess(path, { capabilities: [capability] });
    const id = await waiting(one);
    {
      await using other = await openProcess(path, { capabilities: [capability] });
      await away(other, [ann, cat], { until: later(other, day) });
    }
    await one.clock.advance(60_000);
    expect((await approve(one, id, cat)).status).toBe("voted");
    await using third = await openProcess(path, { capabilities: [capability] });
    expect(await third.kernel.standIns({}, testCaller)).toMatchObject([{ by: ann, votes: 1 }]);
  });
});

describe("who is away", () => {
  it("is seen at the gate by everybody, with who stands in; the gate is in the stand-in's list", async () => {
    await using fixture = await open();
    const { t, id } = fixture;
    const { stand_in_id } = await away(t, [ann, cat], { reason: "parental leave" });
    const reader = { tenant_id, principal: bob };
    const gate = await t.kernel.gate(id, "gate-s1", reader);
    const entry = { stand_in_id, who: ref(ann), to: ref(cat), until: later(t), reason: "parental leave" };
    expect(gate.away).toEqual([entry]);
    expect(textOf(gate, "away")).toBe(`user ann until ${later(t)}, user cat stands in: parental leave`);
    expect((await t.kernel.gates({}, reader))[0]?.away).toEqual([entry]);
    expect((await t.kernel.workflow(id, reader)).gates[0]?.away).toEqual([entry]);
    const deputy = { tenant_id, principal: cat };
    const [mine] = await t.kernel.gates({ mine: true, total: true }, deputy);
    expect(mine?.seat).toMatchObject({ may: true, for: ref(ann), stand_in: stand_in_id });
    await approve(t, id, cat);
    expect(await t.kernel.gates({ mine: true }, deputy)).toEqual([]);
    expect((await t.kernel.gate(id, "gate-s1", reader)).away).toBeUndefined();
  });

  it("has the notices of the gate sent to who stands in, too", async () => {
    const told: GateNotice[] = [];
    const listening = { name: "listening", deliver: async (notice: GateNotice) => void told.push(notice) };
    await using fixture = await open(board, { notifiers: [listening] });
    const { t, id } = fixture;
    const people = { ann: "ann@a.org", bob: "bob@a.org", cat: "cat@a.org", dan: "dan@a.org" };
    const recipientsOf = async (kind: string) => {
      await t.clock.settle();
      return findRecipients(told.filter((one) => one.kind === kind).at(-1) as GateNotice, { people });
    };
    expect(await recipientsOf("opened")).toEqual([people.ann, people.bob]);
    await away(t, [ann, cat]);
    const note = { tenant_id, principal: dan, gate_id: "gate-s1" };
    await t.kernel.noteGate(id, { ...note, comment: { text: "look", mentions: [{ id: "ann" }] } });
    expect(await recipientsOf("commented")).toEqual([people.ann, people.cat]);
    await t.kernel.noteGate(id, { ...note, comment: { text: "look", mentions: [{ id: "bob" }] } });
    expect(await recipientsOf("commented")).toEqual([people.bob]);
    await waiting(t);
    expect(await recipientsOf("opened")).toEqual([people.ann, people.bob, people.cat]);
  });
});
