/**
 * The parts that one connection shares: the kernel, the caller, the options.
 *
 * 1.  Every call of the kernel is made in the caller's name; a connection never acts for its host.
 * 2.  A gate is answered only by a person, and only if the host allows that over MCP, whatever the credential's scopes.
 */
import {
  type CommandScope,
  commandScopes,
  requireCredentialScope,
  type ScopedCaller,
} from "../../contract/auth-context.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Caller, Kernel } from "../../index.ts";
import { isPermitted } from "../../protocol/is-permitted.ts";
import type { ResolvedMcpOptions } from "./mcp-options.ts";

export interface McpContext {
  readonly kernel: Kernel;
  readonly caller: ScopedCaller;
  readonly options: ResolvedMcpOptions;
}

const contextRef = moduleRef(0, "mcp", "context");

/** Returns whether gates may be answered over this connection at all. */
export const answersGates = ({ caller, options }: Pick<McpContext, "caller" | "options">): boolean =>
  options.answersGates && caller.principal.type === "user";

/**
 * Returns the caller as requests name them, if the credential reaches so far. @throws T5_AUTHZ_FORBIDDEN,
 * T0_MCP_GATE_REFUSED.
 */
export function requireScope(context: McpContext, scope: CommandScope): Caller {
  const { caller } = context;
  requireCredentialScope(caller, scope, contextRef);
  if (scope === commandScopes.gate && !answersGates(context))
    raise(kernelError("T0_MCP_GATE_REFUSED", "gates are not answered over this connection", contextRef));
  return { tenant_id: caller.tenant_id, principal: caller.principal };
}

/** Does the same, and asks the kernel whether the role reaches so far. @throws as `requireScope`, T5_AUTHN_FAILED. */
export async function requireGranted(context: McpContext, scope: CommandScope): Promise<Caller> {
  const caller = requireScope(context, scope);
  await context.kernel.authorize(caller, scope);
  return caller;
}

/** Returns whether the caller has the scope, by credential and role. */
export const isGranted = (context: McpContext, scope: CommandScope): Promise<boolean> =>
  isPermitted(() => requireGranted(context, scope));
