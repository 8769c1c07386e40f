/**
 * The entry `countersign/mcp`: a kernel as an MCP server, over HTTP, over stdio, or over any transport of the SDK.
 * @module
 */
export { idempotencyMeta, McpError, McpGate, McpOutcome, McpWorkflow, untilMeta } from "../../contract/mcp.ts";
export type { TransportSource } from "../../packages/operators/mcp/connection.ts";
export type { LeftOutTool, McpDefaults, McpToolOptions } from "../../packages/operators/mcp/define-tools.ts";
export { defaultMcpClientLimits, type McpClientLimits } from "../../packages/operators/mcp/mcp-limits.ts";
export {
  type McpChanges,
  type McpClientInfo,
  type McpOperators,
  type McpOperatorsOptions,
  type McpRoot,
  mcpOperators,
} from "../../packages/operators/mcp/mcp-operators.ts";
export { createMcpHandler, type McpHandler, type McpHandlerOptions } from "./create-mcp-handler.ts";
export { createMcpServer } from "./create-mcp-server.ts";
export { defaultMcpLimits, type McpLimits, type McpOptions, type McpServerOptions } from "./mcp-options.ts";
export { type StdioConnection, type StdioOptions, serveMcpStdio } from "./serve-mcp-stdio.ts";
export { toolNameOf } from "./tools/capability-tools.ts";
