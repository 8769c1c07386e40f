/**
 * The entry `countersign/llm`: model calls as operators, agents as capabilities. Loads no provider; models come in as
 * values. @module
 */
export { AgentCall } from "./agent-messages.ts";
export type { AskOptions, ModelChoice } from "./ask-model.ts";
export { AgentInput, type AgentOptions, defineAgent } from "./define-agent.ts";
export {
  LlmAnswer,
  LlmInput,
  type LlmOperatorOptions,
  llmOperator,
  type StructuredAnswer,
  type StructuredOptions,
} from "./llm-operator.ts";
export { recordModel, replayModel } from "./recorded-model.ts";
export { type ThinkOptions, Thought } from "./think-operator.ts";
