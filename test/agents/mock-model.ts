/**
 * A model of the AI SDK's own mock that answers by a script, and keeps the prompts that it was given.
 * Owns: the script. Never: reaches a network.
 */
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { usageOf } from "../routing/model-fixture.ts";

/** One answer: a text, or calls of tools as [id, tool, arguments]. */
export type Answer = string | readonly (readonly [id: string, tool: string, args: object])[];

/** Creates a model that gives the answers in order; `finish` is the reason why an answer with calls ends. */
export function scriptedModel(answers: readonly Answer[], finish: "tool-calls" | "length" = "tool-calls") {
  const prompts: string[] = [];
  const next = ({ prompt }: LanguageModelV4CallOptions) => {
    const answer = answers[prompts.push(JSON.stringify(prompt)) - 1] ?? "nothing more";
    const unified = typeof answer === "string" ? ("stop" as const) : finish;
    const content =
      typeof answer === "string"
        ? [{ type: "text" as const, text: answer }]
        : answer.map(([toolCallId, toolName, args]) => {
            const input = JSON.stringify(args);
            return { type: "tool-call" as const, toolCallId, toolName, input };
          });
    return { content, finishReason: { unified, raw: unified }, usage: usageOf(10, 5), warnings: [] };
  };
  const model = new MockLanguageModelV4({
    doGenerate: async (options) => next(options),
    async doStream(options) {
      const { content, finishReason, usage } = next(options);
      const chunks: LanguageModelV4StreamPart[] = [{ type: "stream-start", warnings: [] }];
      for (const part of content)
        if (part.type === "tool-call") chunks.push(part);
        else
          chunks.push(
            { type: "text-start", id: "1" },
            { type: "text-delta", id: "1", delta: part.text },
            { type: "text-end", id: "1" },
          );
      chunks.push({ type: "finish", finishReason, usage });
      return { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) };
    },
  });
  return { model, prompts };
}
