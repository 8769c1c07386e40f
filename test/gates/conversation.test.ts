/** What people say at a gate beside deciding it: comments, questions, who looks after it, who waits and who watches. */
import { describe, expect, it } from "vitest";
import type { GateNotice, Notifier } from "../../src/index.ts";
import { findRecipients } from "../../src/observers/notifiers/find-recipients.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { ann, approve, bob, cat, gated, type Person, requester, waiting } from "./people.ts";
import { gateOf, payloads, refusalOf } from "./story.ts";

const hour = 3_600_000;
const gate_id = "gate-s1";
const told: GateNotice[] = [];
const listening: Notifier = { name: "listening", deliver: async (notice) => void told.push(notice) };

async function open(options: object = {}) {
  told.length = 0;
  const { capability, sent } = gated({ quorum: { approvals: 2 } });
  const t = await createTestKernel({ capabilities: [capability], notifiers: [listening], ...options });
  const id = await waiting(t);
  return { t, sent, id, [Symbol.asyncDispose]: () => t.kernel.stop({ drainMs: 0 }) };
}

const ref = ({ type, id }: Person) => ({ type, id });
const { tenant_id } = testCaller;
const say = (t: TestKernel, id: string, principal: Person, noted: object) =>
  t.kernel.noteGate(id, { tenant_id, principal, gate_id, ...noted });

describe("a note at a gate", () => {
  it("is in the ledger and at the gate, and neither votes nor decides", async () => {
    await using fixture = await open();
    const { t, id, sent } = fixture;
    const until = new Date(t.clock.now() + hour).toISOString();
    const comment = { text: "is this the new account?", mentions: [{ id: "cat" }], asks: true };
    expect(await say(t, id, ann, { comment })).toMatchObject({ status: "noted" });
    await say(t, id, bob, { assign: { id: "bob" }, snooze: until, watch: true });
    expect((await gateOf(t, id, gate_id)).conversation).toMatchObject({
      comments: [
        { by: ref(ann), text: "is this the new account?", mentions: [{ type: "user", id: "cat" }], asks: true },
      ],
      assigned_to: ref(bob),
      snoozed: [{ by: ref(bob), until }],
      watchers: [ref(bob)],
    });
    expect(await gateOf(t, id, gate_id)).toMatchObject({ status: "open", votes: [] });
    await say(t, id, bob, { assign: null, snooze: null, watch: false });
    expect((await gateOf(t, id, gate_id)).conversation).toMatchObject({ assigned_to: null, snoozed: [], watchers: [] });
    await approve(t, id, ann);
    await approve(t, id, bob);
    await t.clock.settle();
    expect(sent()).toHaveLength(1);
    expect((await t.kernel.replay(id)).identical).toBe(true);
    expect((await t.kernel.verify()).broken).toEqual([]);
    expect((await t.kernel.explain(id)).why.join("\n")).toContain("is this the new account?");
  });

  it("that changes nothing is no event, and stays where the gate shows something else", async () => {
    await using fixture = await open();
    const { t, id } = fixture;
    for (let n = 0; n < 2; n += 1) await say(t, id, bob, { assign: { id: "bob" }, watch: true });
    expect(await payloads(t, id, "GATE_ASSIGNED")).toHaveLength(1);
    expect(await payloads(t, id, "GATE_WATCHED")).toHaveLength(1);
    // The first answer may be lost: the same key is one comment, and another person's key is their own.
    for (const _ of ["sent", "again"]) await say(t, id, ann, { comment: { text: "too much" }, idempotency_key: "k" });
    await approve(t, id, ann, { edit: { id: "elsewhere" } });
    expect((await gateOf(t, id, gate_id)).conversation?.comments).toMatchObject([{ text: "too much" }]);
    expect((await t.kernel.gates({}, testCaller))[0]?.conversation?.assigned_to).toEqual(ref(bob));
  });

  it("is refused at a gate that is decided, unknown or full, when empty, and for whoever may not read", async () => {
    await using fixture = await open({
      limits: { maxGateEntries: 2 },
      roles: {
        user: { scopes: ["intent:submit", "workflow:execute", "outcome:read", "gate:approve"] },
        own: { scopes: ["outcome:read", "gate:comment:own"] },
        blind: { scopes: ["intent:submit"] },
      },
    });
    const { t, id } = fixture;
    const as = (role: string, of = ann) => ({ ...of, role });
    const comment = { text: "hm" };
    expect(await refusalOf(say(t, id, ann, {}))).toMatchObject({ code: "T0_VALIDATION_SCHEMA_MISMATCH" });
    expect(await refusalOf(say(t, id, ann, { comment: { text: "   " } }))).toMatchObject({
      code: "T0_VALIDATION_SCHEMA_MISMATCH",
    });
    expect(await refusalOf(say(t, id, ann, { gate_id: "gate-x", comment }))).toMatchObject({
      code: "T5_GATE_NOT_FOUND",
    });
    for (const role of ["blind", "own"])
      expect(await refusalOf(say(t, id, as(role), { comment }))).toMatchObject({ code: "T5_AUTHZ_FORBIDDEN" });
    const seatOf = async (role: string, of = ann) =>
      (await t.kernel.gate(id, gate_id, { tenant_id, principal: as(role, of) })).seat?.may_note;
    expect([await seatOf("user"), await seatOf("own"), await seatOf("own", requester)]).toEqual([
      ...[undefined, false, undefined],
    ]);
    expect(await say(t, id, as("own", requester), { comment })).toMatchObject({ status: "noted" });
    await say(t, id, ann, { comment });
    expect(await refusalOf(say(t, id, ann, { comment }))).toMatchObject({ code: "T5_GATE_FULL" });
    await approve(t, id, ann);
    await approve(t, id, bob);
    expect(await refusalOf(say(t, id, ann, { watch: true }))).toMatchObject({ code: "T5_GATE_CONFLICT" });
  });
});

describe("who hears of a note", () => {
  const people = { ann: "ann@a.org", bob: "bob@a.org", cat: "cat@a.org", [requester.id]: "requester@a.org" };

  it("are those it mentions, who watches or looks after the gate, and of a question its requesters", async () => {
    await using fixture = await open();
    const { t, id } = fixture;
    const notice = async (kind: string) => {
      await t.clock.settle();
      const found = told.filter((one) => one.kind === kind).at(-1) as GateNotice;
      return [...(await findRecipients(found, { people }))].toSorted();
    };
    await say(t, id, ann, { comment: { text: "nobody in particular" } });
    await t.clock.settle();
    expect(told.map(({ kind }) => kind)).toEqual(["opened"]);
    await say(t, id, ann, { comment: { text: "look", mentions: [{ id: "cat" }] } });
    expect(await notice("commented")).toEqual([people.cat]);
    await say(t, id, bob, { watch: true });
    await say(t, id, ann, { assign: { id: "cat" } });
    expect(await notice("assigned")).toEqual([people.bob, people.cat]);
    await say(t, id, cat, { comment: { text: "is it?", asks: true } });
    expect(await notice("commented")).toEqual([people.bob, "requester@a.org"]);
  });
});
