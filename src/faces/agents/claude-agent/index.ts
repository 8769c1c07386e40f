/**
 * The entry `countersign/claude-agent`: agents of the Claude Agent SDK under a kernel's policies, budgets and gates.
 * @module
 */
export type * from "../agent-call.ts";
export { type Agent, type AgentOptions, type Agents, type AgentsOptions, createAgents } from "../create-agents.ts";
export { type Countersigned, countersigned } from "./countersigned.ts";
