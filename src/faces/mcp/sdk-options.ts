/**
 * What the SDK's own HTTP handler for 2026-07-28 is told: limits, where errors go, and who calls.
 */
import type { ScopedCaller } from "../../contract/auth-context.ts";
import type { ResolvedMcpOptions } from "./mcp-options.ts";

export const sdkOptions = ({ limits, logger }: ResolvedMcpOptions) => ({
  legacy: "reject" as const,
  maxRequestBodySize: limits.maxBodyBytes,
  onerror: (error: Error): void => logger?.warn({ error: error.message }, "an MCP request was refused"),
});

/** The caller as the SDK carries them to the server that it opens for a request. No credential goes along. */
export const authInfoOf = (caller: ScopedCaller) => ({
  token: "",
  clientId: String(caller.principal.id),
  scopes: [...(caller.scopes ?? [])],
  extra: { caller },
});
