/** One idempotency key over a workflow and all that do its work again: it takes effect once, whoever calls first. */
import { describe, expect, it } from "vitest";
import { definePolicy, operatorError } from "../../src/index.ts";
import { createTestKernel, memoryLedger, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { type Counted, counted, decide, intent, Note, payloads, step, story } from "../gates/story.ts";

type Mode = "replay" | "resume_failed_steps";
const again = async (t: TestKernel, id: string, mode: Mode = "replay"): Promise<string> =>
  (await t.kernel.retry(id, { ...testCaller, mode })).workflow_id;

interface Sent {
  readonly t: TestKernel;
  readonly send: Counted;
  /** A workflow whose sending has failed for certain. */
  readonly failed: string;
  readonly ends: (() => void)[];
}

/**
 * The sending fails once, says that nothing was sent, and succeeds ever after; then it takes as long as the test likes.
 */
async function failOnce(answer: unknown = { sent: true }): Promise<Sent> {
  const ends: (() => void)[] = [];
  const send: Counted = counted("Note.Send", { effect: "external_send" }, () => {
    if (send.calls.length === 1) throw operatorError({ code: "NOT_YET", message: "nothing was sent" });
    return new Promise((resolve) => ends.push(() => resolve(answer)));
  });
  const capability = story([send], [step("send", send)]);
  const t = await createTestKernel({
    capabilities: [capability],
    defaultPolicies: false,
    limits: { maxReplans: 0 },
    ledger: memoryLedger(),
  });
  const { workflow_id: failed, state } = await t.run(intent);
  expect(state).toBe("failed");
  return { t, send, failed, ends };
}

async function endAll({ t, ends }: Sent): Promise<void> {
  await t.clock.settle();
  for (const end of ends.splice(0)) end();
  await t.clock.settle();
}

const resultOf = async (t: TestKernel, id: string) => (await t.kernel.actions(id)).map((one) => one.result_payload);

describe("one key, in workflows that do the same work again", () => {
  it("[IDM-03] [INV-15] an answer for one key does not count for the key of the outcome's new version", async () => {
    const draft = counted("Note.Draft", {}, () => ({ text: "a draft" }));
    const publish = counted("Note.Publish", { effect: "final_write" });
    const applying = (id: string, more: object = {}) =>
      step(id, publish, { applies: "draft", params: { text: "{{draft.output.text}}" }, ...more });
    const rows = [
      step("draft", draft, { outcome: "Draft.Note" }),
      applying("a"),
      applying("b", { outcome: "Draft.Note" }),
    ];
    const ledger = memoryLedger();
    const answers: (() => void)[] = [];
    let isSlow = false;
    const findKey: typeof ledger.findKey = async (...asked) => {
      const found = await ledger.findKey(...asked);
      if (isSlow && asked[1].startsWith("apply:")) await new Promise<void>((resolve) => answers.push(resolve));
      return found;
    };
    await using t = await createTestKernel({
      capabilities: [story([draft, publish], rows, { outcomes: { "Draft.Note": Note } })],
      ledger: { ...ledger, findKey },
    });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id, "gate-a");
    await t.rest(workflow_id);
    await t.reject(workflow_id, "gate-b");
    await t.rest(workflow_id);
    isSlow = true;
    const child = await again(t, workflow_id);
    await t.clock.settle();
    expect(answers.length).toBe(2);
    // b is answered by what a has done in the other workflow, and makes the outcome's next version of it: a is asked
    // for then.
    answers[1]?.();
    await t.clock.settle();
    isSlow = false;
    for (const answer of answers) answer();
    await t.rest(child);
    const started = (await payloads(t, child, "ACTION_STARTED")).map(({ key }) => key);
    expect(started.filter((key) => key.endsWith("@2"))).toEqual([]);
    expect((await t.kernel.workflow(child)).gates.map(({ gate_id, status }) => [gate_id, status])).toEqual([
      ["gate-a", "open"],
    ]);
    expect((await t.kernel.replay(child)).identical).toBe(true);
  });

  it("[IDM-03] a start without a call takes no number of the key: one call answers both steps", async () => {
    const draft = counted("Note.Draft", {}, () => ({ text: "a draft" }));
    const publish = counted("Note.Publish", { effect: "final_write" });
    const applying = (id: string) =>
      step(id, publish, { applies: "draft", params: { text: "{{draft.output.text}}" }, gate: {} });
    let isRefusing = false;
    const refusing = {
      name: "refusing",
      before: () => {
        if (isRefusing) throw operatorError({ code: "BUSY", message: "the host is busy" });
      },
    };
    await using t = await createTestKernel({
      capabilities: [
        story([draft, publish], [step("draft", draft, { outcome: "Draft.Note" }), applying("a"), applying("b")], {
          outcomes: { "Draft.Note": Note },
        }),
      ],
      middleware: [refusing],
      limits: { maxReplans: 0 },
      ledger: memoryLedger(),
    });
    const { workflow_id } = await t.run(intent);
    await t.reject(workflow_id, "gate-a");
    await t.reject(workflow_id, "gate-b");
    await t.rest(workflow_id);
    const [one, two] = [await again(t, workflow_id), await again(t, workflow_id)];
    await t.rest(one);
    await t.rest(two);
    isRefusing = true;
    await t.approve(one, "gate-b");
    await t.rest(one);
    isRefusing = false;
    expect((await payloads(t, one, "ACTION_STARTED")).at(-1)?.key).toMatch(/^apply:/);
    expect(publish.calls.length).toBe(0);
    await t.approve(two, "gate-a");
    await t.rest(two);
    await t.approve(one, "gate-a");
    await t.rest(one);
    expect(publish.calls.length).toBe(1);
  });

  it("[IDM-03] takes effect once if two begin one after the other: the second gets the first's result", async () => {
    const sent = await failOnce();
    await using t = sent.t;
    const one = await again(t, sent.failed);
    await endAll(sent);
    const two = await again(t, sent.failed);
    await endAll(sent);
    expect(sent.send.calls.length).toBe(2);
    expect(await resultOf(t, two)).toEqual(await resultOf(t, one));
  });

  it.each(["ends", "is under way"])(
    "[IDM-03] a start that a hook refused reserves no call: another workflow's call of the key counts where it %s",
    async (how) => {
      const draft = counted("Note.Draft", {}, () => ({ text: "a draft" }));
      const ends: (() => void)[] = [];
      const publish = counted(
        "Note.Publish",
        { effect: "final_write" },
        () => new Promise((resolve) => ends.push(() => resolve({ id: 7 }))),
      );
      const applying = (id: string) =>
        step(id, publish, { applies: "draft", params: { text: "{{draft.output.text}}" } });
      const rows = [step("draft", draft, { outcome: "Draft.Note" }), applying("a"), applying("b")];
      const before = ({ step_id }: { readonly step_id: string }): void => {
        if (step_id === "b") throw operatorError({ code: "BUSY", message: "the host is busy", category: "transient" });
      };
      await using t = await createTestKernel({
        capabilities: [story([draft, publish], rows, { outcomes: { "Draft.Note": Note } })],
        middleware: [{ name: "busy", before }],
        limits: { maxReplans: 0 },
        ledger: memoryLedger(),
      });
      const { workflow_id: first } = await t.run(intent);
      for (const gate of ["gate-a", "gate-b"]) await t.reject(first, gate);
      await t.rest(first);
      const [one, two] = [await again(t, first), await again(t, first)];
      for (const id of [one, two]) await t.rest(id);
      await t.approve(one, "gate-b");
      await t.rest(one);
      await t.approve(two, "gate-a");
      await t.clock.settle();
      const endAllCalls = (): void => {
        for (const end of ends.splice(0)) end();
      };
      if (how === "ends") endAllCalls();
      await t.clock.settle();
      await t.approve(one, "gate-a");
      await t.clock.settle();
      expect(publish.calls.length).toBe(1);
      endAllCalls();
      await t.clock.settle();
      for (const id of [one, two]) expect((await t.kernel.replay(id)).difference).toBeNull();
    },
  );

  it("does not answer an approval of another payload than the one that was called: the person is told", async () => {
    const send = counted("Note.Send", { effect: "write_draft" });
    const rule = definePolicy({
      name: "sender",
      stages: ["action"],
      evaluate: ({ auth }) => ({ decision: "TRANSFORM", transform: { from: auth.principal_id } }),
    });
    const capabilities = [story([send], [step("send", send, { gate: {} })])];
    await using t = await createTestKernel({ capabilities, policies: [rule] });
    const { workflow_id } = await t.run(intent);
    await t.reject(workflow_id);
    await t.rest(workflow_id);
    const other = { tenant_id: 1, principal: { type: "user", id: 2, role: "user" } } as const;
    const children = await Promise.all(
      [testCaller, other].map((caller) => t.kernel.retry(workflow_id, { ...caller, mode: "replay" })),
    );
    const ends: unknown[] = [];
    for (const { workflow_id: id } of children) await t.rest(id);
    for (const { workflow_id: id } of children) {
      await t.approve(id);
      const { state, error } = await t.rest(id);
      ends.push([state, error?.code ?? null, (await t.kernel.replay(id)).difference]);
    }
    expect(ends).toEqual([
      ["completed", null, null],
      ["failed", "T4_IDEMPOTENCY_PAYLOAD_MISMATCH", null],
    ]);
    expect(send.calls.map(({ input }) => input)).toEqual([{ from: 1 }]);
  });

  it("[IDM-06] is another for what a person edited, also where time lets that through", async () => {
    const send = counted("Note.Send", { effect: "write_draft" });
    const gate = { quorum: { approvals: 2 }, expiry: { after_ms: 1000, action: "allow" } } as const;
    const params = { text: "as planned" };
    await using t = await createTestKernel({ capabilities: [story([send], [step("send", send, { gate, params })])] });
    const { workflow_id } = await t.run(intent);
    const edit = { text: "as edited" };
    await t.kernel.decideGate(workflow_id, {
      ...testCaller,
      gate_id: "gate-send",
      decision: "approve",
      payload: { edit },
    });
    await t.clock.advance(1000);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    const child = (await t.kernel.retry(workflow_id, { ...testCaller, mode: "replay" })).workflow_id;
    await t.rest(child);
    await t.clock.advance(1000);
    expect((await t.rest(child)).state).toBe("completed");
    expect(send.calls.map(({ input }) => input)).toEqual([edit, params]);
    expect(new Set(send.calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
    for (const id of [workflow_id, child]) expect((await t.kernel.replay(id)).difference).toBeNull();
  });

  it("[IDM-03] takes effect once if the second's approved version is not known any more: nobody is asked", async () => {
    let looks = 0;
    const preview = () => {
      looks += 1;
      if (looks > 5) throw operatorError({ code: "GONE", message: "nothing to show", category: "dependency" });
      return { preview: "it", diff: "a line", basis: [{ name: "it", digest: "1" }] };
    };
    const send = counted("Note.Send", { effect: "write_draft", preview: preview as never });
    await using t = await createTestKernel({ capabilities: [story([send], [step("send", send, { gate: {} })])] });
    const { workflow_id } = await t.run(intent);
    await t.reject(workflow_id);
    await t.rest(workflow_id);
    const children = [await again(t, workflow_id), await again(t, workflow_id)];
    for (const child of children) await t.rest(child);
    const ends: unknown[] = [];
    for (const [i, child] of children.entries()) {
      looks = i === 0 ? 0 : 4;
      await t.approve(child);
      const { state, steps } = await t.rest(child);
      ends.push([state, steps.length, (await t.kernel.replay(child)).difference]);
    }
    expect([ends, send.calls.length]).toEqual([Array(2).fill(["completed", 1, null]), 1]);
  });

  it("[IDM-03] takes effect once if one of two plans the step anew before its call: it is the same work", async () => {
    let looks = 0;
    const check = () => {
      looks += 1;
      if (looks === 3) throw operatorError({ code: "AWAY", message: "not now", category: "dependency" });
    };
    const send = counted("Note.Send", { effect: "write_draft", check: check as never });
    await using t = await createTestKernel({ capabilities: [story([send], [step("send", send, { gate: {} })])] });
    const { workflow_id } = await t.run(intent);
    await t.reject(workflow_id);
    await t.rest(workflow_id);
    const [one, two] = [await again(t, workflow_id), await again(t, workflow_id)];
    for (const child of [one, two]) await t.rest(child);
    await t.approve(one, "gate-send");
    await t.rest(one);
    await t.approve(two, "gate-send_r1");
    expect([(await t.rest(two)).state, await resultOf(t, two)]).toEqual(["completed", await resultOf(t, one)]);
    expect(send.calls.length).toBe(1);
    for (const child of [one, two]) expect((await t.kernel.replay(child)).difference).toBeNull();
  });

  it("[IDM-03] a stored result of null is a result for all of them", async () => {
    const sent = await failOnce(null);
    await using t = sent.t;
    await again(t, sent.failed);
    await endAll(sent);
    const two = await again(t, sent.failed);
    await endAll(sent);
    expect([sent.send.calls.length, (await t.kernel.workflow(two)).state]).toEqual([2, "completed"]);
  });

  it.each<Mode>(["replay", "resume_failed_steps"])(
    "[IDM-04] takes effect once where one is begun at the same time as another by %s",
    async (mode) => {
      const sent = await failOnce();
      await using t = sent.t;
      const ids = await Promise.all([again(t, sent.failed), again(t, sent.failed, mode)]);
      await endAll(sent);
      expect(sent.send.calls.length).toBe(2);
      const states = await Promise.all(ids.map(async (id) => (await t.kernel.workflow(id)).state));
      expect(states.toSorted()).toEqual(["completed", "failed"]);
      for (const id of ids) expect((await t.kernel.replay(id)).difference).toBeNull();
    },
  );

  it("[IDM-04] is in doubt for others while one calls; any of them may call after a certain failure", async () => {
    const sent = await failOnce();
    await using t = sent.t;
    await again(t, sent.failed);
    await t.clock.settle();
    const beside = await again(t, sent.failed);
    await t.clock.settle();
    expect((await t.kernel.workflow(beside)).error?.code).toBe("T4_ACTION_IN_DOUBT");
    await endAll(sent);
    expect(sent.send.calls.length).toBe(2);
    const after = await again(t, beside);
    await endAll(sent);
    expect([sent.send.calls.length, (await t.kernel.workflow(after)).state]).toEqual([2, "completed"]);
  });

  it.each<Mode>(["replay", "resume_failed_steps"])(
    "[IDM-04] takes effect once if the call's answer cannot be used; a later %s by a person who knows calls again",
    async (mode) => {
      const send = counted("Note.Send", { effect: "external_send" }, () => ({ at: 7n }));
      const gate_id = "gate-send_doubt1";
      const look = counted("Note.Look");
      const gate = { reason: "a person looks" };
      const capability = story(
        [look, send],
        [step("look", look, { gate }), step("send", send, { depends_on: ["look"] })],
      );
      await using t = await createTestKernel({
        capabilities: [capability],
        defaultPolicies: false,
        ledger: memoryLedger(),
      });
      const { workflow_id: first } = await t.run(intent);
      await t.kernel.cancel(first, testCaller);
      const ids = [await again(t, first), await again(t, first)] as const;
      await t.clock.settle();
      for (const id of ids) {
        await t.approve(id, "gate-look");
        await t.rest(id);
        if (id === ids[0]) await decide(t, id, { decision: "reject", gate_id });
        await t.rest(id);
      }
      const errors = await Promise.all(ids.map(async (id) => (await t.kernel.workflow(id)).error));
      expect([send.calls.length, errors[1]?.code]).toEqual([1, "T4_OUTPUT_INVALID"]);
      expect(errors[0]?.message).toBe("a person settled the lost call as failed");
      const after = await again(t, ids[1], mode);
      await t.clock.settle();
      if (mode === "replay") await t.rest(after);
      expect(send.calls.length).toBe(2);
      for (const id of [...ids, after]) expect((await t.kernel.replay(id)).difference).toBeNull();
    },
  );
});
