/** LangChain's own agent on LangGraph under the middleware, with checkpoints that outlive the process as bytes. */
import { deserialize, serialize } from "node:v8";
import { Command, MemorySaver } from "@langchain/langgraph";
import { AIMessage, createAgent, fakeModel, HumanMessage, ToolMessage, type ToolRuntime, tool } from "langchain";
import { expect, it } from "vitest";
import { z } from "zod";
import { countersigned } from "../../src/faces/agents/langgraph/index.ts";
import { allowing, decideElsewhere, denying, ledgerPath, openDesk } from "./agents-fixture.ts";

const config = { configurable: { thread_id: "chat-1" } };
const asking = { messages: [new HumanMessage("Refund order A7.")] };
const refundCall = { id: "call-1", name: "refund", args: { order: "A7", cents: 900 } };

type Desk = Awaited<ReturnType<typeof openDesk>>;

/** An agent with new objects of the framework, its model's script, and the arguments that `refund` was called with. */
function openAgent(desk: Pick<Desk, "support">, calls: readonly object[], saver = new MemorySaver()) {
  const refunds: unknown[] = [];
  const model = fakeModel();
  if (calls.length > 0) model.respondWithTools([...calls] as never);
  model.respond(new AIMessage("It is done.")).respond(new AIMessage("It is still done."));
  const refund = tool(
    (args) => {
      refunds.push(args);
      if (args.order === "none") throw new Error("no such order");
      return { refunded: args.cents };
    },
    { name: "refund", description: "Refunds.", schema: z.object({ order: z.string(), cents: z.number() }) },
  );
  const note = tool(
    ({ text }, { toolCallId }: ToolRuntime) =>
      new Command({ update: { messages: [new ToolMessage({ content: `noted ${text}`, tool_call_id: toolCallId })] } }),
    { name: "note", description: "Notes.", schema: z.object({ text: z.string() }) },
  );
  const middleware = [countersigned(desk.support)] as const;
  const agent = createAgent({ model, tools: [refund, note], middleware, checkpointer: saver });
  const heard = (call: number) => JSON.stringify(model.calls[call]?.messages.map(({ content }) => content));
  return { agent, refunds, heard, saver, model };
}

/** Runs an agent to its gate in a kernel that is then stopped, and returns the checkpoints as bytes. */
async function pause(path: string): Promise<Uint8Array> {
  await using desk = await openDesk({ path });
  const { agent, refunds, saver } = openAgent(desk, [refundCall]);
  const paused = await agent.invoke(asking, config);
  expect(paused).toMatchObject({
    __interrupt__: [
      {
        value: {
          type: "countersign",
          tool: "refund",
          gates: [{ title: "support: refund", link: expect.stringContaining("https://desk.example/#/w/wf_") }],
        },
      },
    ],
  });
  expect(refunds).toEqual([]);
  return serialize([saver.storage, saver.writes]);
}

/** Goes on from the checkpoints with new objects on the same file. */
async function goOn(path: string, stored: Uint8Array) {
  await using desk = await openDesk({ path, seed: 7 });
  const saver = new MemorySaver();
  [saver.storage, saver.writes] = deserialize(stored) as [never, never];
  const { agent, refunds, heard } = openAgent(desk, [], saver);
  const result = await agent.invoke(new Command({ resume: true }), config);
  return { refunds, heard: heard(0), result, verified: (await desk.kernel.verify()).ok };
}

it("interrupts at a gate, and after restarts of both sides calls the tool once with the approved payload", async () => {
  const path = ledgerPath();
  const stored = await pause(path);
  const gate = await decideElsewhere(path, "approve");
  const first = await goOn(path, stored);
  expect(first.refunds).toEqual([(gate.payload as { arguments: unknown }).arguments]);
  expect(first.heard).toContain('{\\"refunded\\":900}');
  expect([first.result.messages.at(-1)?.content, first.verified]).toEqual(["It is done.", true]);
  const again = await goOn(path, stored);
  expect(again.refunds).toEqual([]);
  expect(again.heard).toContain('{\\"refunded\\":900}');
});

it("takes a rejection's words to the model, and calls nothing", async () => {
  const path = ledgerPath();
  const stored = await pause(path);
  await decideElsewhere(path, "reject", { comment: "ask the customer first" });
  const { refunds, heard } = await goOn(path, stored);
  expect(refunds).toEqual([]);
  expect(heard).toContain("user ann rejected the call: ask the customer first");
});

it("runs edited arguments and tells the model, also if they do not fit the tool", async () => {
  const [path, other] = [ledgerPath(), ledgerPath()];
  const [stored, otherStored] = [await pause(path), await pause(other)];
  await decideElsewhere(path, "approve", { edit: { arguments: { order: "A7", cents: 100 } } });
  const { refunds, heard } = await goOn(path, stored);
  expect(refunds).toEqual([{ order: "A7", cents: 100 }]);
  expect(heard).toMatch(/user ann changed the arguments.*refunded.*100/);
  await decideElsewhere(other, "approve", { edit: { arguments: { order: "A7", cents: "all" } } });
  const odd = await goOn(other, otherStored);
  expect(odd.refunds).toEqual([]);
  expect(odd.heard).toMatch(/user ann changed the arguments.*cents/);
});

it("interrupts again while a call waits, whatever the graph is resumed with", async () => {
  await using desk = await openDesk();
  const { agent, refunds } = openAgent(desk, [refundCall]);
  await agent.invoke(asking, config);
  const claimed = await agent.invoke(new Command({ resume: { decisions: [{ type: "approve" }] } }), config);
  expect(claimed).toHaveProperty("__interrupt__");
  expect(refunds).toEqual([]);
  await desk.decide("approve");
  await agent.invoke(new Command({ resume: true }), config);
  expect(refunds).toHaveLength(1);
});

it("resumes several calls of one step, each by its own decision", async () => {
  await using desk = await openDesk();
  const other = { ...refundCall, id: "call-2", args: { order: "B", cents: 1 } };
  const { agent, refunds, heard } = openAgent(desk, [refundCall, other]);
  const paused = await agent.invoke(asking, config);
  const interrupts = (paused as unknown as { __interrupt__: { id: string }[] }).__interrupt__;
  expect(interrupts).toHaveLength(2);
  for (const gate of await desk.gates()) {
    const { arguments: args } = (await desk.kernel.gate(gate.workflow_id, gate.gate_id)).payload as {
      arguments: object;
    };
    await ("order" in args && args.order === "B" ? desk.reject(gate.workflow_id) : desk.approve(gate.workflow_id));
  }
  const resume = Object.fromEntries(interrupts.map(({ id }) => [id, true]));
  await agent.invoke(new Command({ resume }), config);
  expect(refunds).toEqual([{ order: "A7", cents: 900 }]);
  expect(heard(1)).toContain("rejected the call");
});

it("never runs what a rule denies, nor what a budget has no room for", async () => {
  await using denied = await openDesk({ policies: [denying("refund")] });
  const one = openAgent(denied, [refundCall]);
  await one.agent.invoke(asking, config);
  expect([one.refunds, one.heard(1)]).toEqual([[], expect.stringContaining("refunds are closed in November")]);
  await using spent = await openDesk({
    policies: [allowing("refund")],
    budgets: { limits: [{ scope: "operator", id: "Agent.Write", invocations: 1 }] },
  });
  const two = openAgent(spent, [refundCall, { ...refundCall, id: "call-2" }]);
  await two.agent.invoke(asking, config);
  expect(two.refunds).toHaveLength(1);
  expect(two.heard(1)).toContain("T5_BUDGET_EXHAUSTED");
});

it("runs nothing where the kernel is stopped, and the model reads the code", async () => {
  const desk = await openDesk({ policies: [allowing("refund")] });
  await desk[Symbol.asyncDispose]();
  const { agent, refunds, heard } = openAgent(desk, [refundCall]);
  await agent.invoke(asking, config);
  expect([refunds, heard(1)]).toEqual([[], expect.stringContaining("T0_KERNEL_STOPPED")]);
});

it("passes a command on as the tool gave it, and what a tool throws as its answer", async () => {
  await using desk = await openDesk({ policies: [allowing("*")] });
  const calls = [
    { id: "1", name: "note", args: { text: "hello" } },
    { id: "2", name: "refund", args: { order: "none", cents: 1 } },
  ];
  const { agent, heard } = openAgent(desk, calls);
  await agent.invoke(asking, config);
  expect(heard(1)).toContain("noted hello");
  expect(heard(1)).toContain("no such order");
});

it("refuses anything but an agent, and a graph without a thread", async () => {
  expect(() => countersigned({} as never)).toThrow("T0_VALIDATION_SCHEMA_MISMATCH");
  await using desk = await openDesk();
  const { refunds, model } = openAgent(desk, [refundCall]);
  const agent = createAgent({ model, tools: [], middleware: [countersigned(desk.support)] });
  await expect(agent.invoke(asking)).rejects.toThrow("agent.thread: id");
  expect(refunds).toEqual([]);
});
