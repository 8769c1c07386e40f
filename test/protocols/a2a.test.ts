/** A gated workflow is a task of A2A: the official client drives it to its end, and no other way decides its gate. */
import type { Task } from "@a2a-js/sdk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability } from "../../src/define/define-capability.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, memoryLedger } from "../../src/testing/index.ts";
import { counted, eventsOf } from "../fixtures.ts";
import { intent, publishing } from "../gates/story.ts";
import { asked, data, messageOf, nameOfState, openA2a, openA2aApp, send, text } from "./a2a-fixture.ts";
import { asking, termsIntent } from "./asking.ts";

const begin = { skill: intent, parts: [data({})] };

async function openWaiting() {
  const story = publishing();
  const face = await openA2a({ capabilities: [story.capability] });
  const client = await face.connect();
  const waiting = await send(client, begin);
  const [shown] = asked(waiting);
  const reply = (answer: object, words?: string) => ({
    taskId: waiting.id,
    parts: [data({ question: shown?.question, ...answer }), ...(words === undefined ? [] : [text(words)])],
  });
  return { ...face, story, client, waiting, shown, reply, [Symbol.asyncDispose]: () => face[Symbol.asyncDispose]() };
}

describe("a workflow with a gate, driven by the client of A2A", () => {
  it("[GAT-07] asks with all that the gate shows, is approved by a message, and ends with artifacts", async () => {
    await using s = await openWaiting();
    expect(nameOfState(s.waiting)).toBe("input_required");
    expect(s.shown?.gate).toMatchObject({ gate_id: "gate-publish", payload: { text: "draft 1", to: "board" } });
    expect(s.shown?.answer_schema).toMatchObject({ required: ["decision"], additionalProperties: false });
    const { id, contextId } = s.waiting;
    const done = await send(s.client, { ...s.reply({ decision: "approve" }), contextId });
    expect([done.id, done.contextId, nameOfState(done)]).toEqual([id, contextId, "completed"]);
    expect(done.artifacts.map(({ name }) => name)).toContain("Draft.Note");
    expect(s.story.publish.calls).toHaveLength(1);
    expect(nameOfState(await s.client.getTask({ tenant: "", id }))).toBe("completed");
  });

  it("[GAT-07] is rejected with words, which stand in the record", async () => {
    await using s = await openWaiting();
    const done = await send(s.client, s.reply({ decision: "reject" }, "Not this week."));
    expect(nameOfState(done)).toBe("rejected");
    const gate = await s.t.kernel.gate(done.id, "gate-publish");
    expect(gate.decision).toMatchObject({ decision: "reject", comment: "Not this week." });
    expect(s.story.publish.calls).toEqual([]);
  });

  it("[GAT-07] is edited: what is called is the payload of the edit", async () => {
    await using s = await openWaiting();
    await send(s.client, s.reply({ decision: "approve", edit: { text: "better" } }));
    expect(s.story.publish.calls.map(({ input }) => input)).toMatchObject([{ text: "better" }]);
  });

  it("is answered by the form of its question, and refuses an answer of another form", async () => {
    const { buy, capability } = asking();
    await using face = await openA2a({ capabilities: [capability] });
    const client = await face.connect();
    const waiting = await send(client, { skill: termsIntent, parts: [data({})] });
    const [shown] = asked(waiting);
    expect(shown?.answer_schema).toMatchObject({
      properties: { answer: { properties: { limit: { maximum: 1000 } } } },
    });
    const answer = (limit: number) => ({
      taskId: waiting.id,
      parts: [data({ question: shown?.question, decision: "answer", answer: { limit, currency: "EUR" } })],
    });
    await expect(send(client, answer(5000))).rejects.toThrow(/limit/);
    expect(nameOfState(await send(client, answer(5)))).toBe("completed");
    expect(buy.calls.map(({ input }) => input)).toEqual([{ limit: 5 }]);
  });

  it("[IDM-01] takes a text to a task under way once, however often its message is sent", async () => {
    const note = counted("Deal.Note");
    const takes = defineCapability({
      ...{ intentType: "Deal.Note", version: "1.0", input: z.looseObject({}), operators: [note.operator] },
      takesInput: true,
      plan: () => ({ reasoning: "x", steps: [], direct_response: "done" }),
    });
    await using face = await openA2a({ capabilities: [takes] });
    const client = await face.connect();
    const start_at = new Date(face.t.clock.now() + 1_000).toISOString();
    const by = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } };
    const hint = { intent_hint: { intent_type: "Deal.Note", inputs: {} } };
    const { workflow_id: taskId } = await face.t.kernel.submit({ ...by, ...hint, start_at });
    const configuration = { returnImmediately: true };
    const say = (messageId: string, words: string) =>
      send(client, { messageId, taskId, parts: [text(words)], configuration });
    for (const [id, words] of [
      ["m-a", "first"],
      ["m-a", "first"],
      ["m-b", "first"],
    ] as const)
      expect((await say(id, words)).id).toBe(taskId);
    await expect(say("m-a", "other")).rejects.toThrow(/key stands for a message with another text/);
    const events = await eventsOf(face.t, taskId);
    expect(events.filter(({ event_type }) => event_type === "INPUT_ADDED")).toHaveLength(2);
  });

  it("is cancelled by its task, once", async () => {
    await using s = await openWaiting();
    const asking = { tenant: "", id: s.waiting.id, metadata: undefined };
    expect(nameOfState(await s.client.cancelTask(asking))).toBe("canceled");
    await expect(s.client.cancelTask(asking)).rejects.toMatchObject({ name: "TaskNotCancelableError" });
    await expect(send(s.client, s.reply({ decision: "approve" }))).rejects.toThrow();
    expect(s.story.publish.calls).toEqual([]);
  });

  it("[GAT-07] is approved after the process that asked has ended: what it showed still counts", async () => {
    const ledger = memoryLedger();
    const kept: LedgerStore = Object.assign(Object.create(ledger), { close: async () => undefined });
    const first = publishing();
    const before = await createTestKernel({ capabilities: [first.capability], ledger: kept });
    const waiting = await send(await openA2aApp(before.kernel, { clock: before.clock }).connect(), begin);
    await before.kernel.stop({ drainMs: 0 });
    const second = publishing();
    await using after = await openA2a({ capabilities: [second.capability], ledger, seed: 2 });
    const parts = [data({ question: asked(waiting)[0]?.question, decision: "approve" })];
    const done = await send(await after.connect(), { taskId: waiting.id, parts });
    expect([nameOfState(done), first.publish.calls.length, second.publish.calls.length]).toEqual(["completed", 0, 1]);
  });
});

describe("a message that is sent again", () => {
  it("[IDM-01] begins nothing twice, and answers with the same task", async () => {
    await using s = await openWaiting();
    const again = { ...begin, messageId: "again" };
    const first = await send(s.client, again);
    const second = await send(s.client, again);
    expect([second.id, second.contextId]).toEqual([first.id, first.contextId]);
    expect(await s.t.kernel.workflows()).toHaveLength(2);
    await expect(send(s.client, { ...again, skill: "Story.Other.Thing" })).rejects.toThrow();
    expect(await s.t.kernel.workflows()).toHaveLength(2);
  });

  it("[GAT-07] decides nothing twice; another decision about what was decided is refused", async () => {
    await using s = await openWaiting();
    const approving = { ...s.reply({ decision: "approve" }), messageId: "once" };
    expect(nameOfState(await send(s.client, approving))).toBe("completed");
    expect(nameOfState(await send(s.client, approving))).toBe("completed");
    await expect(send(s.client, s.reply({ decision: "reject" }))).rejects.toThrow(/approved already/);
    expect(s.story.publish.calls).toHaveLength(1);
  });
});

describe("a caller who may not decide", () => {
  it.each([
    ["agent", "T0_QUESTION_REFUSED"],
    ["reader", "T5_AUTHZ_FORBIDDEN"],
  ])("[GAT-07] %s sees a task that is auth-required, and is refused: %s", async (as, code) => {
    await using s = await openWaiting();
    const client = await s.connect(as);
    const seen = await client.getTask({ tenant: "", id: s.waiting.id });
    expect(nameOfState(seen)).toBe("auth_required");
    expect(asked(seen)[0]).not.toHaveProperty("answer_schema");
    const refused = send(client, s.reply({ decision: "approve" }));
    await expect(refused).rejects.toMatchObject({
      data: expect.arrayContaining([expect.objectContaining({ reason: code })]),
    });
    expect(s.story.publish.calls).toEqual([]);
  });
});

describe("a stream of a task", () => {
  it("tells the task, its artifacts and its states, and ends when a person is asked, and when it ends", async () => {
    const story = publishing();
    await using face = await openA2a({ capabilities: [story.capability] });
    const client = await face.connect();
    const told = await Array.fromAsync(client.sendMessageStream(messageOf(begin)));
    expect(told[0]?.payload?.$case).toBe("task");
    const artifacts = told.flatMap(({ payload }) =>
      payload?.$case === "artifactUpdate" ? [payload.value.artifact?.name] : [],
    );
    expect(artifacts).toContain("Draft.Note");
    const last = told.at(-1)?.payload;
    expect(last?.$case === "statusUpdate" && nameOfState(last.value)).toBe("input_required");
    const task = told[0]?.payload?.value as Task;
    const waiting = await client.getTask({ tenant: "", id: task.id });
    const following = Array.fromAsync(client.resubscribeTask({ tenant: "", id: task.id }));
    const parts = [data({ question: asked(waiting)[0]?.question, decision: "approve" })];
    expect((await following).at(-1)?.payload?.$case).toBe("task");
    const rest = await Array.fromAsync(client.sendMessageStream(messageOf({ taskId: task.id, parts })));
    const end = rest.at(-1)?.payload;
    expect(end?.$case === "statusUpdate" && nameOfState(end.value)).toBe("completed");
    await expect(Array.fromAsync(client.resubscribeTask({ tenant: "", id: task.id }))).rejects.toThrow(/completed/);
  });
});
