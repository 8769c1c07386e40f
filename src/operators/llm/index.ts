/** The entry `countersign/llm`: model calls as operators. Loads no provider; models come in as values. */
export { LlmAnswer, LlmInput, type LlmOperatorOptions, llmOperator } from "./llm-operator.ts";
