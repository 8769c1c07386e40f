/** A model that gives what it is asked to give, and half of it where a person has refused. In place of a provider's. */
import { MockLanguageModelV4 } from "ai/test";

const usage = {
  inputTokens: { total: 500, noCache: 500, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 100, text: 100, reasoning: 0 },
};
const end = (unified: "stop" | "tool-calls") => ({ finishReason: { unified, raw: unified }, usage, warnings: [] });

export const shopModel = () =>
  new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const told = JSON.stringify(prompt);
      if (told.includes("granted")) return { content: [{ type: "text", text: "Done." }], ...end("stop") };
      const cents = told.includes("at most ten euros") ? 1_000 : 5_000;
      const input = JSON.stringify({ customer: "c-1", cents });
      return {
        content: [{ type: "tool-call", toolCallId: `give-${cents}`, toolName: "Voucher_Give", input }],
        ...end("tool-calls"),
      };
    },
  });
