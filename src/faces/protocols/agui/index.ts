/**
 * The entry `countersign/ag-ui`: a kernel behind pages of AG-UI, to which workflows are runs and gates are interrupts.
 * @module
 */
export { type AgentLimits, defaultAgentLimits } from "../agent-options.ts";
export type { AgUiHandlerOptions } from "./agui-options.ts";
export { type AgUiHandler, createAgUiHandler } from "./create-agui-handler.ts";
