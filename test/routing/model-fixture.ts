// What the tests of routing share: endpoints, and models of the interface's own mock that answer without a network.

import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider";
import { simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import type { ModelEndpoint } from "../../src/index.ts";

/** A local endpoint for text, of middling weights and without a budget. */
export const endpoint = (name: string, more: Partial<ModelEndpoint> = {}): ModelEndpoint => ({
  name,
  deployment: "local",
  latency_weight: 1,
  cost_weight: 1,
  capabilities: ["text"],
  ...more,
});

export const usageOf = (read: number | undefined, written: number | undefined): LanguageModelV4Usage => ({
  inputTokens: { total: read, noCache: read, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: written, text: written, reasoning: undefined },
});

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>["finishReason"]["unified"];

export const finish = (unified: Finish = "stop", usage = usageOf(30, 12)): LanguageModelV4StreamPart => ({
  type: "finish",
  finishReason: { unified, raw: unified },
  usage,
});

const delta = (text: string): LanguageModelV4StreamPart => ({ type: "text-delta", id: "1", delta: text });

/** The parts of a plain answer. */
export const says = (...texts: readonly string[]): readonly LanguageModelV4StreamPart[] => [
  { type: "stream-start", warnings: [] },
  { type: "response-metadata", id: "resp-1", modelId: "mock" },
  { type: "text-start", id: "1" },
  ...texts.map(delta),
  { type: "text-end", id: "1" },
  finish(),
];

export const streamOf = (chunks: readonly LanguageModelV4StreamPart[]) =>
  simulateReadableStream({ chunks: [...chunks], initialDelayInMs: null, chunkDelayInMs: null });

/** A model that streams what `answer` gives, call by call. */
export const modelThat = (
  answer: (
    options: LanguageModelV4CallOptions,
    call: number,
  ) => readonly LanguageModelV4StreamPart[] | ReadableStream<LanguageModelV4StreamPart>,
): MockLanguageModelV4 => {
  let calls = 0;
  return new MockLanguageModelV4({
    provider: "mock",
    doStream: async (options) => {
      calls += 1;
      const parts = answer(options, calls);
      return { stream: parts instanceof ReadableStream ? parts : streamOf(parts) };
    },
  });
};
