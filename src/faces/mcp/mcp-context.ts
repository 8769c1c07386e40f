/**
 * What everything of one connection shares: the kernel, who asks, the options.
 *
 * D1  Every call of the kernel is made in the caller's name; a connection never speaks for its host.
 * D2  A gate is answered by a person, where the host lets people do so over MCP, whatever the credential would reach.
 */
import { commandScopes, requireCredentialScope, type ScopedCaller } from "../../contract/auth-context.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { KernelErrorException, raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Caller, Kernel } from "../../index.ts";
import type { ResolvedMcpOptions } from "./mcp-options.ts";

export interface McpContext {
  readonly kernel: Kernel;
  readonly caller: ScopedCaller;
  readonly options: ResolvedMcpOptions;
}

const contextRef = moduleRef(0, "mcp", "context");

type Command = keyof typeof commandScopes;

/** Whether gates may be answered over this connection at all. */
export const answersGates = ({ caller, options }: Pick<McpContext, "caller" | "options">): boolean =>
  options.answersGates && caller.principal.type === "user";

/** The caller as commands name them, if the credential reaches so far. @throws T5_AUTHZ_FORBIDDEN, T0_MCP_GATE_REFUSED. */
export function requireCommand(context: McpContext, command: Command): Caller {
  const { caller } = context;
  requireCredentialScope(caller, commandScopes[command], contextRef);
  if (commandScopes[command] === "gate:approve" && !answersGates(context))
    raise(kernelError("T0_MCP_GATE_REFUSED", "gates are not answered over this connection", contextRef));
  return { tenant_id: caller.tenant_id, principal: caller.principal };
}

/** The same for what no command of the kernel asks for. @throws as `requireCommand`, T5_AUTHN_FAILED. */
export async function requireGranted(context: McpContext, command: Command): Promise<Caller> {
  const caller = requireCommand(context, command);
  await context.kernel.authorize(caller, commandScopes[command]);
  return caller;
}

/** Whether they may, by credential and role. */
export async function isGranted(context: McpContext, command: Command): Promise<boolean> {
  try {
    await requireGranted(context, command);
    return true;
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) return false;
    throw thrown;
  }
}
