/**
 * What a key refuses (its call has failed for good, or it was used with another payload) is nothing to ask a person
 * about.
 */
import { describe, expect, it } from "vitest";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import { type Middleware, operatorError } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { counted, decide, eventsOf, held, intent, Note, step, story } from "../gates/story.ts";

const noSuchBoard = () => {
  throw operatorError({ code: "NO_SUCH_BOARD", message: "no board 7", category: "validation" });
};

/** A draft, and two steps that apply it behind gates, so that they share a key: `b` once `wait` has ended. */
function applying(answer: () => unknown = noSuchBoard, more: Partial<PlanStepDraft> = {}) {
  const draft = counted("Note.Draft", {}, () => ({ text: "a draft" }));
  const waited = held<object>();
  const wait = counted("Note.Wait", { effect: "none" }, () => waited.promise);
  const publish = counted("Note.Publish", { effect: "final_write" }, answer);
  const params = { text: "{{draft.output.text}}" };
  const rows = [
    step("draft", draft, { outcome: "Draft.Note" }),
    step("wait", wait),
    step("a", publish, { applies: "draft", params }),
    step("b", publish, { applies: "draft", params, depends_on: ["draft", "wait"], ...more }),
  ];
  const capability = story([draft, wait, publish], rows, { outcomes: { "Draft.Note": Note } });
  return {
    publish,
    options: { capabilities: [capability], limits: { maxReplans: 0 } },
    goOn: () => waited.release({}),
  };
}

/** `a` is approved and ends; then `b` begins. */
async function runBoth(t: TestKernel, goOn: () => void): Promise<string> {
  const id = await t.submit(intent);
  await t.clock.settle();
  await t.approve(id, "gate-a");
  await t.clock.settle();
  goOn();
  await t.rest(id);
  return id;
}

const stepOf = async (t: TestKernel, id: string, stepId: string) =>
  (await t.kernel.workflow(id)).steps.find((one) => one.step_id === stepId);

const gatesOf = async (t: TestKernel, id: string) =>
  (await t.kernel.workflow(id)).gates.map(({ gate_id, status }) => `${gate_id} ${status}`);

describe("a step whose key", () => {
  it("[IDM-05] has failed for good while it was previewed fails alike, and replays", async () => {
    const shown = held<{ preview: string }>();
    const draft = counted("Note.Draft", {}, () => ({ text: "a draft" }));
    const preview = ({ context }: { readonly context: { readonly step_id: string } }) =>
      context.step_id === "b" ? shown.promise : { preview: "it" };
    const more = { effect: "final_write", output: Note, preview: preview as never } as const;
    const publish = counted("Note.Publish", more, noSuchBoard);
    const shared = ["a", "b"].map((id) => step(id, publish, { applies: "draft" }));
    const rows = [step("draft", draft, { outcome: "Draft.Note" }), ...shared];
    const capabilities = [story([draft, publish], rows, { outcomes: { "Draft.Note": Note } })];
    await using t = await createTestKernel({ capabilities, limits: { maxReplans: 0 } });
    const id = await t.submit(intent);
    await t.clock.settle();
    await t.approve(id, "gate-a");
    await t.clock.settle();
    shown.release({ preview: "it" });
    await t.rest(id);
    expect(await gatesOf(t, id)).toEqual(["gate-a approved"]);
    expect((await stepOf(t, id, "b"))?.error).toEqual((await stepOf(t, id, "a"))?.error);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("[IDM-05] has failed for good fails the same way unasked; after a restart a person is asked first", async () => {
    const { publish, options, goOn } = applying();
    await using t = await createTestKernel(options);
    const id = await runBoth(t, goOn);
    expect(await gatesOf(t, id)).toEqual(["gate-a approved"]);
    const [a, b] = [await stepOf(t, id, "a"), await stepOf(t, id, "b")];
    expect([b?.state, b?.error]).toEqual(["failed", a?.error]);
    await t.kernel.retry(id, { ...testCaller });
    await t.rest(id);
    expect(await gatesOf(t, id)).toContain("gate-b open");
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
    expect(publish.calls.map(({ context }) => context.step_id)).not.toContain("b");
  });

  it("a person has settled as failed is not asked about by a new plan: a retry may call it again", async () => {
    const lost = () => {
      throw new Error("reset behind the write");
    };
    const { publish, options, goOn } = applying(lost, { depends_on: ["draft", "a"] });
    await using t = await createTestKernel({ ...options, limits: { maxReplans: 1 } });
    const id = await runBoth(t, goOn);
    const doubt = (await t.kernel.workflow(id)).gates.find(({ kind }) => kind === "in_doubt");
    expect(doubt?.consequences.reject).toContain("undoes nothing. A retry may call Note.Publish again");
    await decide(t, id, { decision: "reject", gate_id: "gate-a_doubt1" });
    await t.rest(id);
    expect((await stepOf(t, id, "a_r1"))?.error).toMatchObject({ code: "T4_OPERATOR_BUG" });
    expect(await gatesOf(t, id)).toEqual(["gate-a approved", "gate-a_doubt1 rejected"]);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
    await t.kernel.retry(id, { ...testCaller });
    await t.rest(id);
    expect(await gatesOf(t, id)).toContain("gate-a_r1 open");
    expect(publish.calls).toHaveLength(1);
  });

  it("was used with another payload fails, asking nobody", async () => {
    const { publish, options, goOn } = applying(() => "published", {
      params: { text: "{{draft.output.text}}", to: "all" },
    });
    await using t = await createTestKernel(options);
    const id = await runBoth(t, goOn);
    expect(await gatesOf(t, id)).toEqual(["gate-a approved"]);
    expect((await stepOf(t, id, "b"))?.error?.code).toBe("T4_IDEMPOTENCY_PAYLOAD_MISMATCH");
    expect(publish.calls).toHaveLength(1);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("[IDM-05] has failed for good is not called unasked where a hook lets it be tried again", async () => {
    const before: Middleware["before"] = ({ step_id, is_retry }) => {
      if (step_id !== "b" || is_retry) return;
      throw operatorError({ code: "RATE", message: "not now", category: "transient" });
    };
    const { publish, options, goOn } = applying();
    await using t = await createTestKernel({ ...options, middleware: [{ name: "guard", before }] });
    const id = await runBoth(t, goOn);
    await t.clock.advance(60_000);
    await t.rest(id);
    expect([publish.calls.length, (await stepOf(t, id, "b"))?.state]).toEqual([1, "failed"]);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("[INV-12] had failed replays though a hook has refused the step since it was restarted", async () => {
    let isRefusing = false;
    const guard: Middleware = {
      name: "guard",
      before: () => {
        if (isRefusing) throw operatorError({ code: "NO", message: "not this one", category: "dependency" });
      },
      onError: () => new Promise<void>((resolve) => setImmediate(resolve)),
    };
    const { options, goOn } = applying();
    await using t = await createTestKernel({ ...options, middleware: [guard] });
    const id = await t.submit(intent);
    goOn();
    await t.rest(id);
    for (const gate of ["gate-a", "gate-b"]) {
      await t.approve(id, gate);
      await t.rest(id);
    }
    isRefusing = true;
    await t.kernel.retry(id, { ...testCaller });
    await t.rest(id);
    const ends = (await eventsOf(t, id)).filter(({ step_id }) => step_id === "b").map(({ event_type }) => event_type);
    expect(ends.filter((type) => /^(ACTION|STEP_FAILED)/.test(type))).toEqual([
      "STEP_FAILED",
      "ACTION_STARTED",
      "ACTION_FAILED",
      "STEP_FAILED",
    ]);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("[INV-12] was in doubt replays although a hook refused the step after a person had it called again", async () => {
    let isRefusing = false;
    const guard: Middleware = {
      name: "guard",
      before: ({ step_id, is_retry }) => {
        if (step_id === "b" ? is_retry : isRefusing) noSuchBoard();
      },
      onError: ({ step_id }) => (step_id === "a" ? new Promise<void>((resolve) => setImmediate(resolve)) : undefined),
    };
    const publish = counted(
      "Note.Publish",
      { effect: "final_write", idempotent: true, timeoutSec: 1, retry: "STANDARD" },
      () => new Promise(() => undefined),
    );
    const draft = counted("Note.Draft", {}, () => ({ text: "a draft" }));
    const params = { text: "{{draft.output.text}}" };
    const rows = [
      step("draft", draft, { outcome: "Draft.Note" }),
      ...["a", "b"].map((id) => step(id, publish, { applies: "draft", params })),
    ];
    const capability = story([draft, publish], rows, { outcomes: { "Draft.Note": Note } });
    await using t = await createTestKernel({
      capabilities: [capability],
      middleware: [guard],
      limits: { maxReplans: 0 },
    });
    const { workflow_id: id } = await t.run(intent);
    for (const gate of ["gate-a", "gate-b"]) await t.approve(id, gate);
    await t.clock.advance(60_000);
    isRefusing = true;
    await decide(t, id, { decision: "approve", gate_id: "gate-a_doubt1", payload: { resolution: "retry" } });
    await t.rest(id);
    expect((await stepOf(t, id, "a"))?.error?.message).toBe("no board 7");
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });
});
