/**
 * The entry `countersign/ai-sdk`: tools of the AI SDK under a kernel's policies, budgets and gates.
 * @module
 */
export type * from "../agent-call.ts";
export { type Agent, type AgentOptions, type Agents, type AgentsOptions, createAgents } from "../create-agents.ts";
export { type Countersigned, countersigned } from "./countersigned.ts";
export type { Resumed } from "./resume-messages.ts";
