/** Advice: a vote that is kept beside the others and never counts. */
import { describe, expect, it } from "vitest";
import { createTestKernel } from "../../src/testing/index.ts";
import { ann, approve, bob, gated, person, reject, waiting } from "./people.ts";
import { gateOf, payloads, publishing, refusalOf, steps } from "./story.ts";

const coach = person("coach", "support");
const decisions = ["GATE_VOTED", "USER_APPROVED", "USER_REJECTED"];

describe("an adviser's vote", () => {
  it.each([
    ["one person decides", {}, 0],
    ["two decide", { quorum: { approvals: 2 } }, 2],
  ])("[GAT-02] moves no gate, where %s", async (_title, more, counted) => {
    const { capability, sent } = gated({ advisors: ["support"], ...more });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    for (const decision of [reject, reject]) expect((await decision(t, id, coach)).status).toBe("voted");
    expect(await reject(t, id, coach)).toMatchObject({ tally: { approvals: 0, rejections: 0 } });
    const gate = await gateOf(t, id, "gate-s1");
    expect([gate.status, gate.votes.map((v) => [v.principal.id, v.advisory])]).toEqual(["open", [["coach", true]]]);
    expect(sent()).toEqual([]);
    for (const who of [ann, bob].slice(0, Math.max(1, counted))) await approve(t, id, who);
    expect((await t.rest(id)).state).toBe("completed");
    expect(await steps(t, id, decisions)).toEqual([
      "GATE_VOTED:s1",
      ...Array.from({ length: counted }, () => "GATE_VOTED:s1"),
      "USER_APPROVED:s1",
    ]);
    const [decided] = await payloads(t, id, "USER_APPROVED");
    expect(decided?.carried_by?.map((c) => c.principal.id) ?? []).toEqual(["ann", "bob"].slice(0, counted));
  });

  it("changes nothing of what is decided on", async () => {
    const { capability } = publishing({ gate: { advisors: ["support"] } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    const before = (await t.kernel.workflow(id)).sequence;
    expect((await refusalOf(approve(t, id, coach, { edit: { text: "mine" } }))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await t.kernel.workflow(id)).sequence).toBe(before);
  });

  it("is not counted for a role that the gate does not know either", async () => {
    const { capability } = gated({ roles: ["admin"], advisors: ["support"] });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    expect((await refusalOf(approve(t, id, ann))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await approve(t, id, coach)).status).toBe("voted");
    expect((await approve(t, id, person("boss", "admin"))).status).toBe("resumed");
  });
});
