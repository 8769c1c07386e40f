/** What a gate tells of edits, of each answer and of who waits: for its reader, at that moment, on every face alike. */
import { describe, expect, it } from "vitest";
import { type GateNotice, GateNotice as Notice } from "../../src/contract/gate-notice.ts";
import { renderGate } from "../../src/faces/cli/render-gate.ts";
import { definePolicy, type Gate, type GateSpec } from "../../src/index.ts";
import { readRun } from "../../src/observers/drawing/plan-model.ts";
import { describeNotice } from "../../src/observers/notifiers/describe-notice.ts";
import { withholdTexts } from "../../src/observers/notifiers/withhold-texts.ts";
import { renderGate as describeForMcp, toMcpGate } from "../../src/protocol/tell-gate.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { ann, approve, bob, cat, dan, type Person, person, reject, requester, waiting, withdraw } from "./people.ts";
import { counted, refusalOf, step, story } from "./story.ts";

const approvers = [ann, bob, cat].map(({ type, id }) => ({ type, id }));
const twoOfThree: Partial<GateSpec> = { approvers, quorum: { approvals: 2 } };

/** A payment that is named by the amount that the plan gave it. */
const paying = (gate: Partial<GateSpec>) => {
  const pay = counted("Bank.Pay", { effect: "write_draft" });
  const params = { to: "Miller", amount_eur: 61_000 };
  return story([pay], [step("pay", pay, { name: "Pay 61,000 EUR to Miller", gate, params })]);
};

const kernelWith = (gate: Partial<GateSpec>, more: object = {}) =>
  createTestKernel({ capabilities: [paying(gate)], ...more });
const asCaller = (principal: Person) => ({ tenant_id: testCaller.tenant_id, principal });
const read = (t: TestKernel, id: string, who: Person): Promise<Gate> => t.kernel.gate(id, "gate-pay", asCaller(who));
const edit = { amount_eur: 6100 };
const change = { path: "amount_eur", from: 61_000, to: 6100 };
const look = { paint: (_: unknown, text: string) => text, now: () => 0 };
const telling = { maxSubject: 200, maxPreview: 2000, maxPayload: 2000, linkOnly: false };

const noticeOf = (gate: Gate): GateNotice =>
  Notice.parse({
    ...{ notice_id: "n1", kind: "revised", at: gate.opened_at, tenant_id: gate.tenant_id },
    ...{ workflow_id: gate.workflow_id, intent_type: "Story.Note.Publish", gate, gate_now: gate, cancelled: null },
  });

describe("a gate that a colleague edited", () => {
  it("tells the next approver who edited it, when, and from what to what", async () => {
    await using t = await kernelWith({ ...twoOfThree, separation: true });
    const id = await waiting(t);
    await approve(t, id, bob, { edit });
    const gate = await read(t, id, cat);
    expect(gate.edits).toEqual([{ by: { type: "user", id: "bob" }, at: expect.any(String), changes: [change] }]);
    const [listed] = await t.kernel.gates({ mine: true }, asCaller(cat));
    expect([listed?.edits, listed?.title]).toEqual([gate.edits, gate.title]);
    expect((await t.kernel.workflow(id)).gates[0]?.edits).toEqual(gate.edits);
  });

  it("is titled by the payload that would run, and keeps the plan's title beside it", async () => {
    await using t = await kernelWith({ ...twoOfThree, separation: true });
    const id = await waiting(t);
    expect((await read(t, id, cat)).title).toBe("Pay 61,000 EUR to Miller");
    await approve(t, id, bob, { edit });
    const { title, planned_title } = await read(t, id, cat);
    expect([title, planned_title]).toEqual(["Bank.Pay, edited: amount_eur 6100", "Pay 61,000 EUR to Miller"]);
  });

  it("is titled by the plan again once a second edit takes the first one back, and tells both edits", async () => {
    await using t = await kernelWith({ quorum: { approvals: 3 } });
    const id = await waiting(t);
    await approve(t, id, bob, { edit });
    const { payload_digest } = await read(t, id, cat);
    await approve(t, id, cat, { edit: { amount_eur: 61_000 }, payload_digest });
    const { title, planned_title, edits } = await read(t, id, ann);
    expect([title, planned_title]).toEqual(["Pay 61,000 EUR to Miller", undefined]);
    expect(edits?.map(({ by }) => by.id)).toEqual(["bob", "cat"]);
  });

  it.each<[string, Partial<GateSpec>]>([
    ["under separation of duties", { ...twoOfThree, separation: true }],
    ["where votes are signed", { signed: true }],
  ])("keeps the comment of an edit that decides nothing, %s, and shows it on every face", async (_, spec) => {
    await using t = await kernelWith(spec, { approverKeys: () => null });
    const id = await waiting(t);
    const response = await approve(t, id, bob, { edit, comment: "a decimal point was lost" });
    expect(response.status).toBe("revised");
    const gate = await read(t, id, cat);
    expect(gate.edits?.[0]).toMatchObject({ by: { id: "bob" }, comment: "a decimal point was lost" });
    const [listed] = await t.kernel.gates({}, asCaller(cat));
    expect(listed?.edits?.[0]?.comment).toBe("a decimal point was lost");
    const notice = describeNotice(noticeOf(gate), telling);
    const run = await t.kernel.workflow(id);
    const told = [
      renderGate(gate, look),
      describeForMcp(gate),
      notice.facts.map((fact) => fact.join(" ")).join("\n"),
      (readRun(run).nodes[0]?.lines ?? []).join("\n").replaceAll("\n↳ ", " "),
    ];
    for (const text of told) expect(text).toContain('Comment on the edit: "a decimal point was lost"');
    expect(JSON.stringify(withholdTexts(noticeOf(gate)))).not.toContain("decimal");
    expect((await t.kernel.replay(id)).identical).toBe(true);
  });

  it("keeps the comment of an edit that decides with the decision alone", async () => {
    await using t = await kernelWith({});
    const id = await waiting(t);
    await approve(t, id, bob, { edit, comment: "a decimal point was lost" });
    const { decision, edits } = await read(t, id, cat);
    expect([decision?.comment, edits?.[0]?.comment]).toEqual(["a decimal point was lost", undefined]);
  });

  it("says so before its preview in the terminal, to MCP clients and in notices", async () => {
    await using t = await kernelWith({ ...twoOfThree, separation: true });
    const id = await waiting(t);
    await approve(t, id, bob, { edit });
    const gate = await read(t, id, cat);
    const notice = describeNotice(noticeOf(gate), telling);
    const told = [renderGate(gate, look), describeForMcp(gate), notice.facts.map((fact) => fact.join(" ")).join("\n")];
    for (const text of told) {
      expect(text).toMatch(/Edited by user bob at [^\n]*\n[^\n]*amount_eur: 61000 → 6100/);
      expect(text.indexOf("Edited by")).toBeLessThan(text.indexOf("risk"));
    }
    expect(toMcpGate(gate)).toMatchObject({ edits: gate.edits, planned_title: gate.planned_title });
  });

  it("tells of a link-only notice who edited it and when, and none of the values", async () => {
    await using t = await kernelWith({ ...twoOfThree, separation: true });
    const id = await waiting(t);
    await approve(t, id, bob, { edit });
    const notice = noticeOf(await read(t, id, cat));
    expect(withholdTexts(notice).gate.edits).toMatchObject([{ by: { id: "bob" }, changes: [] }]);
    const told = JSON.stringify(describeNotice(notice, { ...telling, linkOnly: true }));
    expect(told).toContain("Edited by user bob");
    expect(told).not.toMatch(/6100|61000|61,000/);
  });

  it("hides on both sides of a change what policy has masked", async () => {
    const mask = definePolicy({
      name: "test.mask",
      stages: ["action"],
      evaluate: ({ subject: { payload } }) =>
        (payload as { amount_eur?: number }).amount_eur === 6100
          ? { decision: "ALLOW_WITH_REDACTION", reason: "secret", redactions: ["amount_eur"] }
          : null,
    });
    await using t = await kernelWith({ ...twoOfThree, separation: true }, { policies: [mask] });
    const id = await waiting(t);
    await approve(t, id, bob, { edit });
    const gate = await read(t, id, cat);
    expect(gate.payload).toMatchObject({ amount_eur: "[redacted]" });
    expect(gate.edits?.[0]?.changes).toEqual([{ path: "amount_eur", from: "[redacted]", to: "[redacted]" }]);
    expect(gate.title).toBe('Bank.Pay, edited: amount_eur "[redacted]"');
  });

  it("tells the edits at the gate that asks what became of the call, which was sent as edited", async () => {
    const pay = counted("Bank.Pay", { effect: "write_draft", timeoutSec: 1 }, () => new Promise(() => undefined));
    const params = { to: "Miller", amount_eur: 61_000 };
    const capability = story([pay], [step("pay", pay, { name: "Pay 61,000 EUR to Miller", gate: {}, params })]);
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const id = await waiting(t);
    await approve(t, id, bob, { edit });
    await t.rest(id);
    const gate = await t.kernel.gate(id, "gate-pay_doubt1", asCaller(bob));
    expect(gate.edits?.[0]).toMatchObject({ by: { id: "bob" }, changes: [change] });
    expect(gate.title).toBe("What became of Bank.Pay, edited: amount_eur 6100");
    expect(gate.planned_title).toBe("What became of Pay 61,000 EUR to Miller?");
    const stranger = await t.kernel.gate(id, "gate-pay_doubt1", asCaller(person("x", "nobody")));
    expect(stranger.consequences.approve).toContain("You cannot decide here");
  });

  it("does not list the editor as one who asked for the work, and tells them why they decide it no more", async () => {
    await using t = await kernelWith({ ...twoOfThree, separation: true });
    const id = await waiting(t);
    await approve(t, id, bob, { edit });
    const { seat } = await read(t, id, bob);
    expect(seat).toMatchObject({ may: false, reason: "gate-pay: who edited what it shows may not decide on it" });
    const shown = renderGate(await read(t, id, cat), look);
    expect(shown).toContain("not by    user bob, who edited what it shows");
    expect(shown).toContain(`not by    user ${requester.id}, who asked for the work`);
  });

  it("has said beforehand that an edit costs the editor their seat where duties are separated", async () => {
    await using t = await kernelWith({ ...twoOfThree, separation: true });
    const id = await waiting(t);
    expect((await read(t, id, bob)).consequences.edit).toContain("they lose their seat here");
    await using open = await kernelWith(twoOfThree);
    const other = await waiting(open);
    expect((await read(open, other, bob)).consequences.edit).toContain("counts as the first of 2 approvals");
  });
});

const runs = "Bank.Pay runs once with exactly this payload.";

describe("what an answer leads to", () => {
  it("is the call itself where one decision is enough, and one vote where more are needed", async () => {
    await using one = await kernelWith({});
    expect((await read(one, await waiting(one), ann)).consequences.approve).toBe(runs);
    await using t = await kernelWith({ approvers, quorum: { approvals: 2, rejections: 2 } });
    const id = await waiting(t);
    const { approve: yes, reject: no } = (await read(t, id, ann)).consequences;
    expect(yes).toBe("One vote: 1 of 2 approvals are then given, and Bank.Pay does not run before the last of them.");
    expect(no).toBe("One vote: 1 of 2 rejections are then given, and the gate stays open.");
  });

  it("is the call for the last vote, and no second vote for who has voted, until they withdraw it", async () => {
    await using t = await kernelWith(twoOfThree);
    const id = await waiting(t);
    await approve(t, id, ann);
    expect((await read(t, id, bob)).consequences.approve).toBe(`With the last of 2 approvals: ${runs}`);
    const mine = (await read(t, id, ann)).consequences;
    expect(mine.approve).toBe(
      "Your seat has voted to approve already: this adds no vote. Votes given: 1 of 2 to approve, 0 of 2 to reject.",
    );
    expect(mine.reject).toContain("this is refused until that vote is withdrawn");
    expect((await refusalOf(reject(t, id, ann))).code).toBe("T5_GATE_CONFLICT");
    expect((await read(t, id, bob)).consequences.edit).toContain("All votes that are given are void.");
    await withdraw(t, id, ann);
    expect((await read(t, id, ann)).consequences.approve).toMatch(/^One vote: 1 of 2/);
  });

  it("is nothing for who has no seat, and advice for an adviser", async () => {
    const coach = person("coach", "coach");
    const roles = { user: { scopes: ["*"] }, coach: { scopes: ["gate:approve", "outcome:read"] } };
    await using t = await kernelWith({ ...twoOfThree, advisors: ["coach"] }, { roles });
    const id = await waiting(t);
    const { consequences } = await read(t, id, dan);
    expect(new Set(Object.values(consequences))).toEqual(
      new Set(["You cannot decide here: gate-pay: user dan is none of its approvers."]),
    );
    expect((await read(t, id, coach)).consequences.approve).toContain("Your answer is advice");
  });

  it("is the same in a gate, in a list, in the workflow, in the terminal and to MCP clients", async () => {
    await using t = await kernelWith(twoOfThree);
    const id = await waiting(t);
    await approve(t, id, ann);
    const gate = await read(t, id, bob);
    const [listed] = await t.kernel.gates({ mine: true }, asCaller(bob));
    const [viewed] = (await t.kernel.workflow(id, asCaller(bob))).gates;
    expect([listed?.consequences, viewed?.consequences]).toEqual([gate.consequences, gate.consequences]);
    expect(toMcpGate(gate).consequences).toEqual(gate.consequences);
    expect(describeForMcp(gate)).toContain(gate.consequences.approve);
    expect(renderGate(gate, look)).toContain(gate.consequences.approve);
  });
});

describe("a gate where the reader has voted", () => {
  it("waits for them no longer, says how they voted, and waits again once the vote is withdrawn or void", async () => {
    await using t = await kernelWith(twoOfThree);
    const id = await waiting(t);
    const waits = async (who: Person) => {
      const page = await t.kernel.gates({ mine: true, total: true, limit: 1 }, asCaller(who));
      return [page.length, page.total];
    };
    await approve(t, id, ann);
    expect([await waits(ann), await waits(bob)]).toEqual([
      [0, 0],
      [1, 1],
    ]);
    const [listed] = await t.kernel.gates({}, asCaller(ann));
    expect([listed?.seat?.voted, (await read(t, id, bob)).seat?.voted]).toEqual(["approve", undefined]);
    await withdraw(t, id, ann);
    expect(await waits(ann)).toEqual([1, 1]);
    await approve(t, id, ann);
    await approve(t, id, bob, { edit });
    expect([await waits(ann), await waits(bob)]).toEqual([
      [1, 1],
      [0, 0],
    ]);
  });
});
