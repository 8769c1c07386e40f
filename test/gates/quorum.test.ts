/** Several people decide: how many it takes, who they are, and what never satisfies a gate. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { digest, type ExecutionPlan, GateSpec } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { runs } from "../properties/property-runs.ts";
import { ann, approve, bob, cat, dan, gated, reject, requester, say, waiting } from "./people.ts";
import {
  asShown,
  counted,
  eventsOf,
  gateOf,
  held,
  intent,
  payloads,
  publishing,
  refusalOf,
  step,
  steps,
  story,
} from "./story.ts";

const decisions = ["GATE_VOTED", "USER_APPROVED", "USER_REJECTED"];
const names = [ann, bob, cat].map(({ type, id }) => ({ type, id }));

describe("n of m", () => {
  it("[GAT-02] each vote is an event of its voter; the completing one decides in the same commit", async () => {
    const { capability, sent } = gated({ quorum: { approvals: 2 } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    const { correlation_id } = await t.kernel.workflow(id);
    const needed = { approvals: 2, rejections: 1 };
    expect(await approve(t, id, ann)).toEqual({
      workflow_id: id,
      correlation_id,
      status: "voted",
      tally: { approvals: 1, rejections: 0, needed },
    });
    expect([sent(), (await gateOf(t, id, "gate-s1")).status]).toEqual([[], "open"]);
    expect(await approve(t, id, bob)).toEqual({
      workflow_id: id,
      correlation_id,
      status: "resumed",
      tally: { approvals: 2, rejections: 0, needed },
    });
    expect((await t.rest(id)).state).toBe("completed");
    expect(sent()).toEqual(["s1"]);
    const events = (await eventsOf(t, id)).filter((e) => decisions.includes(e.event_type));
    expect(events.map((e) => [e.event_type, e.actor.id])).toEqual([
      ["GATE_VOTED", "ann"],
      ["GATE_VOTED", "bob"],
      ["USER_APPROVED", "bob"],
    ]);
    expect(events[2]?.payload["carried_by"]).toEqual([
      { principal: { type: "user", id: "ann" }, on_behalf_of: null },
      { principal: { type: "user", id: "bob" }, on_behalf_of: null },
    ]);
    const rows = [];
    for await (const row of t.kernel.export(id)) rows.push(row);
    const last = rows.find((row) => row.body?.includes("USER_APPROVED"));
    expect(last?.body).toContain("GATE_VOTED");
  });

  it("[GAT-03] one person's vote counts once, said a hundred times at once", async () => {
    const { capability, sent } = gated({ quorum: { approvals: 2 } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    const answers = await Promise.all(Array.from({ length: 100 }, () => approve(t, id, ann)));
    expect(new Set(answers.map((a) => JSON.stringify(a))).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: "voted", tally: { approvals: 1 } });
    expect(await steps(t, id, decisions)).toEqual(["GATE_VOTED:s1"]);
    expect(sent()).toEqual([]);
  });

  it("[GAT-03] two people at once complete it once, and a third is answered from the record", async () => {
    const { capability, sent } = gated({ quorum: { approvals: 2 } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await approve(t, id, ann);
    const named = { tenant_id: testCaller.tenant_id, gate_id: "gate-s1", decision: "approve" } as const;
    const asked = [bob, cat, dan].map((principal) => t.kernel.decideGate(id, { ...named, principal, payload: {} }));
    expect((await Promise.all(asked)).map((a) => a.status)).toEqual(["resumed", "resumed", "resumed"]);
    await t.rest(id);
    expect(await steps(t, id, decisions)).toEqual(["GATE_VOTED:s1", "GATE_VOTED:s1", "USER_APPROVED:s1"]);
    expect(sent()).toEqual(["s1"]);
  });

  it("a contrary vote of the same person is refused, and changes nothing", async () => {
    const { capability } = gated({ quorum: { approvals: 2 } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await approve(t, id, ann);
    expect((await refusalOf(reject(t, id, ann))).code).toBe("T5_GATE_CONFLICT");
    expect(await steps(t, id, decisions)).toEqual(["GATE_VOTED:s1"]);
  });

  it.each([
    ["one, where the approvers are not named", {}, 1],
    ["as many as leave too few of those named", { approvers: names }, 2],
    ["as many as the gate says", { rejections: 3 }, 3],
  ])(
    "rejecting takes %s",
    async (_title, { approvers, rejections }: { approvers?: typeof names; rejections?: number }, takes) => {
      const quorum = { approvals: 2, ...(rejections === undefined ? {} : { rejections }) };
      const { capability, sent } = gated({ quorum, ...(approvers === undefined ? {} : { approvers }) });
      await using t = await createTestKernel({ capabilities: [capability] });
      const id = await waiting(t);
      for (const who of [ann, bob, cat].slice(0, takes - 1)) expect((await reject(t, id, who)).status).toBe("voted");
      expect((await reject(t, id, [ann, bob, cat][takes - 1] ?? ann)).status).toBe("rejected");
      const end = await t.rest(id);
      expect([end.state, end.steps[0]?.error?.code, sent()]).toEqual(["cancelled", "T5_HUMAN_DENIED", []]);
    },
  );

  it("in whatever order votes come, the gate closes with the first side that has enough", async () => {
    const vote = fc.record({
      who: fc.constantFrom(ann, bob, cat, dan),
      decision: fc.constantFrom("approve", "reject"),
    });
    const quorums = fc.record({
      approvals: fc.integer({ min: 1, max: 4 }),
      rejections: fc.integer({ min: 1, max: 4 }),
    });
    const law = async (
      quorum: { approvals: number; rejections: number },
      votes: readonly { who: typeof ann; decision: string }[],
    ) => {
      const { capability, sent } = gated({ quorum });
      await using t = await createTestKernel({ capabilities: [capability] });
      const id = await waiting(t);
      const sides = { approve: new Set<unknown>(), reject: new Set<unknown>() };
      let status = "open";
      for (const { who, decision } of votes) {
        const side = decision as "approve" | "reject";
        if (status !== "open") break;
        if (sides.approve.has(who.id) || sides.reject.has(who.id)) await say(t, id, who, side).catch(() => undefined);
        else {
          await say(t, id, who, side);
          sides[side].add(who.id);
        }
        if (sides.approve.size >= quorum.approvals) status = "approved";
        if (sides.reject.size >= quorum.rejections) status = "rejected";
        expect((await gateOf(t, id, "gate-s1")).status).toBe(status);
      }
      await t.clock.settle();
      expect(sent()).toEqual(status === "approved" ? ["s1"] : []);
    };
    await fc.assert(fc.asyncProperty(quorums, fc.array(vote, { maxLength: 8 }), law), { numRuns: runs(25) });
  });
});

describe("who may decide", () => {
  it("[GAT-07] only the approvers that the gate names", async () => {
    const { capability } = gated({ approvers: names, quorum: { approvals: 2 } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    expect((await refusalOf(approve(t, id, dan))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await refusalOf(approve(t, id, { ...ann, type: "agent" }))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect(await t.types(id)).not.toContain("GATE_VOTED");
  });

  it("[GAT-07] never who asked for the work, where the gate separates the two", async () => {
    const { capability, sent } = gated({ separation: true });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    expect((await refusalOf(approve(t, id, requester))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await refusalOf(approve(t, id, { ...requester, id: String(requester.id), role: "admin" }))).code).toBe(
      "T5_AUTHZ_FORBIDDEN",
    );
    expect((await approve(t, id, ann)).status).toBe("resumed");
    await t.rest(id);
    expect(sent()).toEqual(["s1"]);
  });
});

const unsatisfiable: readonly (readonly [string, object])[] = [
  ["three of two approvers", { quorum: { approvals: 3 }, approvers: names.slice(0, 2) }],
  ["no approval at all", { quorum: { approvals: 0 } }],
  ["more rejections than could ever be", { quorum: { approvals: 2, rejections: 3 }, approvers: names }],
  ["an approver named twice", { quorum: { approvals: 2 }, approvers: [names[0], { id: "ann" }] }],
  ["no role that may decide", { roles: [] }],
  ["a role that decides and advises", { roles: ["admin"], advisors: ["admin"] }],
  ["a ladder to an adviser", { advisors: ["admin"], escalation: [{ after_ms: 1, role: "admin" }] }],
  ["a word that is not known", { qourum: { approvals: 2 } }],
];

describe("a gate that can never be satisfied", () => {
  it.each(unsatisfiable)("is refused by its schema: %s", (_title, spec) => {
    expect(GateSpec.safeParse(spec).success).toBe(false);
  });

  it.each(unsatisfiable)("is refused where a template's package is defined: %s", (_title, spec) => {
    expect(() => gated(spec as never)).toThrow("T0_VALIDATION_SCHEMA_MISMATCH");
  });

  it.each([
    ...unsatisfiable,
    [
      "the requester is one of two, and both are needed",
      { quorum: { approvals: 2 }, approvers: [names[0], { id: 1 }], separation: true },
    ],
    ["signed, where no approver's keys are known", { signed: true }],
  ] as const)("ends the workflow before anything ran: %s", async (_title, spec) => {
    const { capability, sent } = gated({});
    const { plan } = capability as { readonly plan: ExecutionPlan };
    const asked = { ...plan, steps: plan.steps.map((one) => ({ ...one, gate: spec as never })) };
    await using t = await createTestKernel({ capabilities: [{ ...capability, plan: () => asked }] });
    const end = await t.run(intent);
    expect([end.state, end.error?.code, sent()]).toEqual(["failed", "T3_PLAN_INVALID", []]);
    expect(await t.types(end.workflow_id)).not.toContain("PLAN_CREATED");
  });

  it("names the step", async () => {
    const spec = { quorum: { approvals: 1 }, approvers: [{ id: 1 }], separation: true };
    await using t = await createTestKernel({ capabilities: [gated(spec).capability] });
    expect((await t.run(intent)).error).toMatchObject({ code: "T3_PLAN_INVALID", detail: { step_id: "s1" } });
  });
});

describe("a new version", () => {
  const quorumAtPublish = { gate: { quorum: { approvals: 2 } } };

  it("by an edit voids the votes before it, and is its editor's approval", async () => {
    const { capability, publish } = publishing(quorumAtPublish);
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await approve(t, id, ann);
    expect(await approve(t, id, bob, { edit: { text: "edited" } })).toMatchObject({
      status: "voted",
      tally: { approvals: 1 },
    });
    const gate = await gateOf(t, id);
    expect([gate.target?.version, gate.votes.map((v) => [v.principal.id, v.payload_digest])]).toEqual([
      2,
      [["bob", gate.payload_digest]],
    ]);
    expect(publish.calls).toHaveLength(0);
    expect((await approve(t, id, ann, await asShown(t, id))).status).toBe("resumed");
    await t.rest(id);
    expect(publish.calls.map((c) => c.input)).toEqual([{ text: "edited", to: "board" }]);
    expect(await payloads(t, id, "USER_APPROVED")).toMatchObject([{ outcome_version: 2, edited: true }]);
  });

  it("by regeneration voids them too", async () => {
    const { capability } = publishing(quorumAtPublish);
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await approve(t, id, ann);
    await t.kernel.retry(id, { tenant_id: 1, principal: requester, mode: "regenerate" });
    await t.rest(id);
    const gate = await gateOf(t, id);
    expect([gate.target?.version, gate.votes, gate.quorum]).toEqual([2, [], { approvals: 2, rejections: 1 }]);
    expect((await approve(t, id, ann, await asShown(t, id))).status).toBe("voted");
  });

  describe("that leaves too few others to decide where duties are separated", () => {
    const board = { separation: true, quorum: { approvals: 2 }, approvers: [...names] };
    const again = (mode: "regenerate" | "resume_failed_steps") => ({ tenant_id: 1, principal: ann, mode });

    it("by regeneration is refused, and the gate waits as it did", async () => {
      const { capability } = publishing({ gate: { ...board, approvers: names.slice(0, 2) } });
      await using t = await createTestKernel({ capabilities: [capability] });
      const id = await waiting(t);
      expect((await refusalOf(t.kernel.retry(id, again("regenerate")))).code).toBe("T5_GATE_CONFLICT");
      expect((await gateOf(t, id)).quorum).toEqual({ approvals: 2, rejections: 1 });
      for (const who of [ann, bob]) await approve(t, id, who, await asShown(t, id));
      expect((await t.rest(id)).state).toBe("completed");
    });

    it("is taken where enough are left, who reject with as many as leave too few", async () => {
      const { capability } = publishing({ gate: board });
      await using t = await createTestKernel({ capabilities: [capability] });
      const id = await waiting(t);
      await t.kernel.retry(id, again("regenerate"));
      await t.rest(id);
      expect((await gateOf(t, id)).quorum).toEqual({ approvals: 2, rejections: 1 });
      expect((await refusalOf(approve(t, id, ann, await asShown(t, id)))).code).toBe("T5_AUTHZ_FORBIDDEN");
      for (const who of [bob, cat]) await approve(t, id, who, await asShown(t, id));
      expect((await t.rest(id)).state).toBe("completed");
    });

    it("by resuming is taken where they have decided already", async () => {
      let calls = 0;
      const flaky = counted("Test.Flaky", { effect: "write_draft", idempotent: true, retry: "NONE" }, () => {
        calls += 1;
        if (calls === 1) throw new Error("not today");
        return "done";
      });
      const gate = { ...board, approvers: names.slice(0, 2) };
      await using t = await createTestKernel({
        capabilities: [story([flaky], [step("s1", flaky, { gate })])],
        limits: { maxReplans: 0 },
      });
      const id = await waiting(t);
      for (const who of [ann, bob]) await approve(t, id, who);
      expect((await t.rest(id)).state).toBe("failed");
      await t.kernel.retry(id, again("resume_failed_steps"));
      expect((await t.rest(id)).state).toBe("completed");
    });
  });

  describe("of others before it, or at gates beside it", () => {
    const act = counted("Note.Act");
    const apart = { separation: true, approvers: names.slice(0, 2) };
    const params = { text: "a" };
    const rows = [step("s1", act, { gate: {}, params }), step("s2", act, { gate: apart, params })];
    const approveAt = (t: TestKernel, id: string, [gate_id, principal]: readonly [string, typeof ann], text?: string) =>
      t.kernel.decideGate(id, {
        tenant_id: 1,
        principal,
        gate_id,
        decision: "approve",
        payload: text === undefined ? {} : { edit: { text } },
      });

    it("leaves too few others to decide where duties are separated: it is refused, and they can decide", async () => {
      await using t = await createTestKernel({ capabilities: [story([act], rows)] });
      const id = await waiting(t);
      await approveAt(t, id, ["gate-s1", ann], "b");
      expect((await refusalOf(approveAt(t, id, ["gate-s2", bob], "c"))).code).toBe("T5_GATE_CONFLICT");
      await approveAt(t, id, ["gate-s2", bob]);
      expect((await t.rest(id)).state).toBe("completed");
    });

    it("leaves nobody at a gate ahead: it is refused", async () => {
      const ahead = { gate: { ...apart, approvers: names.slice(0, 1) }, depends_on: ["s1"], params };
      const [first] = rows as [(typeof rows)[number]];
      await using t = await createTestKernel({
        capabilities: [story([act], [first, step("s2", act, ahead)])],
      });
      const id = await waiting(t);
      expect((await refusalOf(approveAt(t, id, ["gate-s1", ann], "b"))).code).toBe("T5_GATE_CONFLICT");
      await approveAt(t, id, ["gate-s1", bob], "b");
      await t.rest(id);
      await approveAt(t, id, ["gate-s2", ann]);
      expect((await t.rest(id)).state).toBe("completed");
    });
  });

  it("is no longer what an older look decided on", async () => {
    const { capability } = publishing(quorumAtPublish);
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    const { payload_digest } = await gateOf(t, id);
    await approve(t, id, bob, { edit: { text: "edited" } });
    expect((await refusalOf(approve(t, id, ann, { payload_digest }))).code).toBe("T5_GATE_CONFLICT");
  });
});

describe("votes ahead of the gate", () => {
  it("[GAT-07] are kept, one of each person, and counted when it opens on their digest", async () => {
    const end = held<object>();
    const first = counted("Note.First", {}, () => end.promise);
    const send = counted("Note.Send");
    const gate = { quorum: { approvals: 2 } };
    const rows = [
      step("first", first),
      step("second", send, { gate, params: { text: "{{first.output.text}}" }, depends_on: ["first"] }),
    ];
    await using t = await createTestKernel({ capabilities: [story([first, send], rows)] });
    const id = await t.submit(intent);
    await t.clock.settle();
    const ahead = (principal: typeof ann, text: string) =>
      t.kernel.decideGate(id, {
        tenant_id: 1,
        principal,
        gate_id: "gate-second",
        decision: "approve",
        payload: { payload_digest: digest({ text }) },
      });
    for (const who of [ann, ann, bob]) expect((await ahead(who, "first")).status).toBe("kept");
    await ahead(cat, "something else");
    expect(await payloads(t, id, "GATE_DECISION_KEPT")).toHaveLength(3);
    end.release({ text: "first" });
    expect((await t.rest(id)).state).toBe("completed");
    expect((await payloads(t, id, "GATE_VOTED")).map((v) => v.principal.id)).toEqual(["ann", "bob"]);
    expect(send.calls).toHaveLength(1);
  });
});
