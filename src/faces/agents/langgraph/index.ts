/**
 * The entry `countersign/langgraph`: agents of LangChain on LangGraph under a kernel's policies, budgets and gates.
 * @module
 */
export type * from "../agent-call.ts";
export { type Agent, type AgentOptions, type Agents, type AgentsOptions, createAgents } from "../create-agents.ts";
export { type CountersignInterrupt, countersigned } from "./countersigned.ts";
