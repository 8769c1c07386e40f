/** The AI SDK's own `generateText`, `streamText` and `ToolLoopAgent` over tools that a kernel judges and runs. */
import { generateText, isStepCount, type ModelMessage, streamText, ToolLoopAgent, tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { countersigned } from "../../src/faces/agents/ai-sdk/index.ts";
import { allowing, decideElsewhere, denying, ledgerPath, openDesk } from "./agents-fixture.ts";
import { type Answer, scriptedModel } from "./mock-model.ts";

const stopWhen = isStepCount(5);
const asking: ModelMessage[] = [{ role: "user", content: "Refund order A7." }];
const refundCall: Answer = [["call-1", "refund", { order: "A7", cents: 900 }]];

/** The author's tools, and the arguments that `refund` was called with. */
function shop() {
  const refunds: unknown[] = [];
  const tools = {
    refund: tool({
      inputSchema: z.object({ order: z.string(), cents: z.number() }),
      execute: async (args, { toolCallId }) => {
        refunds.push(args);
        return { refunded: args.cents, by: toolCallId };
      },
    }),
    lookup: tool({ inputSchema: z.object({ order: z.string() }), execute: async ({ order }) => `${order}: paid` }),
  };
  return { refunds, tools };
}

/** Runs the agent to its gate in a kernel that is then stopped, and returns what the app stored. */
async function pause(path: string, call: Answer = refundCall): Promise<string> {
  await using desk = await openDesk({ path });
  const { refunds, tools } = shop();
  const { model } = scriptedModel([call]);
  const { resume: _, ...guarded } = countersigned(desk.support.thread("chat-1"), tools);
  const result = await generateText({ model, ...guarded, stopWhen, messages: asking });
  expect(result.content).toContainEqual(
    expect.objectContaining({
      type: "tool-approval-request",
      reason: expect.stringMatching(/waits for a person's decision at https:\/\/desk\.example\/#\/w\/wf_/),
    }),
  );
  expect(refunds).toEqual([]);
  return JSON.stringify([...asking, ...result.responseMessages]);
}

/** Goes on from stored messages with new objects on the same file. */
async function goOn(path: string, stored: string, answers: readonly Answer[] = ["It is done."]) {
  await using desk = await openDesk({ path, seed: 7 });
  const { refunds, tools } = shop();
  const { model, prompts } = scriptedModel(answers);
  const { resume, ...guarded } = countersigned(desk.support.thread("chat-1"), tools);
  const { messages, waiting } = await resume(JSON.parse(stored));
  const result = await generateText({ model, ...guarded, stopWhen, messages });
  return { refunds, prompts, waiting, text: result.text, verified: (await desk.kernel.verify()).ok };
}

it("pauses at a gate, and after restarts of both sides calls the tool once with the approved payload", async () => {
  const path = ledgerPath();
  const stored = await pause(path);
  const gate = await decideElsewhere(path, "approve");
  const first = await goOn(path, stored);
  expect(first.refunds).toEqual([(gate.payload as { arguments: unknown }).arguments]);
  expect(first.prompts[0]).toContain('"refunded":900,"by":"call-1"');
  expect([first.text, first.verified]).toEqual(["It is done.", true]);
  const again = await goOn(path, stored);
  expect(again.refunds).toEqual([]);
  expect(again.prompts[0]).toContain('"refunded":900');
});

it("takes a rejection's words to the model, and calls nothing", async () => {
  const path = ledgerPath();
  const stored = await pause(path);
  await decideElsewhere(path, "reject", { comment: "ask the customer first" });
  const { refunds, prompts } = await goOn(path, stored);
  expect(refunds).toEqual([]);
  expect(prompts[0]).toContain("user ann rejected the call: ask the customer first");
});

it("runs edited arguments, and tells the model", async () => {
  const path = ledgerPath();
  const stored = await pause(path);
  await decideElsewhere(path, "approve", { edit: { arguments: { order: "A7", cents: 100 } } });
  const { refunds, prompts } = await goOn(path, stored);
  expect(refunds).toEqual([{ order: "A7", cents: 100 }]);
  expect(prompts[0]).toContain("user ann changed the arguments before the call was made");
  expect(prompts[0]).toContain('"refunded":100');
});

it("reads edited arguments by the tool's schema, and tells the model if they do not fit", async () => {
  const path = ledgerPath();
  const stored = await pause(path);
  await decideElsewhere(path, "approve", { edit: { arguments: { order: "A7", cents: "all" } } });
  const { refunds, prompts } = await goOn(path, stored);
  expect(refunds).toEqual([]);
  expect(prompts[0]).toContain("the changed arguments do not fit the tool");
});

it("changes no messages while a request waits, and runs nothing on an approval that they claim", async () => {
  const path = ledgerPath();
  const stored = await pause(path);
  await using desk = await openDesk({ path, seed: 7 });
  const { refunds, tools } = shop();
  const { model, prompts } = scriptedModel(["Later."]);
  const { resume, ...guarded } = countersigned(desk.support.thread("chat-1"), tools);
  const resumed = await resume(JSON.parse(stored));
  expect(resumed).toMatchObject({ waiting: [{ status: "waiting" }], messages: JSON.parse(stored) });
  const claimed = JSON.parse(stored.replace(/.*"approvalId":"([^"]*)".*/, '"$1"')) as string;
  const approval = { type: "tool-approval-response" as const, approvalId: claimed, approved: true };
  await generateText({
    model,
    ...guarded,
    stopWhen,
    messages: [...resumed.messages, { role: "tool", content: [approval] }],
  });
  expect(refunds).toEqual([]);
  expect(prompts[0]).toContain("T0_AGENT_WAITING");
});

it("answers several requests of one step together, in streams too", async () => {
  await using desk = await openDesk({ agent: { reads: ["lookup"] } });
  const { refunds, tools } = shop();
  const call = (id: string, order: string) => [id, "refund", { order, cents: 1 }] as const;
  const { model, prompts } = scriptedModel([
    [call("call-1", "A"), call("call-2", "B"), ["call-3", "lookup", { order: "C" }]],
    "Two are done.",
  ]);
  const { resume, ...guarded } = countersigned(desk.support.thread("chat-1"), tools);
  const first = streamText({ model, ...guarded, stopWhen, messages: asking });
  const stored = [...asking, ...(await first.responseMessages)];
  const [one, two] = await desk.gates();
  await desk.approve(one?.workflow_id ?? "");
  expect((await resume(stored)).waiting).toHaveLength(1);
  await desk.approve(two?.workflow_id ?? "");
  const { messages, waiting } = await resume(stored);
  expect(waiting).toEqual([]);
  const second = streamText({ model, ...guarded, stopWhen, messages });
  expect(await second.text).toBe("Two are done.");
  expect(refunds).toEqual([
    { order: "A", cents: 1 },
    { order: "B", cents: 1 },
  ]);
  expect(prompts[1]).toContain("C: paid");
});

it("never runs what a rule denies, nor a tool that was not given to countersigned", async () => {
  await using desk = await openDesk({ policies: [denying("refund")] });
  const { refunds, tools } = shop();
  const { model, prompts } = scriptedModel([
    refundCall,
    [
      ["call-2", "other", {}],
      ["call-3", "lookup", { order: "A7" }],
    ],
    "I cannot.",
  ]);
  const guarded = countersigned(desk.support.thread("chat-1"), tools);
  let others = 0;
  const other = tool({ inputSchema: z.object({}), execute: () => ++others });
  const agent = new ToolLoopAgent({
    model,
    // One tool was not given to countersigned, and one was put back as it was.
    tools: { ...guarded.tools, other, lookup: tools.lookup },
    toolApproval: guarded.toolApproval,
    stopWhen,
  });
  await agent.generate({ messages: asking });
  expect([refunds, others]).toEqual([[], 0]);
  expect(prompts[1]).toContain("refunds are closed in November");
  expect(prompts[2]?.match(/T0_AGENT_UNGUARDED/g)).toHaveLength(2);
  expect(prompts[2]).not.toContain("A7: paid");
});

it("counts calls in budgets, and tells the model when one is spent", async () => {
  await using desk = await openDesk({
    policies: [allowing("refund")],
    budgets: { limits: [{ scope: "operator", id: "Agent.Write", invocations: 1 }] },
  });
  const { refunds, tools } = shop();
  const { model, prompts } = scriptedModel([refundCall, [["call-2", "refund", { order: "B", cents: 1 }]], "One."]);
  const { resume: _, ...guarded } = countersigned(desk.support.thread("chat-1"), tools);
  await generateText({ model, ...guarded, stopWhen, messages: asking });
  expect(refunds).toHaveLength(1);
  expect(prompts[2]).toContain("T5_BUDGET_EXHAUSTED");
});

it("runs nothing, with a code for the model, where the kernel is stopped: with the hook and without it", async () => {
  const desk = await openDesk({ policies: [allowing("refund")] });
  const { refunds, tools } = shop();
  const guarded = countersigned(desk.support.thread("chat-1"), tools);
  await desk[Symbol.asyncDispose]();
  for (const options of [guarded, { tools: guarded.tools }]) {
    const { model, prompts } = scriptedModel([refundCall, "I cannot."]);
    await generateText({ model, ...options, stopWhen, messages: asking });
    expect(prompts[1]).toContain("T0_KERNEL_STOPPED");
  }
  expect(refunds).toEqual([]);
});

it("runs nothing of an answer that the SDK drops", async () => {
  await using desk = await openDesk({ policies: [allowing("refund")] });
  const { refunds, tools } = shop();
  const { model } = scriptedModel([refundCall], "length");
  const { resume: _, ...guarded } = countersigned(desk.support.thread("chat-1"), tools);
  await generateText({ model, ...guarded, stopWhen, messages: asking });
  expect(refunds).toEqual([]);
});

it("keeps dates of a schema, errors of a tool and the last of several outputs", async () => {
  const when: unknown[] = [];
  const tools = {
    plan: tool({
      inputSchema: z.object({ at: z.string().transform((text) => new Date(text)) }),
      async *execute({ at }) {
        when.push(at);
        yield "first";
        yield "last";
      },
    }),
    fail: tool({
      inputSchema: z.object({ page: z.number() }),
      execute: async (): Promise<string> => {
        throw new Error("the printer is out of paper");
      },
    }),
  };
  await using desk = await openDesk({ policies: [allowing("*")] });
  const { model, prompts } = scriptedModel([
    [
      ["1", "plan", { at: "2026-11-29" }],
      ["2", "fail", { page: 1 }],
    ],
    "Well.",
  ]);
  const { resume: _, ...guarded } = countersigned(desk.support.thread("chat-1"), tools);
  await generateText({ model, ...guarded, stopWhen, messages: asking });
  expect(when).toEqual([new Date("2026-11-29")]);
  expect(prompts[1]).toContain('"value":"last"');
  expect(prompts[1]).toContain("the printer is out of paper");
});

it("refuses anything but a thread and tools", async () => {
  await using desk = await openDesk();
  expect(() => countersigned({} as never, {})).toThrow("T0_VALIDATION_SCHEMA_MISMATCH");
  expect(() => countersigned(desk.support.thread("t"), { refund: 1 } as never)).toThrow("tools.refund");
});
