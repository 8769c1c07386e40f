/**
 * What was refused, by a hook, a check, policy, a planner or a person, replays as it was: also where a hook answers
 * late.
 */
import { exportJWK, generateKeyPair } from "jose";
import { expect, it } from "vitest";
import { digest } from "../../src/contract/digest.ts";
import { raise } from "../../src/contract/error.ts";
import { kernelError } from "../../src/contract/error-codes.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import { definePolicy, operatorError, type PublicJwk, signApproval } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { ann, approve, bob, gated, reject } from "../gates/people.ts";
import { counted, eventsOf, gateOf, held, intent, Note, payloads, refusalOf, step, story } from "../gates/story.ts";

const later = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const notBob = definePolicy({
  name: "not bob",
  stages: ["gate"],
  evaluate: ({ auth }) => (auth.principal_id === "bob" ? { decision: "DENY", reason: "not you" } : null),
});

async function expectSame(t: TestKernel, id: string): Promise<void> {
  expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
}

it("[INV-12] a hook before the call, where the way back waits for another", async () => {
  const refuse = () => {
    throw operatorError({ code: "NO", message: "not this one", category: "dependency" });
  };
  const middleware = [{ name: "guard", before: refuse, onError: later }];
  const work = counted("Note.Work");
  await using t = await createTestKernel({ capabilities: [story([work], [step("a", work)])], middleware });
  const { workflow_id, state } = await t.run(intent);
  expect([state, work.calls.length]).toEqual(["failed", 0]);
  await expectSame(t, workflow_id);
});

it.each([
  ["fails", "at once", "at once"],
  ["fails", "at once", "late"],
  ["fails", "late", "at once"],
  ["fails", "late", "late"],
  ["denies", "at once", "at once"],
  ["denies", "at once", "late"],
  ["denies", "late", "at once"],
  ["denies", "late", "late"],
])(
  "[INV-12] a hook that %s, %s, of another run's call, which nobody was asked about; the chain is back %s",
  async (how, fails, wayBack) => {
    let refuses = false;
    const category = how === "fails" ? "dependency" : "policy_denied";
    const no = operatorError({ code: "NO", message: "not this one", category });
    const refuse = async (): Promise<void> => {
      if (fails === "late") await later();
      throw no;
    };
    const guard = {
      name: "guard",
      before(): undefined | Promise<void> {
        if (refuses && fails === "at once") throw no;
        return refuses ? refuse() : undefined;
      },
      onError: () => (wayBack === "late" ? later() : undefined),
    };
    const work = counted("Note.Work", { effect: "write_draft" });
    const capability = story([work], [step("a", work, { gate: {} })]);
    const middleware = [guard];
    await using t = await createTestKernel({ capabilities: [capability], middleware, limits: { maxReplans: 0 } });
    const { workflow_id: first } = await t.run(intent);
    await t.approve(first);
    await t.rest(first);
    refuses = true;
    const { workflow_id: again } = await t.kernel.retry(first, { tenant_id: 1, principal: ann, mode: "replay" });
    const { state, gates } = await t.rest(again);
    expect([state, gates, work.calls.length]).toEqual(["failed", [], 1]);
    await expectSame(t, again);
  },
);

it.each(["at once", "late"])(
  "[GAT-07] a person who spoke ahead of the gate: its step ends, though a hook answers %s",
  async (when) => {
    const look = held<{ n: number }>();
    const first = counted("Note.Look", {}, () => look.promise);
    const send = counted("Note.Send");
    const steps = [
      step("look", first),
      step("send", send, { depends_on: ["look"], params: { n: "{{look.output.n}}" }, gate: {} }),
    ];
    const middleware = [{ name: "log", onError: () => (when === "late" ? later() : undefined) }];
    await using t = await createTestKernel({ capabilities: [story([first, send], steps)], middleware });
    const id = await t.submit(intent);
    await t.clock.settle();
    const ahead = { tenant_id: 1, principal: ann, gate_id: "gate-send", decision: "reject" } as const;
    await t.kernel.decideGate(id, { ...ahead, payload: { payload_digest: digest({ n: 1 }) } });
    look.release({ n: 1 });
    const end = await t.rest(id);
    expect([end.state, end.steps[1]?.error?.code, send.calls.length]).toEqual(["cancelled", "T5_HUMAN_DENIED", 0]);
    await expectSame(t, id);
  },
);

it.each([
  ["refuses", "at once"],
  ["refuses", "late"],
  ["lets it through", "late"],
])(
  "[INV-12] a hook that %s, %s, behind a gate that opened approved, of work that another run may have done",
  async (says, when) => {
    const refuse = () => {
      if (says === "refuses") throw operatorError({ code: "NO", message: "not this one", category: "dependency" });
    };
    const before = ({ skill_name }: { readonly skill_name: string }) => {
      if (skill_name !== "Note.Publish") return;
      return when === "late" ? later().then(refuse) : refuse();
    };
    const text = held<{ text: string }>();
    const draft = counted("Note.Draft", { effect: "write_draft" }, () => text.promise);
    const publish = counted("Note.Publish", { effect: "final_write" });
    const steps = [
      step("draft", draft, { outcome: "Draft.Note" }),
      step("publish", publish, { applies: "draft", params: { text: "{{draft.output.text}}" }, gate: {} }),
    ];
    const capabilities = [story([draft, publish], steps, { outcomes: { "Draft.Note": Note } })];
    await using t = await createTestKernel({ capabilities, middleware: [{ name: "guard", before }] });
    const id = await t.submit(intent);
    await t.clock.settle();
    const ahead = { tenant_id: 1, principal: ann, gate_id: "gate-publish", decision: "approve" } as const;
    await t.kernel.decideGate(id, { ...ahead, payload: { payload_digest: digest({ text: "one" }) } });
    text.release({ text: "one" });
    await t.rest(id);
    expect(await t.types(id)).toContain("USER_APPROVED");
    expect(publish.calls).toHaveLength(says === "refuses" ? 0 : 1);
    await expectSame(t, id);
  },
);

it("[INV-12] policy at a gate, and then a person, of a call that its operator checks", async () => {
  const work = counted("Note.Work", { check: () => undefined });
  const capability = story([work], [step("a", work, { gate: {} })]);
  await using t = await createTestKernel({ capabilities: [capability], policies: [notBob] });
  const { workflow_id: id } = await t.run(intent);
  expect((await refusalOf(approve(t, id, bob))).code).toBe("T5_POLICY_DENIED");
  await reject(t, id, ann);
  await t.rest(id);
  await expectSame(t, id);
});

/** A gate of signed votes, and bob's approval of what it shows. */
async function signedGate() {
  const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
  const known = (await exportJWK(publicKey)) as PublicJwk;
  const key = await exportJWK(privateKey);
  const sign = async (t: TestKernel, id: string): Promise<string> =>
    signApproval(await gateOf(t, id, "gate-s1"), { principal: bob, decision: "approve", key });
  return { ...gated({ signed: true }), known, sign };
}

it("[INV-12] policy, of a vote whose signature nobody has kept", async () => {
  const { capability, known, sign } = await signedGate();
  const policies = [notBob];
  await using t = await createTestKernel({ capabilities: [capability], policies, approverKeys: () => known });
  const { workflow_id: id } = await t.run(intent);
  const signature = await sign(t, id);
  expect((await refusalOf(approve(t, id, bob, { signature }))).code).toBe("T5_POLICY_DENIED");
  await expectSame(t, id);
});

it("[INV-12] a vote on what has changed since it was shown", async () => {
  let disk = "one";
  const preview = () => ({ preview: disk, basis: [{ name: "file", digest: disk }] });
  const work = counted("Note.Work", { effect: "write_draft", preview });
  await using t = await createTestKernel({ capabilities: [story([work], [step("a", work, { gate: {} })])] });
  const { workflow_id: id } = await t.run(intent);
  disk = "two";
  expect((await refusalOf(approve(t, id, ann))).code).toBe("T5_GATE_CONFLICT");
  expect((await eventsOf(t, id)).map((event) => event.event_type)).toContain("GATE_REVISED");
  await expectSame(t, id);
});

const slow = definePolicy({ name: "slow", stages: ["gate"], evaluate: () => later().then(() => null) });

it("[INV-12] a rejection that policy judged while a vote found a changed basis", async () => {
  let disk = "one";
  const preview = () => ({ preview: disk, basis: [{ name: "file", digest: disk }] });
  const work = counted("Note.Work", { effect: "write_draft", preview });
  const capabilities = [story([work], [step("a", work, { gate: {} })])];
  await using t = await createTestKernel({ capabilities, policies: [slow] });
  const { workflow_id: id } = await t.run(intent);
  disk = "two";
  const words = await Promise.all([refusalOf(reject(t, id, bob)), refusalOf(approve(t, id, ann))]);
  expect(words.map(({ code }) => code)).toEqual(["T5_GATE_CONFLICT", "T5_GATE_CONFLICT"]);
  const left = (await eventsOf(t, id)).slice(-2);
  expect(left.map((event) => event.event_type)).toEqual(["GATE_REVISED", "POLICY_DECIDED"]);
  await expectSame(t, id);
});

it("[INV-12] a vote whose signature was checked while an edit changed the version that it named", async () => {
  const { capability, known, sign } = await signedGate();
  await using t = await createTestKernel({ capabilities: [capability], approverKeys: () => known });
  const { workflow_id: id, gates } = await t.run(intent);
  const named = { signature: await sign(t, id), payload_digest: gates[0]?.payload_digest ?? "" };
  const words = [refusalOf(approve(t, id, bob, named)), approve(t, id, ann, { edit: { n: 9 } })] as const;
  expect(await Promise.all(words)).toMatchObject([{ code: "T5_GATE_CONFLICT" }, { status: "revised" }]);
  await expectSame(t, id);
});

it("[INV-12] a vote whose signature was being checked when an edit changed what it was made on", async () => {
  const { capability, known, sign } = await signedGate();
  await using t = await createTestKernel({ capabilities: [capability], approverKeys: () => known });
  const { workflow_id: id } = await t.run(intent);
  const signature = await sign(t, id);
  const words = [refusalOf(approve(t, id, bob, { signature })), approve(t, id, ann, { edit: { n: 9 } })] as const;
  expect(await Promise.all(words)).toMatchObject([{ code: "T5_GATE_CONFLICT" }, { status: "revised" }]);
  const left = (await eventsOf(t, id)).slice(-2);
  expect(left.map((event) => event.event_type)).toEqual(["GATE_REVISED", "POLICY_DECIDED"]);
  await expectSame(t, id);
});

it("[INV-12] a planner that failed, and planned when it was asked again", async () => {
  let asked = 0;
  const work = counted("Note.Work");
  const capability = story([work], [step("a", work)]);
  const plan = () => {
    asked += 1;
    if (asked === 1) throw new Error("the model is away");
    return { plan: capability.plan as never, usage: { total_cost: 0 } };
  };
  await using t = await createTestKernel({ capabilities: [capability], planner: { plan } });
  const { workflow_id: id, state } = await t.run(intent);
  expect(state).toBe("failed");
  await t.kernel.retry(id, { tenant_id: 1, principal: ann, mode: "resume_failed_steps" });
  expect((await t.rest(id)).state).toBe("completed");
  await expectSame(t, id);
});

it("[INV-12] screening, of what a person said that a lost call had given", async () => {
  const work = counted("Note.Work", { effect: "write_draft", timeoutSec: 1 }, () => new Promise(() => undefined));
  const validateOutput = () => {
    throw new Error("the validator is broken");
  };
  const capability = story([work], [step("a", work)]);
  const limits = { maxReplans: 0 };
  await using t = await createTestKernel({ capabilities: [capability], security: { validateOutput }, limits });
  const { workflow_id: id } = await t.run(intent);
  await t.clock.advance(1000);
  await t.rest(id);
  await t.approve(id, "gate-a_doubt1", { resolution: "done", result: { n: 1 } });
  expect((await t.rest(id)).steps[0]?.error?.code).toBe("T4_OUTPUT_INVALID");
  await expectSame(t, id);
});

it.each(["at once", "late"])(
  "[INV-12] screening, %s, of a result that another run had got, so that nobody was asked about the call",
  async (when) => {
    let isBroken = false;
    const fail = async (): Promise<never> => {
      await later();
      throw new Error("the validator is broken");
    };
    const validateOutput = () => {
      if (!isBroken) return { ok: true as const };
      if (when === "late") return fail();
      throw new Error("the validator is broken");
    };
    const work = counted("Note.Work", { effect: "write_draft" });
    const capabilities = [story([work], [step("a", work, { gate: {} })])];
    await using t = await createTestKernel({ capabilities, security: { validateOutput }, limits: { maxReplans: 0 } });
    const { workflow_id: first } = await t.run(intent);
    await t.approve(first);
    await t.rest(first);
    isBroken = true;
    const { workflow_id: again } = await t.kernel.retry(first, { tenant_id: 1, principal: ann, mode: "replay" });
    const { gates, steps } = await t.rest(again);
    expect([gates, steps[0]?.error?.code]).toEqual([[], "T4_OUTPUT_INVALID"]);
    await expectSame(t, again);
  },
);

it("[INV-12] a hook, of another attempt of a call in doubt: its person is asked with its message", async () => {
  let attempts = 0;
  const before = (): void => {
    attempts += 1;
    const denied = kernelError("T5_POLICY_DENIED", "the host may not", moduleRef(5, "policy", "evaluate"));
    if (attempts > 1) raise(denied);
  };
  const more = { effect: "write_draft", timeoutSec: 1, retry: "STANDARD" } as const;
  const work = counted("Note.Work", more, () => new Promise(() => undefined));
  const capability = story([work], [step("a", work)]);
  await using t = await createTestKernel({ capabilities: [capability], middleware: [{ name: "guard", before }] });
  const { workflow_id: id } = await t.run(intent);
  await t.clock.advance(60_000);
  await t.rest(id);
  expect(await payloads(t, id, "ACTION_IN_DOUBT")).toMatchObject([
    { reason: "the step cannot go on: the host may not" },
  ]);
  await expectSame(t, id);
});
