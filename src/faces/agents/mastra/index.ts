/**
 * The entry `countersign/mastra`: tools of Mastra under a kernel's policies, budgets and gates.
 * @module
 */
export type * from "../agent-call.ts";
export { type Agent, type AgentOptions, type Agents, type AgentsOptions, createAgents } from "../create-agents.ts";
export { type CountersignSuspension, countersigned } from "./countersigned.ts";
