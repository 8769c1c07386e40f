/** A quorum over one ledger file and several processes: votes of each are counted together, and decide once. */
import { describe, expect, it } from "vitest";
import { definePolicy } from "../../src/index.ts";
import { ledgerPaths, minute, openProcess, type Process } from "../recovery/shared-file.ts";
import { ann, approve, bob, cat, gated, lend, person, waiting, withdraw } from "./people.ts";
import { gateOf, held, payloads, steps } from "./story.ts";

const nextPath = ledgerPaths();
const decisions = ["GATE_VOTED", "USER_APPROVED"];

describe("votes from two processes", () => {
  it("are counted together: the second completes what the first began", async () => {
    const { capability, sent } = gated({ quorum: { approvals: 2 } });
    const path = nextPath();
    await using one = await openProcess(path, { capabilities: [capability] });
    await using other = await openProcess(path, { capabilities: [capability] });
    const id = await waiting(one);
    await approve(other, id, ann);
    await other.clock.settle();
    expect((await approve(one, id, bob)).status).toBe("resumed");
    expect((await one.rest(id)).state).toBe("completed");
    expect([await steps(one, id, decisions), sent()]).toEqual([
      ["GATE_VOTED:s1", "GATE_VOTED:s1", "USER_APPROVED:s1"],
      ["s1"],
    ]);
  });

  it.each([2, 3])("at the same moment decide once, where it takes %i", async (approvals) => {
    const { capability, sent } = gated({ quorum: { approvals } });
    const path = nextPath();
    await using one = await openProcess(path, { capabilities: [capability] });
    await using other = await openProcess(path, { capabilities: [capability] });
    const id = await waiting(one);
    const said = () => [approve(one, id, ann), approve(other, id, bob), approve(one, id, cat), approve(other, id, cat)];
    await Promise.allSettled(said());
    // Who was told to try again does.
    for (let again = 0; again < 5; again += 1) {
      await one.clock.advance(minute);
      await other.clock.advance(minute);
      await Promise.allSettled(said());
    }
    await one.clock.advance(minute);
    await other.clock.advance(minute);
    const types = await steps(one, id, decisions);
    expect(types.filter((t) => t === "USER_APPROVED:s1")).toHaveLength(1);
    expect((await gateOf(one, id, "gate-s1")).status).toBe("approved");
    expect((await payloads(one, id, "USER_APPROVED"))[0]?.carried_by).toHaveLength(approvals);
    expect(sent()).toEqual(["s1"]);
  });

  it.each([
    ["withdrawn", (one: Process, id: string) => withdraw(one, id, ann)],
    ["lent elsewhere", (one: Process, id: string) => lend(one, id, [cat, person("dan")], "2026-02-01T00:00:00Z")],
    ["voided by an edit", (one: Process, id: string) => approve(one, id, cat, { edit: { id: "edited" } })],
  ])(
    "complete nothing that is %s at the same moment, and decide only what their gate shows",
    async (_title, meanwhile) => {
      for (const order of [0, 1]) {
        const { capability, send } = gated({ quorum: { approvals: 2 } });
        const path = nextPath();
        await using one = await openProcess(path, { capabilities: [capability] });
        await using other = await openProcess(path, { capabilities: [capability] });
        const id = await waiting(one);
        await approve(one, id, ann);
        await one.clock.settle();
        const said = [() => meanwhile(one, id), () => approve(other, id, bob)];
        await Promise.allSettled((order === 0 ? said : said.toReversed()).map((say) => say()));
        for (const t of [one, other, one]) await t.clock.advance(minute);
        const gate = await gateOf(one, id, "gate-s1");
        expect(gate.votes.every((vote) => vote.payload_digest === gate.payload_digest)).toBe(true);
        expect(gate.status).toBe(gate.votes.length >= 2 ? "approved" : "open");
        const decided = await payloads(one, id, "USER_APPROVED");
        expect(decided.map((d) => d.payload_digest)).toEqual(gate.status === "open" ? [] : [gate.payload_digest]);
        expect(send.calls.map((c) => c.input)).toEqual(gate.status === "open" ? [] : [gate.payload]);
      }
    },
  );

  it("with edits that policy judges slowly are written whole: neither makes the other begin anew", async () => {
    const verdict = held<null>();
    const thinking = definePolicy({
      name: "thinking",
      stages: ["action"],
      evaluate: ({ subject }) => (JSON.stringify(subject.payload).includes("edited") ? verdict.promise : null),
    });
    const { capability, send } = gated({});
    const path = nextPath();
    const options = { capabilities: [capability], policies: [thinking] };
    await using one = await openProcess(path, options);
    await using other = await openProcess(path, options);
    await using third = await openProcess(path, options);
    const id = await waiting(one);
    const said = Promise.allSettled([
      approve(other, id, ann, { edit: { id: "edited by ann" } }),
      approve(third, id, bob, { edit: { id: "edited by bob" } }),
    ]);
    const oneLook = 400;
    const pass = async (): Promise<number> => {
      for (const t of [other, third, one]) await t.clock.advance(oneLook);
      return (await steps(one, id, ["POLICY_DECIDED"])).length;
    };
    await pass();
    const written = await pass();
    for (let i = 0; i < 5; i += 1) expect(await pass()).toBe(written);
    verdict.release(null);
    for (let i = 0; i < 5; i += 1) await pass();
    const answers = await said;
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(send.calls).toHaveLength(1);
    expect(await one.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("survive the process: votes, loans and what was taken back are in the file", async () => {
    const { capability } = gated({
      quorum: { approvals: 3 },
      approvers: [{ id: "ann" }, { id: "bob" }, { id: "dan" }],
    });
    const path = nextPath();
    const first = await openProcess(path, { capabilities: [capability] });
    const id = await waiting(first);
    await approve(first, id, bob);
    await approve(first, id, ann);
    await withdraw(first, id, ann);
    await lend(first, id, [ann, cat], new Date(first.clock.now() + 60 * minute).toISOString());
    await first.kernel.stop({ drainMs: 0 });
    await using second = await openProcess(path, { capabilities: [capability], at: minute });
    expect((await second.kernel.gates())[0]?.votes.map((v) => v.principal.id)).toEqual(["bob"]);
    expect((await approve(second, id, cat)).tally?.approvals).toBe(2);
    expect((await second.kernel.explain(id)).why.filter((line) => /voted|lent|withdrawn/.test(line))).toEqual([
      "s1: user bob (user) voted to approve gate-s1",
      "s1: user ann (user) voted to approve gate-s1",
      "s1: the vote of user ann on gate-s1 was withdrawn",
      expect.stringContaining("s1: user ann lent their seat at gate-s1 to user cat until"),
      "s1: user cat (user) voted to approve gate-s1, in the place of user ann",
    ]);
  });
});
