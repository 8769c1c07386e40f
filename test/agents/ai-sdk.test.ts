/** The AI SDK's own `generateText`, `streamText` and `ToolLoopAgent` over tools that a kernel judges and runs. */
import { generateText, isStepCount, type ModelMessage, streamText, ToolLoopAgent, tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { countersigned } from "../../src/faces/agents/ai-sdk/index.ts";
import { keepsLaws } from "./adapter-laws.ts";
import { allowing, openDesk } from "./agents-fixture.ts";
import { aiSdk } from "./drivers/ai-sdk.ts";
import { type Answer, scriptedModel } from "./mock-model.ts";

keepsLaws(aiSdk);

const stopWhen = isStepCount(5);
const asking: ModelMessage[] = [{ role: "user", content: "Refund order A7." }];
const refundCall: Answer = [["call-1", "refund", { order: "A7", cents: 900 }]];

/** The author's tools, and the arguments that `refund` was called with. */
function shop() {
  const refunds: unknown[] = [];
  const tools = {
    refund: tool({
      inputSchema: z.object({ order: z.string(), cents: z.number() }),
      execute: async (args) => {
        refunds.push(args);
        return { refunded: args.cents };
      },
    }),
    lookup: tool({ inputSchema: z.object({ order: z.string() }), execute: async ({ order }) => `${order}: paid` }),
  };
  return { refunds, tools };
}

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
  expect(await resume(stored)).toMatchObject({ waiting: [{ status: "waiting" }], messages: stored });
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

it("denies a tool that was not given to countersigned, and one that was put back as it was", async () => {
  await using desk = await openDesk({ policies: [allowing("*")] });
  const { tools } = shop();
  const both: Answer = [
    ["call-1", "other", {}],
    ["call-2", "lookup", { order: "A7" }],
  ];
  const { model, prompts } = scriptedModel([both, "I cannot."]);
  const guarded = countersigned(desk.support.thread("chat-1"), tools);
  let others = 0;
  const other = tool({ inputSchema: z.object({}), execute: () => ++others });
  const { toolApproval } = guarded;
  const mixed = { ...guarded.tools, other, lookup: tools.lookup };
  await new ToolLoopAgent({ model, tools: mixed, toolApproval, stopWhen }).generate({ messages: asking });
  expect(others).toBe(0);
  expect(prompts[1]?.match(/T0_AGENT_UNGUARDED/g)).toHaveLength(2);
  expect(prompts[1]).not.toContain("A7: paid");
});

it("runs nothing where the kernel is stopped, without the hook too", async () => {
  const desk = await openDesk({ policies: [allowing("refund")] });
  const { refunds, tools } = shop();
  const guarded = countersigned(desk.support.thread("chat-1"), tools);
  await desk[Symbol.asyncDispose]();
  const { model, prompts } = scriptedModel([refundCall, "I cannot."]);
  await generateText({ model, tools: guarded.tools, stopWhen, messages: asking });
  expect(prompts[1]).toContain("T0_KERNEL_STOPPED");
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

it("keeps dates of a schema, and the last of several outputs", async () => {
  const when: unknown[] = [];
  const plan = tool({
    inputSchema: z.object({ at: z.string().transform((text) => new Date(text)) }),
    async *execute({ at }) {
      when.push(at);
      yield "first";
      yield "last";
    },
  });
  await using desk = await openDesk({ policies: [allowing("*")] });
  const { model, prompts } = scriptedModel([[["1", "plan", { at: "2026-11-29" }]], "Well."]);
  const { resume: _, ...guarded } = countersigned(desk.support.thread("chat-1"), { plan });
  await generateText({ model, ...guarded, stopWhen, messages: asking });
  expect(when).toEqual([new Date("2026-11-29")]);
  expect(prompts[1]).toContain('"value":"last"');
});

it("refuses anything but a thread and tools", async () => {
  await using desk = await openDesk();
  expect(() => countersigned({} as never, {})).toThrow("T0_VALIDATION_SCHEMA_MISMATCH");
  expect(() => countersigned(desk.support.thread("t"), { refund: 1 } as never)).toThrow("tools.refund");
});
