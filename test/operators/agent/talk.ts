/** An agent of the shop whose model says what the test writes, turn by turn, and what that model was asked. */
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { type AgentOptions, defineAgent } from "../../../src/packages/operators/llm/index.ts";
import { createTestKernel, type TestKernelOptions } from "../../../src/testing/index.ts";
import { finish, modelThat, says } from "../../routing/model-fixture.ts";
import { shop } from "./shop.ts";

interface Wanted {
  readonly id?: string;
  readonly tool: string;
  readonly input: unknown;
}

/** A turn in which the model wants these calls. */
export const wants = (...calls: readonly Wanted[]): readonly LanguageModelV4StreamPart[] => [
  ...calls.map(({ id, tool, input }, i): LanguageModelV4StreamPart => {
    const written = typeof input === "string" ? input : JSON.stringify(input);
    return { type: "tool-call", toolCallId: id ?? `c${i + 1}`, toolName: tool, input: written };
  }),
  finish("tool-calls"),
];

type Turn = readonly LanguageModelV4StreamPart[];

export function talking(
  turns: readonly Turn[],
  more: Partial<AgentOptions> & { readonly kernel?: Partial<TestKernelOptions> } = {},
) {
  const { calls, tools } = shop();
  const { kernel, ...rest } = more;
  const asked: LanguageModelV4CallOptions[] = [];
  const model = modelThat((options, n) => {
    asked.push(options);
    return turns[n - 1] ?? says("I have nothing more to say");
  });
  const agent = defineAgent({ intentType: "Shop.Help", version: "1.0", tools, model, ...rest });
  const opened = createTestKernel({ capabilities: [agent], ...kernel });
  return { calls, asked, agent, opened };
}
