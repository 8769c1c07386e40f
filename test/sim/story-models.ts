/**
 * Operators that ask a model before they act, by the kernel's routes: endpoints with prices and budgets, and models
 * that answer as the story says, without a network. Drawn from a stream of its own.
 */
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ModelEndpoint, ModelRouting } from "../../src/contract/model-route.ts";
import type { OperatorCall } from "../../src/contract/operator.ts";
import { llmOperator } from "../../src/packages/operators/llm/llm-operator.ts";
import { type Draw, drawing } from "./drawing.ts";
import type { Story } from "./story.ts";
import { type Manner, some, wild } from "./story-features.ts";
import { answerAs, type Hands } from "./story-host.ts";

/** `cut`: an end without an answer; `untold`: nobody says what it took. */
type Answers = Manner | "cut" | "untold";

export interface StoryModels extends Pick<ModelRouting, "endpoints"> {
  /** The operators that ask, by their places. */
  readonly asking: readonly number[];
  /** How models answer, one call after another; afterwards at once. */
  readonly answers: readonly Answers[];
}

const stream = 0x1f83d9ab;
const answers: readonly Answers[] = [...wild, "transient", "cut", "untold"];

export function withModels(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (!draw.chance(0.15)) return story;
  const endpoints = Array.from({ length: 1 + draw.upTo(3) }, (_, i) => drawEndpoint(draw, i));
  const places = [...story.operators.keys()];
  const asking = [draw.pick(places), ...places.filter(() => draw.chance(0.3))];
  return { ...story, models: { endpoints, asking, answers: some(draw, answers, 8) } };
}

function drawEndpoint(draw: Draw, i: number): ModelEndpoint {
  const budgets = [{ max_invocations: draw.upTo(4) }, { max_tokens: 10 + draw.upTo(40) }, { max_money: draw.upTo(30) }];
  const plain = { deployment: "local" as const, latency_weight: 1, cost_weight: 1, capabilities: [] };
  const endpoint = { ...plain, name: `m${i}`, price: { in: 0, out: 1e6 } };
  return draw.chance(0.7) ? { ...endpoint, budget: draw.pick(budgets) } : endpoint;
}

export const asksModel = ({ story: { models } }: Hands, place: number): boolean =>
  models?.asking.includes(place) === true;

/** Asks a model by the route that the kernel names. */
export async function askModel(hands: Hands, call: OperatorCall): Promise<void> {
  const { endpoints } = hands.story.models as StoryModels;
  const models = Object.fromEntries(endpoints.map(({ name }) => [name, modelAt(hands, call, name)]));
  const operator = llmOperator({ name: "Story.Ask", models, maxOutputTokens: 4 });
  await operator.run({ ...call, input: { prompt: call.context.step_id } } as never);
}

function modelAt(hands: Hands, { context, attempt }: OperatorCall, modelId: string): LanguageModelV4 {
  const { world, story, process } = hands;
  const doStream = async () => {
    const how = story.models?.answers[world.count("models")] ?? "at_once";
    world.askModel({ ...context, attempt, endpoint: modelId });
    if (how === "never") return new Promise<never>(() => undefined);
    if (how === "late") await new Promise<void>((end) => world.pending.push({ process, called: null, end }));
    const isPlain = how === "late" || how === "cut" || how === "untold";
    const parts = await answerAs(isPlain ? "at_once" : how, hands, () => partsOf(how));
    return { stream: ReadableStream.from(parts) };
  };
  const doGenerate = () => Promise.reject(new Error("it streams"));
  return { specificationVersion: "v4", provider: "story", modelId, supportedUrls: {}, doGenerate, doStream };
}

/** It takes more than was set aside. */
function partsOf(how: Answers): LanguageModelV4StreamPart[] {
  const count = (total: number) => (how === "untold" ? undefined : total);
  const inputTokens = { total: count(2), noCache: count(2), cacheRead: undefined, cacheWrite: undefined };
  const usage = { inputTokens, outputTokens: { total: count(8), text: count(8), reasoning: undefined } };
  const finishReason = { unified: how === "cut" ? "error" : "stop", raw: undefined } as const;
  return [
    { type: "text-delta", id: "1", delta: "so be it" },
    { type: "finish", finishReason, usage },
  ];
}
