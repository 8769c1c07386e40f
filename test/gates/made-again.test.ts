/** What was approved and not done: made again it is asked about again, left alone the approval stands. */
import { describe, expect, it } from "vitest";
import { operatorError } from "../../src/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { ann, approve, bob } from "./people.ts";
import { asShown, counted, gateOf, held, intent, Note, payloads, step, story } from "./story.ts";

describe("regenerating what was approved, and whose call has failed", () => {
  const hour = 3_600_000;
  it.each([
    ["applies the draft", { applies: "draft" }],
    ["takes what the draft says", { depends_on: ["draft"] }],
  ])("[GAT-05] asks again on what was made anew, and does not do what was approved before: %s", async (_how, more) => {
    const world = { fails: true };
    const draft = counted("Note.Draft", { effect: "write_draft" }, () => ({ text: `draft ${draft.calls.length}` }));
    const publish = counted("Note.Publish", { effect: "final_write", idempotent: true }, () => {
      if (world.fails) throw operatorError({ code: "DOWN", category: "dependency", message: "down" });
      return {};
    });
    const expiry = { after_ms: hour, action: "allow" } as const;
    const params = { text: "{{draft.output.text}}" };
    const plan = [
      step("draft", draft, { outcome: "Draft.Note" }),
      step("publish", publish, { params, gate: { expiry }, ...more }),
    ];
    const capability = story([draft, publish], plan, { outcomes: { "Draft.Note": Note } });
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const { workflow_id: id } = await t.run(intent);
    await approve(t, id, ann, await asShown(t, id));
    expect((await t.rest(id)).state).toBe("failed");
    world.fails = false;
    await t.clock.advance(2 * hour);
    await t.kernel.retry(id, { ...testCaller, mode: "regenerate" });
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    const { status, payload, decision } = await gateOf(t, id);
    expect([status, payload, decision]).toEqual(["open", { text: "draft 2" }, null]);
    expect(publish.calls).toHaveLength(1);
    await approve(t, id, bob, await asShown(t, id));
    const end = await t.rest(id);
    expect([end.state, publish.calls.map(({ input }) => input)]).toEqual([
      "completed",
      [{ text: "draft 1" }, { text: "draft 2" }],
    ]);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("leaves an approval alone that nothing was made again of", async () => {
    const world = { fails: true };
    const publish = counted("Note.Publish", { effect: "final_write", idempotent: true }, () => {
      if (world.fails) throw operatorError({ code: "DOWN", category: "dependency", message: "down" });
      return {};
    });
    const capability = story([publish], [step("publish", publish)]);
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const { workflow_id: id } = await t.run(intent);
    await approve(t, id, ann);
    expect((await t.rest(id)).state).toBe("failed");
    world.fails = false;
    await t.kernel.retry(id, { ...testCaller, mode: "resume_failed_steps" });
    expect((await t.rest(id)).state).toBe("completed");
    expect(publish.calls).toHaveLength(2);
  });
});

it("what becomes final is the version that was applied, whatever somebody made of the draft meanwhile", async () => {
  const draft = counted("Note.Draft", { effect: "write_draft" }, () => ({ text: "drafted" }));
  const busy = held<object>();
  const publish = counted("Note.Publish", { effect: "final_write", timeoutSec: 864_000 }, () => busy.promise);
  const mail = counted("Note.Mail", { effect: "final_write" });
  const more = { applies: "draft", params: { text: "{{draft.output.text}}" } };
  const plan = [
    step("draft", draft, { outcome: "Draft.Note" }),
    step("publish", publish, { gate: {}, ...more }),
    step("mail", mail, { gate: { separation: true }, ...more }),
  ];
  const capability = story([draft, publish, mail], plan, { outcomes: { "Draft.Note": Note } });
  await using t = await createTestKernel({ capabilities: [capability] });
  const id = await t.submit(intent);
  await t.clock.settle();
  const say = async (gate_id: string, edit: object = {}) => {
    const payload = { ...(await asShown(t, id, gate_id)), ...edit };
    const said = await t.kernel.decideGate(id, { tenant_id: 1, principal: ann, gate_id, decision: "approve", payload });
    await t.clock.settle();
    return said.status;
  };
  expect(await say("gate-publish")).toBe("resumed");
  expect(await say("gate-mail", { edit: { text: "edited" } })).toBe("revised");
  busy.release({});
  await t.clock.settle();
  expect(publish.calls.map(({ input }) => input)).toEqual([{ text: "drafted" }]);
  const finals = await payloads(t, id, "OUTCOME_FINALIZED");
  expect(finals.map(({ outcome: { version, content } }) => [version, content])).toEqual([[3, { text: "drafted" }]]);
});

it("an edited and approved call in doubt is not repeated behind its question: the answer repeats it", async () => {
  const publish = counted("Note.Publish", { effect: "final_write" }, () => {
    if (publish.calls.length === 1) throw new Error("the line broke");
    return {};
  });
  const capability = story([publish], [step("publish", publish, { gate: {} })]);
  await using t = await createTestKernel({ capabilities: [capability] });
  const { workflow_id: id } = await t.run(intent);
  await approve(t, id, ann, { ...(await asShown(t, id)), edit: { text: "edited" } });
  await t.rest(id);
  const doubt = "gate-publish_doubt1";
  const again = t.kernel.retry(id, { ...testCaller, mode: "regenerate", step_ids: ["publish"] });
  await expect(again).rejects.toThrow(/T4_WORKFLOW_CONFLICT.*publish.*answer that first/);
  const payload = { ...(await asShown(t, id, doubt)), resolution: "retry" } as const;
  await t.kernel.decideGate(id, { tenant_id: 1, principal: bob, gate_id: doubt, decision: "approve", payload });
  expect((await t.rest(id)).state).toBe("completed");
  const [first, second] = publish.calls.map(({ input }) => input);
  expect(first).toMatchObject({ text: "edited" });
  expect(second).toEqual(first);
});

it("what has not ended is not run again from its beginning, though it fails while it is asked for", async () => {
  const busy = held<object>();
  const slow = counted("Note.Slow", { effect: "read", timeoutSec: 864_000, retry: "NONE" }, async () => {
    await busy.promise;
    throw operatorError({ code: "DOWN", category: "dependency", message: "down" });
  });
  const capability = story([slow], [step("slow", slow)]);
  await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
  const id = await t.submit(intent);
  await t.clock.settle();
  const again = t.kernel.retry(id, { ...testCaller, mode: "replay" });
  busy.release({});
  // A store that answers later may have found it ended.
  const answer = await again.catch(String);
  if (typeof answer === "string") expect(answer).toMatch(/T4_WORKFLOW_CONFLICT.*only what has ended/);
  else expect(answer.workflow_id).not.toBe(id);
  expect((await t.rest(id)).state).toBe("failed");
  expect((await t.kernel.retry(id, { ...testCaller, mode: "replay" })).workflow_id).not.toBe(id);
});
