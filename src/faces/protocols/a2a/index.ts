/**
 * The entry `countersign/a2a`: a kernel as an A2A agent, whose capabilities are skills and whose workflows are tasks.
 * @module
 */

export type { PushRecord, PushStore } from "../../../index.ts";
export { type AgentLimits, defaultAgentLimits } from "../agent-options.ts";
export type { A2aHandlerOptions } from "./a2a-options.ts";
export { type A2aHandler, createA2aHandler } from "./create-a2a-handler.ts";
export { createMemoryPushStore } from "./push-store.ts";
