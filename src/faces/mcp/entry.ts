/**
 * The entry `countersign/mcp` as Node imports it: the exports of `index.ts`, or an error that names the packages to
 * install. The entry of `countersign/http` explains it.
 */
import { loadPeers } from "../../protocol/load-peers.ts";

const packages = ["@modelcontextprotocol/server@2", "@modelcontextprotocol/client@2", "ajv@8"];

export const {
  createMcpHandler,
  createMcpServer,
  defaultMcpClientLimits,
  defaultMcpLimits,
  idempotencyMeta,
  McpError,
  McpGate,
  McpOutcome,
  McpWorkflow,
  mcpOperators,
  serveMcpStdio,
  toolNameOf,
  untilMeta,
} = await loadPeers({ user: "countersign/mcp", packages }, () => import("./index.ts"));
