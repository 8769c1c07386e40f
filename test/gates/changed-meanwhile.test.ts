/**
 * What changes while somebody is asked about it: the answer was given on what stood before, and says nothing of what
 * stands now.
 */
import { describe, expect, it } from "vitest";
import type { Middleware, PolicyRule, Security } from "../../src/index.ts";
import { definePolicy, digest } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { person } from "./people.ts";
import { asShown, counted, gateOf, held, intent, Note, payloads, step, story } from "./story.ts";

const byAnn = { tenant_id: 1, principal: person("ann"), decision: "approve" } as const;

/** A policy that takes as long as the test likes over the first question about this. */
function slowly(
  about: string,
  stage: PolicyRule["stages"][number],
  answer: Awaited<ReturnType<PolicyRule["evaluate"]>>,
) {
  const first = held<object>();
  const isAsked = { times: 0 };
  const evaluate: PolicyRule["evaluate"] = async ({ subject }) => {
    if (!JSON.stringify(subject).includes(about)) return null;
    isAsked.times += 1;
    if (isAsked.times === 1) await first.promise;
    return answer;
  };
  return { isAsked, finish: () => first.release({}), rule: definePolicy({ name: "slow", stages: [stage], evaluate }) };
}

/** A draft that the gate of `publish` is about, and that `tell` passes on without one. */
function toldBeside(more: object = {}) {
  const draft = counted("Note.Draft", { effect: "write_draft" }, () => ({ text: "draft" }));
  const publish = counted("Note.Publish", { effect: "final_write", input: Note });
  const tell = counted("Note.Tell", { effect: "write_draft", ...more });
  const rows = [
    step("draft", draft, { outcome: "Draft.Note" }),
    step("publish", publish, { applies: "draft", params: { text: "{{draft.output.text}}" }, gate: {} }),
    step("tell", tell, { params: { told: "{{draft.output.text}}" }, depends_on: ["draft"] }),
  ];
  return { publish, tell, capability: story([draft, publish, tell], rows, { outcomes: { "Draft.Note": Note } }) };
}

const isEvil = (params: unknown) => JSON.stringify(params) === '{"told":"evil"}';
const noEvil: Security["validateParams"] = (params) => (isEvil(params) ? { ok: false, reason: "evil" } : { ok: true });
const edit = { gate_id: "gate-publish", payload: { edit: { text: "evil" } } };

describe("what changes while somebody is asked about it", () => {
  it("[GAT-07] a decision given early is void for who edits elsewhere while policy looks at it", async () => {
    const end = held<object>();
    const [first, send] = [counted("Note.First", {}, () => end.promise), counted("Note.Send")];
    const rows = [
      step("first", first),
      step("beside", send, { gate: {}, params: { text: "zero" } }),
      step("second", send, {
        gate: { separation: true },
        params: { text: "{{first.output.text}}" },
        depends_on: ["first"],
      }),
    ];
    const policy = slowly("gate-second", "gate", null);
    await using t = await createTestKernel({ capabilities: [story([first, send], rows)], policies: [policy.rule] });
    const id = await t.submit(intent);
    await t.clock.settle();
    const payload_digest = digest({ text: "first" });
    await t.kernel.decideGate(id, { ...byAnn, gate_id: "gate-second", payload: { payload_digest } });
    end.release({ text: "first" });
    await t.clock.settle();
    expect(policy.isAsked.times).toBe(1);
    await t.kernel.decideGate(id, { ...byAnn, gate_id: "gate-beside", payload: { edit: { text: "one" } } });
    policy.finish();
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    expect((await payloads(t, id, "USER_APPROVED")).map((each) => each.gate_id)).toEqual(["gate-beside"]);
    expect((await gateOf(t, id, "gate-second")).requesters).toContainEqual({ type: "user", id: "ann" });
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("[GAT-07] a decision on a gate that escalates while policy looks at it must be given again", async () => {
    const send = counted("Note.Send");
    const gate = { roles: ["user"], escalation: [{ after_ms: 500, role: "user", replace: true }] };
    const policy = slowly("gate-s1", "gate", null);
    const rows = [step("s1", send, { gate })];
    await using t = await createTestKernel({ capabilities: [story([send], rows)], policies: [policy.rule] });
    const { workflow_id } = await t.run(intent);
    const deciding = t.kernel.decideGate(workflow_id, { ...byAnn, gate_id: "gate-s1" });
    const refused = expect(deciding).rejects.toMatchObject({ error: { code: "T5_GATE_CONFLICT" } });
    await t.clock.advance(500);
    policy.finish();
    await t.clock.settle();
    await refused;
    expect((await t.kernel.decideGate(workflow_id, { ...byAnn, gate_id: "gate-s1" })).status).toBe("resumed");
    expect((await t.rest(workflow_id)).state).toBe("completed");
  });

  it("a payload passes validateParams that an edit made of it while policy looked at the one before", async () => {
    const { tell, capability } = toldBeside();
    const policy = slowly("Note.Tell", "action", null);
    const security = { validateParams: noEvil };
    await using t = await createTestKernel({ capabilities: [capability], policies: [policy.rule], security });
    const id = await t.submit(intent);
    await t.clock.settle();
    await t.kernel.decideGate(id, { ...byAnn, ...edit });
    policy.finish();
    const { steps } = await t.rest(id);
    expect(tell.calls).toEqual([]);
    expect(steps.find((one) => one.step_id === "tell")?.error?.code).toBe("T4_PARAMS_REFUSED");
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("a hook that let one payload through is asked about the next", async () => {
    const { tell, capability } = toldBeside();
    const first = held<object>();
    const seen: unknown[] = [];
    const guard: Middleware = {
      name: "Guard",
      async before({ step_id, params }) {
        if (step_id !== "tell") return;
        seen.push(params);
        if (seen.length === 1) await first.promise;
        if (isEvil(params)) throw new Error("no evil");
      },
    };
    await using t = await createTestKernel({
      capabilities: [capability],
      middleware: [guard],
      limits: { maxReplans: 0 },
    });
    const id = await t.submit(intent);
    await t.clock.settle();
    expect(seen).toEqual([{ told: "draft" }]);
    await t.kernel.decideGate(id, { ...byAnn, ...edit });
    first.release({});
    await t.rest(id);
    expect(seen.slice(0, 2)).toEqual([{ told: "draft" }, { told: "evil" }]);
    expect(tell.calls).toEqual([]);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });
});

describe("what a hook sees before a call", () => {
  const seen: unknown[] = [];
  const watch: Middleware = {
    name: "Watch",
    before({ step_id, params }) {
      if (step_id === "send") seen.push(params);
    },
  };

  it("is what policy made of the payload", async () => {
    seen.length = 0;
    const send = counted("Note.Send");
    const masks = definePolicy({
      name: "masks",
      stages: ["action"],
      evaluate: () => ({ decision: "ALLOW_WITH_REDACTION", reason: "private", redactions: ["text"] }),
    });
    const capability = story([send], [step("send", send, { params: { text: "secret" } })]);
    await using t = await createTestKernel({ capabilities: [capability], policies: [masks], middleware: [watch] });
    await t.rest(await t.submit(intent));
    expect(seen).toEqual(send.calls.map(({ input }) => input));
    expect(JSON.stringify(seen)).not.toContain("secret");
  });

  it("is what a person made of it at the gate, also where another step keeps the workflow awake", async () => {
    seen.length = 0;
    const end = held<object>();
    const [slow, send] = [counted("Note.Slow", {}, () => end.promise), counted("Note.Send")];
    const rows = [step("slow", slow), step("send", send, { gate: {}, params: { text: "one" } })];
    await using t = await createTestKernel({ capabilities: [story([slow, send], rows)], middleware: [watch] });
    const id = await t.submit(intent);
    await t.clock.settle();
    const payload = { ...(await asShown(t, id, "gate-send")), edit: { text: "two" } };
    await t.kernel.decideGate(id, { ...byAnn, gate_id: "gate-send", payload });
    end.release({});
    await t.rest(id);
    expect(send.calls.map(({ input }) => input)).toEqual([{ text: "two" }]);
    expect(seen).toEqual([{ text: "two" }]);
  });
});
