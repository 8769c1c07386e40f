/** The history of decisions tells what people did at gates, whoever reads it and wherever. */
import { describe, expect, it } from "vitest";
import type { Decision, DecisionPage } from "../../src/index.ts";
import { writeDecisions } from "../../src/protocol/decision-table.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { codeOf, openEdge } from "../http/edge-fixture.ts";
import { ann, approve, bob, gated, reject, requester, waiting, withdraw } from "./people.ts";
import { eventsOf, gateOf, intent, publishing, refusalOf } from "./story.ts";

const told = (decisions: readonly Decision[]) =>
  decisions.map(({ act, principal, closes, comment }) => [act, principal.id, closes, comment]);

const caller = (principal: typeof ann) => ({ tenant_id: 1, principal });

describe("the history of decisions", () => {
  it("tells every act of a person at its instant, a decision of a quorum by its votes alone", async () => {
    const { capability } = gated({ quorum: { approvals: 2 } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await approve(t, id, ann, { comment: "looks right" });
    await withdraw(t, id, ann);
    await approve(t, id, ann);
    await approve(t, id, bob);
    await t.rest(id);
    const decisions = await t.kernel.decisions({ sort: "oldest", total: true }, caller(ann));
    expect(told(decisions)).toEqual([
      ["approve", "ann", false, "looks right"],
      ["withdraw", "ann", false, null],
      ["approve", "ann", false, null],
      ["approve", "bob", true, null],
    ]);
    expect(decisions.total).toBe(4);
    const events = await eventsOf(t, id);
    for (const { sequence, at } of decisions) {
      const event = events.find((one) => one.sequence === sequence);
      expect([event?.event_type.startsWith("GATE_VOTE"), event?.timestamp]).toEqual([true, at]);
    }
    expect(told(await t.kernel.decisions({ mine: true }, caller(bob)))).toEqual([["approve", "bob", true, null]]);
    expect(await t.kernel.decisions({}, { tenant_id: 2, principal: ann })).toEqual([]);
    expect((await t.kernel.verify()).ok).toBe(true);
  });

  it("tells of edits and rejections, and of no gate that time or a rule decided", async () => {
    const { capability } = publishing({ gate: { expiry: { after_ms: 60_000, action: "deny" } } });
    await using t = await createTestKernel({ capabilities: [capability] });
    await approve(t, await waiting(t), ann, { edit: { text: "other words" } });
    await reject(t, await waiting(t), ann, { comment: "not today" });
    await waiting(t);
    await t.clock.advance(61_000);
    await t.clock.settle();
    const decisions = await t.kernel.decisions({ sort: "oldest" }, caller(requester));
    expect(told(decisions)).toEqual([
      ["edit", "ann", false, null],
      ["approve", "ann", true, null],
      ["reject", "ann", true, "not today"],
    ]);
  });

  it("is read a page at a time, and refuses what is no cursor and no filter of it", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    for (let i = 0; i < 3; i += 1) {
      const { workflow_id } = await edge.t.run(intent, {}, { input: { text: `Tell ${i}` } });
      await approve(edge.t, workflow_id, ann);
    }
    const read = async (query: string) => (await edge.ask<DecisionPage>(`/v1/kernel/decision-history${query}`)).body;
    const [all, first] = [await read("?total=true"), await read("?limit=2")];
    const rest = await read(`?limit=2&after=${first.next}`);
    expect([all.total, rest.next]).toEqual([3, null]);
    expect([...first.decisions, ...rest.decisions]).toEqual(all.decisions);
    expect((await read(`?before=${encodeURIComponent(first.next ?? "")}`)).decisions).toEqual(
      all.decisions.slice(0, 1),
    );
    for (const query of ["?after=x", "?after=1/2/3", "?act=maybe", "?whose=ann"])
      expect(codeOf(await edge.ask(`/v1/kernel/decision-history${query}`))).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    for (const filter of [{ mine: true }, { after: "/x/" }, { whose: "ann" }])
      expect((await refusalOf(edge.t.kernel.decisions(filter as object))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });

  it("is written as CSV in which no text becomes a formula, a new line or another cell", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    const { title } = await gateOf(t, id);
    await approve(t, id, ann, { comment: '=HYPERLINK("x"), and\nmore\u202e' });
    const [head = "", row = "", end] = writeDecisions(await t.kernel.decisions()).split("\r\n");
    expect([head.split(",").length, end]).toEqual([20, ""]);
    expect(row).toContain(`,approve,true,false,${title},`);
    expect(row).toMatch(/,"'=HYPERLINK\(""x""\), and.*more.*",/);
    expect(row).not.toContain("\u202e");
  });
});
