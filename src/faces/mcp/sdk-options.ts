/** The options of the SDK's own HTTP handler for 2026-07-28: limits, the receiver of errors, and the caller. */
import type { ScopedCaller } from "../../contract/auth-context.ts";
import type { ResolvedMcpOptions } from "./mcp-options.ts";

export const sdkOptions = ({ limits, logger }: ResolvedMcpOptions) => ({
  legacy: "reject" as const,
  maxRequestBodySize: limits.maxBodyBytes,
  onerror: (error: Error): void => logger?.warn({ error: error.message }, "an MCP request was refused"),
});

/**
 * Returns the caller in the form in which the SDK passes them to the server that it opens for a request. It holds no
 * credential.
 */
export const authInfoOf = (caller: ScopedCaller) => ({
  token: "",
  clientId: String(caller.principal.id),
  scopes: [...(caller.scopes ?? [])],
  extra: { caller },
});
