/**
 * The entry `countersign/openai-agents`: agents of the OpenAI Agents SDK under a kernel's policies, budgets and gates.
 * @module
 */
export type * from "../agent-call.ts";
export { type Agent, type AgentOptions, type Agents, type AgentsOptions, createAgents } from "../create-agents.ts";
export { type AnyAgent, guardTools, type Resumed, resume } from "./guard-tools.ts";
