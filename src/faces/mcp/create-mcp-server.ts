/**
 * createMcpServer: a kernel as an MCP server, for one connection that speaks for one caller.
 *
 * Owns: the declared abilities of the server. It holds no state of any workflow; the host stops the kernel.
 * 1.  Every call of the connection is the caller's: tenant, principal, role and the scopes of the credential.
 * 2.  One server serves one connection, in the revision that its client opens with: 2025-11-25 and before, or
 *     2026-07-28.
 */
import type { Server, ServerCapabilities } from "@modelcontextprotocol/server";
import type { Kernel } from "../../index.ts";
import { addResources } from "./add-resources.ts";
import { addTasks, beginTask } from "./add-tasks.ts";
import { addTools } from "./add-tools.ts";
import { type Declared, tasksExtension } from "./client-abilities.ts";
import { KernelServer } from "./kernel-server.ts";
import { McpServerOptions, readMcpOptions } from "./mcp-options.ts";
import { questionStates } from "./question-state.ts";

const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true },
  completions: {},
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  extensions: { [tasksExtension]: {} },
} satisfies ServerCapabilities;

const instructions =
  "Each capability is a tool; a call of it is a workflow that policy, budget and people may stop. Where one waits " +
  "for a person, show them the gate as it is (what would run, its effect, its digest); they decide it where they " +
  "are signed in. Only where decide-gate is offered may you pass on a decision, theirs and never yours.";

/**
 * Creates an MCP server for one connection, over any transport of the SDK.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for bad options.
 */
export function createMcpServer(kernel: Kernel, asked: McpServerOptions): Server {
  const { caller, ...resolved } = readMcpOptions(McpServerOptions, kernel, asked);
  const context = { kernel, caller, options: resolved };
  const { name, version, limits, logger } = context.options;
  const declared: Declared = () => server.getClientCapabilities();
  const inputRequired = { maxRounds: limits.maxQuestions, roundTimeoutMs: limits.elicitationMs };
  const requestState = { verify: questionStates(context).verify };
  const options = { capabilities, instructions, inputRequired, requestState };
  const server = new KernelServer({ name, version }, options, (request, ctx) =>
    beginTask(context, request, { ctx, declared }),
  );
  server.onerror = (error) => logger?.warn({ error: error.message }, "an MCP connection had an error");
  addTools(server, context, declared);
  addTasks(server, context, declared);
  addResources(server, context);
  return server;
}
