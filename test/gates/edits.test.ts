/** Edits at a gate: what a person changes is a new version, is checked like any payload, and is exactly what runs. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { definePolicy, digest } from "../../src/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import {
  counted,
  decide,
  eventsOf,
  gateOf,
  intent,
  payloads,
  publishing,
  refusalOf,
  step,
  steps,
  story,
} from "./story.ts";

const edit = { text: "what I meant" };

describe("an edit at a gate", () => {
  it("makes a new version of the outcome, and the shown version is the one that runs and becomes final", async () => {
    const { capability, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id, correlation_id, outcomes } = await t.run(intent);
    const answer = await decide(t, workflow_id, { decision: "approve", payload: { edit } });
    expect(answer).toEqual({ workflow_id, status: "resumed", correlation_id });
    const done = await t.rest(workflow_id);
    expect(publish.calls.map((c) => c.input)).toEqual([{ ...edit, to: "board" }]);
    expect(publish.calls[0]?.context.target).toMatchObject({ outcome_id: outcomes[0]?.outcome_id, version: 2 });
    expect(done.outcomes.map((o) => [o.version, o.status, o.content])).toEqual([
      [1, "draft", { text: "draft 1" }],
      [2, "draft", edit],
      [3, "final", edit],
    ]);
    expect(new Set(done.outcomes.map((o) => o.outcome_id)).size).toBe(1);
  });

  it("binds the gate to the new version before it is approved, and is recorded as the person's", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const before = await gateOf(t, workflow_id);
    await decide(t, workflow_id, { decision: "approve", payload: { edit } });
    await t.rest(workflow_id);
    const wanted = ["OUTCOME_DRAFTED", "GATE_REVISED", "USER_APPROVED", "ACTION_STARTED", "OUTCOME_FINALIZED"];
    expect((await steps(t, workflow_id, wanted)).slice(2)).toEqual([
      "OUTCOME_DRAFTED:publish",
      "GATE_REVISED:publish",
      "USER_APPROVED:publish",
      "ACTION_STARTED:publish",
      "OUTCOME_FINALIZED:publish",
    ]);
    const [revised] = await payloads(t, workflow_id, "GATE_REVISED");
    const [approved] = await payloads(t, workflow_id, "USER_APPROVED");
    const payload = { ...edit, to: "board" };
    expect(revised).toMatchObject({ cause: "edit", principal: testCaller.principal, gate: { payload } });
    expect(revised?.gate.payload_digest).toBe(digest(payload));
    expect(revised?.gate.payload_digest).not.toBe(before.payload_digest);
    expect(approved).toMatchObject({ edited: true, outcome_version: 2, payload_digest: digest(payload) });
    const events = (await eventsOf(t, workflow_id)).filter((e) => e.actor.type === "user").map((e) => e.event_type);
    expect(events).toEqual(["OUTCOME_DRAFTED", "GATE_REVISED", "USER_APPROVED"]);
  });

  it("of a call that applies no outcome replaces its payload, member by member", async () => {
    const write = counted("Note.Write", { effect: "final_write" });
    const capability = story([write], [step("w", write, { params: { a: 1, b: { c: 2 }, d: [3] } })]);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await decide(t, workflow_id, { decision: "approve", payload: { edit: { b: { e: 4 }, d: null } } });
    const done = await t.rest(workflow_id);
    expect(write.calls.map((c) => c.input)).toEqual([{ a: 1, b: { e: 4 }, d: null }]);
    expect(done.outcomes).toEqual([]);
    expect((await t.kernel.actions(workflow_id))[0]?.payload_hash).toBe(digest({ a: 1, b: { e: 4 }, d: null }));
  });

  it("may be rejected in the same breath: the new version stays a draft, and nothing is called", async () => {
    const { capability, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await decide(t, workflow_id, { decision: "reject", payload: { edit } });
    const end = await t.rest(workflow_id);
    expect([end.state, publish.calls.length]).toEqual(["cancelled", 0]);
    expect(end.outcomes.map((o) => o.status)).toEqual(["draft", "draft"]);
  });
});

describe("the approved payload is what runs", () => {
  it("to the digest: what the person saw, what is approved and what is called are one", async () => {
    const { capability, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const shown = await gateOf(t, workflow_id);
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    expect(publish.calls[0]?.input).toEqual(shown.payload);
    const [action] = (await t.kernel.actions(workflow_id)).filter((a) => a.step_id === "publish");
    expect([action?.payload_hash, action?.input_payload]).toEqual([shown.payload_digest, shown.payload]);
    expect((await payloads(t, workflow_id, "USER_APPROVED"))[0]?.payload_digest).toBe(shown.payload_digest);
  });

  it("as policy had changed it before it was shown", async () => {
    const write = counted("Note.Write", { effect: "final_write" });
    const rule = definePolicy({
      name: "stamp",
      stages: ["action"],
      evaluate: ({ subject }) => ({
        decision: "TRANSFORM",
        transform: { ...(subject.payload as object), stamp: 1 },
      }),
    });
    const capability = story([write], [step("w", write, { params: { text: "a" } })]);
    await using t = await createTestKernel({ capabilities: [capability], policies: [rule] });
    const { workflow_id } = await t.run(intent);
    const shown = await gateOf(t, workflow_id, "gate-w");
    expect(shown.payload).toEqual({ text: "a", stamp: 1 });
    await t.approve(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(write.calls.map((c) => c.input)).toEqual([shown.payload]);
  });
});

describe("what a person changed is put to policy like any payload", () => {
  it("a transform of the edited payload is what is shown, approved and run", async () => {
    const write = counted("Note.Write", { effect: "final_write" });
    const rule = definePolicy({
      name: "mask",
      stages: ["action"],
      evaluate: ({ subject: { payload } }) =>
        "iban" in (payload as object) ? { decision: "ALLOW_WITH_REDACTION", redactions: ["iban"] } : null,
    });
    const capability = story([write], [step("w", write, { params: { text: "a" } })]);
    await using t = await createTestKernel({ capabilities: [capability], policies: [rule] });
    const { workflow_id } = await t.run(intent);
    await decide(t, workflow_id, { decision: "approve", payload: { edit: { iban: "DE02" } } });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    const { payload, payload_digest } = await gateOf(t, workflow_id, "gate-w");
    expect(JSON.stringify(payload)).not.toContain("DE02");
    expect(write.calls.map((c) => c.input)).toEqual([payload]);
    expect((await payloads(t, workflow_id, "USER_APPROVED"))[0]?.payload_digest).toBe(payload_digest);
  });
});

describe("what policy makes of an edit", () => {
  const toEscrow = (stage: "action" | "outcome") =>
    definePolicy({
      name: "escrow",
      stages: [stage],
      evaluate({ subject }) {
        const { text = "", ...rest } = subject.payload as { readonly text?: string };
        if (!text.startsWith("large")) return null;
        return { decision: "TRANSFORM", reason: "large", transform: { ...rest, text: "escrow" } };
      },
    });

  it.each(["action", "outcome"] as const)(
    "[GAT-05] at stage %s is shown before anybody decides on it",
    async (stage) => {
      const { capability, publish } = publishing();
      await using t = await createTestKernel({ capabilities: [capability], policies: [toEscrow(stage)] });
      const { workflow_id } = await t.run(intent);
      const { payload_digest } = await gateOf(t, workflow_id);
      const said = { decision: "approve", payload: { payload_digest, edit: { text: "large" } } } as const;
      expect((await decide(t, workflow_id, said)).status).toBe("revised");
      await t.clock.settle();
      const shown = await gateOf(t, workflow_id);
      expect([shown.status, shown.payload, publish.calls]).toEqual(["open", { text: "escrow", to: "board" }, []]);
      await decide(t, workflow_id, { decision: "approve", payload: { payload_digest: shown.payload_digest } });
      expect((await t.rest(workflow_id)).state).toBe("completed");
      expect(publish.calls.map((c) => c.input)).toEqual([shown.payload]);
      expect(await t.kernel.replay(workflow_id)).toMatchObject({ identical: true });
    },
  );

  it("[GAT-03] beside what was edited: the edit that comes again is answered alike, and decides nothing", async () => {
    const write = counted("Note.Write", { effect: "final_write" });
    const stamped = definePolicy({
      name: "stamp",
      stages: ["action"],
      evaluate: ({ subject: { payload } }) =>
        (payload as { text: string }).text === "b"
          ? { decision: "TRANSFORM", transform: { ...(payload as object), to: "archive" } }
          : null,
    });
    const capability = story([write], [step("w", write, { params: { text: "a", to: "board" } })]);
    await using t = await createTestKernel({ capabilities: [capability], policies: [stamped] });
    const { workflow_id } = await t.run(intent);
    const { payload_digest } = await gateOf(t, workflow_id, "gate-w");
    const said = { decision: "approve", payload: { payload_digest, edit: { text: "b" } } } as const;
    const first = await decide(t, workflow_id, said);
    expect(first.status).toBe("revised");
    expect(await decide(t, workflow_id, said)).toEqual(first);
    expect([(await gateOf(t, workflow_id, "gate-w")).payload, write.calls]).toEqual([{ text: "b", to: "archive" }, []]);
  });
});

describe("an invalid edit", () => {
  const rules = [
    definePolicy({
      name: "not abroad",
      stages: ["action"],
      evaluate: ({ subject }) =>
        JSON.stringify(subject.payload).includes("abroad") ? { decision: "DENY", reason: "abroad" } : null,
    }),
    definePolicy({
      name: "no secrets",
      stages: ["outcome"],
      evaluate: ({ subject }) =>
        JSON.stringify(subject.payload).includes("secret") ? { decision: "DENY", reason: "secret" } : null,
    }),
  ];
  const security = {
    validateParams: (params: unknown) =>
      JSON.stringify(params).includes("<script>")
        ? ({ ok: false, reason: "markup" } as const)
        : ({ ok: true } as const),
  };
  const packageMore = { outcomes: { "Draft.Note": z.object({ text: z.string().min(1).max(40) }) } };

  it.each([
    ["the outcome's schema refuses", { text: "" }, "T4_OUTCOME_INVALID"],
    ["has the wrong type", { text: 7 }, "T4_OUTCOME_INVALID"],
    ["policy denies as an outcome", { text: "a secret" }, "T5_POLICY_DENIED"],
    ["policy denies as an action", { text: "abroad" }, "T5_POLICY_DENIED"],
    ["validateParams refuses", { text: "<script>" }, "T4_PARAMS_REFUSED"],
  ])("that %s leaves the gate open and nothing noted but what policy was asked", async (_why, wrong, code) => {
    const { capability, publish } = publishing({}, packageMore);
    await using t = await createTestKernel({ capabilities: [capability], policies: rules, security });
    const { workflow_id } = await t.run(intent);
    const before = await t.kernel.workflow(workflow_id);
    const seen = await eventsOf(t, workflow_id);
    const refused = await refusalOf(decide(t, workflow_id, { decision: "approve", payload: { edit: wrong } }));
    expect(refused.code).toBe(code);
    await t.clock.settle();
    const noted = (await eventsOf(t, workflow_id)).slice(seen.length).map((e) => e.event_type);
    expect(noted.filter((type) => type !== "POLICY_DECIDED")).toEqual([]);
    const after = await t.kernel.workflow(workflow_id);
    expect([after.state, after.gates, after.outcomes]).toEqual(["waiting_for_user", before.gates, before.outcomes]);
    expect(publish.calls).toHaveLength(0);

    await decide(t, workflow_id, { decision: "approve", payload: { edit } });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(publish.calls.map((c) => c.input)).toEqual([{ ...edit, to: "board" }]);
  });

  it("of a payload that the operator's own schema refuses leaves the gate open", async () => {
    const write = counted("Note.Write", { effect: "final_write", input: z.object({ n: z.number().max(5) }) });
    const capability = story([write], [step("w", write, { params: { n: 1 } })]);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id, gates } = await t.run(intent);
    const refused = await refusalOf(decide(t, workflow_id, { decision: "approve", payload: { edit: { n: 6 } } }));
    expect(refused.code).toBe("T4_PARAMS_INVALID");
    await t.clock.settle();
    expect((await t.kernel.workflow(workflow_id)).gates).toEqual(gates);
    expect((await t.types(workflow_id)).filter((type) => /^(USER_|GATE_REVISED|OUTCOME_)/.test(type))).toEqual([]);
    expect(write.calls).toHaveLength(0);
  });

  it("that decides is put to policy at stage gate as it makes the payload", async () => {
    const pay = counted("Note.Pay", { effect: "final_write", input: z.object({ amount: z.number() }) });
    const capability = story([pay], [step("pay", pay, { gate: {}, params: { amount: 10 } })]);
    const limit = definePolicy({
      name: "limit",
      stages: ["gate"],
      evaluate: ({ subject: { payload } }) =>
        (payload as { readonly amount: number }).amount > 100 ? { decision: "DENY", reason: "too much for one" } : null,
    });
    await using t = await createTestKernel({ capabilities: [capability], policies: [limit] });
    const { workflow_id, gates } = await t.run(intent);
    const make = (amount: number) => decide(t, workflow_id, { decision: "approve", payload: { edit: { amount } } });
    expect(await refusalOf(make(1_000))).toMatchObject({ code: "T5_POLICY_DENIED", message: "too much for one" });
    expect((await t.kernel.workflow(workflow_id)).gates).toEqual(gates);
    await make(20);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(pay.calls.map((c) => c.input)).toEqual([{ amount: 20 }]);
    const judged = (await payloads(t, workflow_id, "POLICY_DECIDED")).filter(({ stage }) => stage === "gate");
    expect(judged.map(({ decision }) => decision)).toEqual(["ALLOW", "DENY", "ALLOW", "ALLOW"]);
    expect(await t.kernel.replay(workflow_id)).toMatchObject({ identical: true });
  });
});
