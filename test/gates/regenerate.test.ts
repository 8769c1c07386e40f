/**
 * Doing it again: from a gate, from a failure, and from an end; what is done again, under which id, and what is left
 * alone.
 */
import { describe, expect, it } from "vitest";
import { definePolicy, operatorError } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { ann, approve, bob } from "./people.ts";
import {
  asShown,
  counted,
  decide,
  gateOf,
  held,
  intent,
  Note,
  payloads,
  publishing,
  refusalOf,
  step,
  steps,
  story,
} from "./story.ts";

const regenerate = (t: TestKernel, id: string, step_ids?: string[]) =>
  t.kernel.retry(id, { ...testCaller, mode: "regenerate", ...(step_ids === undefined ? {} : { step_ids }) });

describe("regenerating at a gate", () => {
  it("drafts again, asks again about the new version, and keeps every version: draft, draft, final", async () => {
    const { capability, draft, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id, correlation_id } = await t.run(intent);
    const first = await gateOf(t, workflow_id);
    const answer = await regenerate(t, workflow_id);
    expect(answer).toEqual({ workflow_id, status: "restarted", correlation_id });
    expect((await t.rest(workflow_id)).state).toBe("waiting_for_user");
    const second = await gateOf(t, workflow_id);
    expect([second.status, second.target?.version, second.payload]).toEqual([
      "open",
      2,
      { text: "draft 2", to: "board" },
    ]);
    expect(second.payload_digest).not.toBe(first.payload_digest);
    expect(publish.calls).toHaveLength(0);

    await t.approve(workflow_id, "gate-publish", await asShown(t, workflow_id));
    const done = await t.rest(workflow_id);
    expect(done.state).toBe("completed");
    expect([draft.calls.length, publish.calls.map((c) => c.input)]).toEqual([2, [{ text: "draft 2", to: "board" }]]);
    const { outcomes } = await t.kernel.outcomes(workflow_id);
    expect(outcomes.map((o) => [o.version, o.status, o.content])).toEqual([
      [1, "draft", { text: "draft 1" }],
      [2, "draft", { text: "draft 2" }],
      [3, "final", { text: "draft 2" }],
    ]);
    expect(outcomes.map((o) => o.draft_version)).toEqual([1, 2, 2]);
  });

  it("has the gates of its gated steps in the new plan, and says how many steps a refusal leaves out", async () => {
    const [draft, publish, tell] = [
      counted("Note.Draft", {}, () => ({ text: "a" })),
      counted("Note.Send"),
      counted("Note.Tell"),
    ];
    const rows = [
      step("draft", draft, { outcome: "Draft.Note" }),
      step("send", publish, { depends_on: ["draft"], gate: { reason: "look" } }),
      step("tell", tell, { depends_on: ["send"] }),
      step("other", tell, { depends_on: ["draft"] }),
    ];
    const capability = story([draft, publish, tell], rows, { outcomes: { "Draft.Note": Note } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    expect((await gateOf(t, workflow_id, "gate-send")).consequences.reject).toContain(
      " 1 dependent step(s) are skipped",
    );
    await regenerate(t, workflow_id, ["draft"]);
    expect((await t.rest(workflow_id)).plan?.gates).toEqual(["gate-send"]);
  });

  it("queues what it begins anew, and nothing that waits as before", async () => {
    const act = counted("Note.Act", {}, () => ({ text: "a" }));
    const rows = [
      step("a", act),
      step("b", act, { depends_on: ["a"], gate: {} }),
      step("c", act, { gate: {} }),
      step("d", act, { depends_on: ["c"] }),
    ];
    await using t = await createTestKernel({ capabilities: [story([act], rows)] });
    const { workflow_id } = await t.run(intent);
    await regenerate(t, workflow_id, ["a"]);
    await t.rest(workflow_id);
    const queued = await steps(t, workflow_id, ["STEP_QUEUED"]);
    expect(queued.filter((line) => line === "STEP_QUEUED:d")).toHaveLength(1);
    expect(queued.filter((line) => line === "STEP_QUEUED:a_r1")).toHaveLength(1);
  });

  it("is one gate, revised; and a decision about the version before is refused", async () => {
    const { capability, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const { payload_digest } = await gateOf(t, workflow_id);
    await regenerate(t, workflow_id);
    await t.rest(workflow_id);
    expect(await steps(t, workflow_id, ["GATE_OPENED", "GATE_REVISED"])).toEqual([
      "GATE_OPENED:publish",
      "GATE_REVISED:publish",
    ]);
    const stale = decide(t, workflow_id, { decision: "approve", payload: { payload_digest } });
    expect((await refusalOf(stale)).code).toBe("T5_GATE_CONFLICT");
    expect((await t.kernel.workflow(workflow_id)).gates).toHaveLength(1);
    expect(publish.calls).toHaveLength(0);
  });

  it("puts the new version to policy before it is shown", async () => {
    const { capability, publish } = publishing();
    const rule = definePolicy({
      name: "one draft only",
      stages: ["action"],
      evaluate: ({ subject }) =>
        JSON.stringify(subject.payload).includes("draft 2") ? { decision: "DENY", reason: "enough" } : null,
    });
    await using t = await createTestKernel({ capabilities: [capability], policies: [rule] });
    const { workflow_id } = await t.run(intent);
    await regenerate(t, workflow_id);
    await t.rest(workflow_id);
    await t.approve(workflow_id, "gate-publish").catch(() => undefined);
    const end = await t.rest(workflow_id);
    expect(publish.calls).toHaveLength(0);
    expect(end.state).toBe("failed");
    expect(end.steps.find((s) => s.step_id === "publish")?.error?.code).toBe("T5_POLICY_DENIED");
  });

  it("leaves alone what does not depend on it", async () => {
    const { draft, publish } = publishing();
    const other = counted("Note.Other");
    const rows = [
      step("other", other),
      step("draft", draft, { outcome: "Draft.Note" }),
      step("publish", publish, { applies: "draft", params: { text: "{{draft.output.text}}", to: "board" } }),
    ];
    await using t = await createTestKernel({ capabilities: [story([other, draft, publish], rows)] });
    const { workflow_id } = await t.run(intent);
    await regenerate(t, workflow_id);
    await t.rest(workflow_id);
    expect([other.calls.length, draft.calls.length]).toEqual([1, 2]);
    const { plan } = await t.kernel.workflow(workflow_id);
    expect(plan?.steps.map((s) => s.step_id)).toEqual(["other", "draft_r1", "publish"]);
  });

  it("as often as one likes: each time one version and one draft number more", async () => {
    const { capability, draft } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    for (let n = 2; n <= 4; n += 1) {
      await regenerate(t, workflow_id);
      await t.rest(workflow_id);
      expect((await gateOf(t, workflow_id)).target?.version).toBe(n);
    }
    expect(new Set(draft.calls.map((c) => c.idempotencyKey)).size).toBe(4);
    await t.approve(workflow_id, "gate-publish", await asShown(t, workflow_id));
    const done = await t.rest(workflow_id);
    expect(done.outcomes.map((o) => o.draft_version)).toEqual([1, 2, 3, 4, 4]);
  });

  it("of a step that is not in the plan, or where nothing was drafted, is a conflict", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id, sequence } = await t.run(intent);
    expect((await refusalOf(regenerate(t, workflow_id, ["nowhere"]))).code).toBe("T4_WORKFLOW_CONFLICT");
    expect((await refusalOf(t.kernel.retry(workflow_id, { ...testCaller }))).code).toBe("T4_WORKFLOW_CONFLICT");
    expect(await t.kernel.workflow(workflow_id)).toMatchObject({ state: "waiting_for_user", sequence });
  });
});

describe("the feedback of whoever asks again", () => {
  const heard = ({ calls }: { readonly calls: readonly { readonly context: { readonly feedback?: string } }[] }) =>
    calls.at(-1)?.context.feedback;
  const said = { ...testCaller, feedback: "shorter" };

  it("reaches what is regenerated at a gate, and replays", async () => {
    const { capability, draft } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.kernel.retry(workflow_id, { ...said, mode: "regenerate" });
    await t.rest(workflow_id);
    expect(heard(draft)).toBe("shorter");
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it("reaches what is regenerated once it has ended, in the workflow that this begins", async () => {
    const { capability, draft } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.kernel.cancel(workflow_id, testCaller);
    const next = await t.kernel.retry(workflow_id, { ...said, mode: "regenerate" });
    await t.rest(next.workflow_id);
    expect([draft.calls.length, heard(draft)]).toEqual([2, "shorter"]);
    expect((await t.kernel.replay(next.workflow_id)).difference).toBeNull();
  });

  it.each(["resume_failed_steps", "replay"] as const)("reaches what is done again by %s", async (mode) => {
    const flaky = counted("Note.Flaky", { effect: "read" }, () => {
      if (flaky.calls.length === 1) throw operatorError({ code: "NO", message: "no" });
      return {};
    });
    const limits = { maxReplans: 0 };
    await using t = await createTestKernel({ capabilities: [story([flaky], [step("s", flaky)])], limits });
    const { workflow_id } = await t.run(intent);
    const next = await t.kernel.retry(workflow_id, { ...said, mode });
    await t.rest(next.workflow_id);
    expect([flaky.calls.length, heard(flaky)]).toEqual([2, "shorter"]);
  });
});

describe("regenerating after a failure", () => {
  const failing = () => {
    const draft = counted("Note.Draft", {}, () => ({ text: `draft ${draft.calls.length}` }));
    const file = counted("Note.File", {}, () => {
      if (file.calls.length === 1) throw new Error("disk full");
      return {};
    });
    const rows = [
      step("draft", draft, { outcome: "Draft.Note" }),
      step("file", file, { depends_on: ["draft"], params: { text: "{{draft.output.text}}" } }),
    ];
    return { draft, file, capability: story([draft, file], rows) };
  };

  it("runs the named steps and what depends on them again, in the same workflow", async () => {
    const { draft, file, capability } = failing();
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("failed");
    await regenerate(t, workflow_id, ["draft"]);
    const done = await t.rest(workflow_id);
    expect([done.state, done.workflow_id, done.regenerated_from]).toEqual(["completed", workflow_id, null]);
    expect(draft.calls).toHaveLength(2);
    expect(file.calls.map((c) => c.input)).toEqual([{ text: "draft 1" }, { text: "draft 2" }]);
    expect(await payloads(t, workflow_id, "WORKFLOW_RESTARTED")).toMatchObject([
      { mode: "regenerate", principal: testCaller.principal, run: 2 },
    ]);
  });

  it("of the failed step alone leaves the good draft as it is", async () => {
    const { draft, file, capability } = failing();
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const { workflow_id } = await t.run(intent);
    await regenerate(t, workflow_id, ["file"]);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(draft.calls).toHaveLength(1);
    expect(new Set(file.calls.map((c) => c.idempotencyKey)).size).toBe(2);
  });
});

describe("regenerating what has ended", () => {
  it.each(["completed", "cancelled"] as const)("%s begins a new workflow that names its parent", async (state) => {
    const { capability, draft, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const old = await t.run(intent, { about: "x" }, { thread_id: 5 });
    if (state === "completed") await t.approve(old.workflow_id);
    else await t.reject(old.workflow_id);
    const ended = await t.rest(old.workflow_id);
    expect(ended.state).toBe(state);

    const answer = await regenerate(t, old.workflow_id);
    expect(answer).toMatchObject({ status: "restarted", correlation_id: old.correlation_id });
    expect(answer.workflow_id).not.toBe(old.workflow_id);
    const again = await t.rest(answer.workflow_id);
    expect(again).toMatchObject({
      state: "waiting_for_user",
      regenerated_from: old.workflow_id,
      thread_id: 5,
      intent: { type: intent, inputs: { about: "x" } },
    });
    expect(await t.kernel.workflow(old.workflow_id)).toEqual(ended);
    expect(draft.calls).toHaveLength(2);
    await t.approve(answer.workflow_id);
    expect((await t.rest(answer.workflow_id)).state).toBe("completed");
    expect(publish.calls).toHaveLength(state === "completed" ? 2 : 1);
  });

  it("what is not made again keeps its key and is answered from the old workflow's record", async () => {
    const fetch = counted("Note.Fetch", { effect: "write_draft" }, () => ({ source: "found" }));
    const draft = counted("Note.Draft", {}, () => ({ text: `draft ${draft.calls.length}` }));
    const rows = [step("fetch", fetch), step("draft", draft, { depends_on: ["fetch"], outcome: "Draft.Note" })];
    await using t = await createTestKernel({ capabilities: [story([fetch, draft], rows)] });
    const old = await t.run(intent);
    const { workflow_id } = await regenerate(t, old.workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect([fetch.calls.length, draft.calls.length]).toEqual([1, 2]);
    const keys = async (id: string) => (await t.kernel.actions(id)).map((a) => a.idempotency_key);
    const [before, after] = [await keys(old.workflow_id), await keys(workflow_id)];
    expect(after[0]).toBe(before[0]);
    expect(after[1]).toMatch(/:v2$/);
  });

  it("is refused for another tenant, which learns nothing", async () => {
    const { capability, draft } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    const foreign = t.kernel.retry(workflow_id, { ...testCaller, tenant_id: 2, mode: "regenerate" });
    expect((await refusalOf(foreign)).code).toBe("T4_WORKFLOW_NOT_FOUND");
    expect(draft.calls).toHaveLength(1);
  });
});

describe("while a gate is about to show the next version", () => {
  it("[GAT-04] the version before is decided by nobody", async () => {
    const shown = held<{ preview: string }>();
    let previews = 0;
    const write = counted("Note.Write", { effect: "write_draft" }, () => ({ text: `text ${write.calls.length}` }));
    const send = counted("Note.Send", {
      effect: "final_write",
      preview: () => {
        previews += 1;
        return previews === 2 ? shown.promise : { preview: `look ${previews}` };
      },
    });
    const rows = [
      step("draft", write, { outcome: "Draft.Note" }),
      step("publish", send, { applies: "draft", params: { text: "{{draft.output.text}}" } }),
    ];
    const capability = story([write, send], rows, { outcomes: { "Draft.Note": Note } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    await t.kernel.retry(id, { ...testCaller, mode: "regenerate" });
    await t.clock.settle();
    expect(previews).toBe(2);
    expect((await refusalOf(decide(t, id, { decision: "approve" }))).code).toBe("T5_GATE_CONFLICT");
    expect(send.calls).toEqual([]);
    shown.release({ preview: "look again" });
    await t.rest(id);
    expect(await gateOf(t, id)).toMatchObject({ status: "open", target: { version: 2 }, preview: "look again" });
    await decide(t, id, { decision: "approve", payload: await asShown(t, id) });
    expect((await t.rest(id)).state).toBe("completed");
    expect(send.calls.map((c) => c.input)).toEqual([{ text: "text 2" }]);
  });
});

describe("regenerating what a gated step that applies nothing gets", () => {
  it("asks again on the new inputs, and voids the votes on the old ones", async () => {
    const write = counted("Note.Write", {}, () => ({ text: `text ${write.calls.length}` }));
    const send = counted("Note.Send", { effect: "write_draft" });
    const more = {
      gate: { quorum: { approvals: 2 } },
      depends_on: ["first"],
      params: { text: "{{first.output.text}}" },
    };
    const capability = story([write, send], [step("first", write), step("second", send, more as never)]);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    await approve(t, id, ann);
    await regenerate(t, id, ["first"]);
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    expect(await gateOf(t, id, "gate-second")).toMatchObject({ payload: { text: "text 2" }, votes: [] });
    await approve(t, id, ann, await asShown(t, id, "gate-second"));
    await regenerate(t, id, ["first_r1"]);
    await t.rest(id);
    expect(await gateOf(t, id, "gate-second")).toMatchObject({ payload: { text: "text 3" }, votes: [] });
    for (const who of [ann, bob]) await approve(t, id, who, await asShown(t, id, "gate-second"));
    expect((await t.rest(id)).state).toBe("completed");
    expect(send.calls.map((c) => c.input)).toEqual([{ text: "text 3" }]);
  });

  it("leaves an edit alone while nothing is regenerated", async () => {
    const send = counted("Note.Send", { effect: "write_draft" });
    const rows = [step("s1", send, { gate: {}, params: { text: "a" } }), step("s2", send, { gate: {} })];
    await using t = await createTestKernel({ capabilities: [story([send], rows)] });
    const { workflow_id: id } = await t.run(intent);
    await decide(t, id, { decision: "approve", gate_id: "gate-s1", payload: { edit: { text: "b" } } });
    await decide(t, id, { decision: "approve", gate_id: "gate-s2" });
    expect((await t.rest(id)).state).toBe("completed");
    expect(send.calls.map((c) => c.input)).toEqual(expect.arrayContaining([{ text: "b" }]));
  });
});
