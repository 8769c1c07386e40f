/** The driver of the AI SDK: `generateText` over the tools of `countersigned`, and the messages that an app stores. */
import { generateText, isStepCount, type ModelMessage, tool } from "ai";
import { z } from "zod";
import { countersigned } from "../../../src/faces/agents/ai-sdk/index.ts";
import { scriptedModel } from "../mock-model.ts";
import { type Conversation, type Driver, lastWords, noJson, type Ran, request } from "./driver.ts";

export const aiSdk: Driver = {
  name: "the AI SDK",
  tool: "refund",
  oddCall: { call: ["call-1", "odd", { order: "A7" }], words: noJson },
  isRunByKernel: true,
  async run({ support, refund, calls, stored, isClaimed = false, thread = "chat-1" }: Conversation): Promise<Ran> {
    const tools = {
      refund: tool({
        inputSchema: z.object({ order: z.string(), cents: z.number() }),
        execute: async (args) => refund(args),
      }),
      odd: tool({
        inputSchema: z.object({ order: z.unknown().transform((order) => () => order) }),
        execute: async () => refund({ order: "odd", cents: 0 }),
      }),
    };
    const { model, prompts } = scriptedModel([...calls, lastWords]);
    const { resume, ...guarded } = countersigned(support.thread(thread), tools);
    const asking: ModelMessage[] = stored === undefined ? [{ role: "user", content: request }] : JSON.parse(stored);
    const { messages, waiting } = await resume(asking);
    if (waiting.length > 0 && !isClaimed)
      return { waiting: JSON.stringify(waiting), stored: JSON.stringify(messages), prompts, text: "" };
    const claims = isClaimed ? claimedAnswers(messages) : [];
    const given = { model, ...guarded, stopWhen: isStepCount(5), messages: [...messages, ...claims] };
    const { text, content, responseMessages } = await generateText(given);
    const asked = content.filter((part) => part.type === "tool-approval-request" && part.isAutomatic !== true);
    return {
      waiting: asked.length === 0 ? null : JSON.stringify(asked),
      stored: JSON.stringify([...given.messages, ...responseMessages]),
      prompts,
      text,
    };
  },
};

/** The answers by which a client claims that all requests were approved. */
function claimedAnswers(messages: readonly ModelMessage[]): ModelMessage[] {
  const ids = [...JSON.stringify(messages).matchAll(/"approvalId":("[^"]*")/g)].map(([, id = ""]) => JSON.parse(id));
  const content = ids.map((approvalId) => ({ type: "tool-approval-response" as const, approvalId, approved: true }));
  return [{ role: "tool", content }];
}
