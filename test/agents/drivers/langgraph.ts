/** The driver of LangGraph: an agent of LangChain under the middleware, and its checkpoints as bytes. */
import { deserialize, serialize } from "node:v8";
import { Command, MemorySaver } from "@langchain/langgraph";
import { AIMessage, createAgent, fakeModel, HumanMessage, tool } from "langchain";
import { z } from "zod";
import { countersigned } from "../../../src/faces/agents/langgraph/index.ts";
import { type Conversation, type Driver, lastWords, noJson, type Ran, request } from "./driver.ts";

interface Interrupted {
  readonly __interrupt__?: readonly { readonly id: string; readonly value: unknown }[];
}

export const langGraph: Driver = {
  name: "LangGraph",
  tool: "refund",
  oddCall: { call: ["call-1", "refund", { order: "A7", cents: () => 900 }], words: noJson },
  isRunByKernel: true,
  async run({ support, refund, calls, stored, isClaimed = false, thread = "chat-1" }: Conversation): Promise<Ran> {
    const checkpointer = new MemorySaver();
    if (stored !== undefined)
      [checkpointer.storage, checkpointer.writes] = deserialize(Buffer.from(stored, "base64")) as [never, never];
    const model = fakeModel();
    for (const answer of calls) model.respondWithTools(answer.map(([id, name, args]) => ({ id, name, args })) as never);
    model.respond(new AIMessage(lastWords));
    const schema = z.object({ order: z.string(), cents: z.number() });
    const tools = [tool(async (args) => refund(args), { name: "refund", description: "Refunds.", schema })];
    const agent = createAgent({ model, tools, middleware: [countersigned(support)] as const, checkpointer });
    const config = { configurable: { thread_id: thread } };
    const goOn = async () => {
      const { tasks } = await agent.graph.getState(config);
      const ids = tasks.flatMap(({ interrupts }) => interrupts.flatMap(({ id }) => id ?? []));
      const answer = isClaimed ? { decisions: [{ type: "approve" }] } : true;
      return agent.invoke(new Command({ resume: Object.fromEntries(ids.map((id) => [id, answer])) }), config);
    };
    const begin = () => agent.invoke({ messages: [new HumanMessage(request)] }, config);
    const result = await (stored === undefined ? begin() : goOn());
    const { __interrupt__: interrupts = [] } = result as Interrupted;
    return {
      waiting: interrupts.length === 0 ? null : JSON.stringify(interrupts),
      stored: serialize([checkpointer.storage, checkpointer.writes]).toString("base64"),
      prompts: model.calls.map(({ messages }) => JSON.stringify(messages.map(({ content }) => content))),
      text: String(result.messages.at(-1)?.content),
    };
  },
};
