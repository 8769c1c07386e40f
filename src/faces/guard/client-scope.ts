/**
 * The credential of a guard's client: it reaches the guard's address, and no other address of the app.
 *
 * 1.  At the guard's address it submits calls, runs them and reads its own, as an agent does. At every other address it
 *     lacks each scope: a client neither reads what others called nor submits a call past the guard.
 */
import { agentScopes, hasScope } from "../../contract/auth-context.ts";
import type { McpHandler } from "../mcp/create-mcp-handler.ts";

/** The scope of credentials of clients. */
export const clientScope = "guard:call";

/** Returns the handler for credentials of clients; other credentials keep the scopes that they have. */
export const forClients =
  (handle: McpHandler["handle"]): McpHandler["handle"] =>
  (request, caller, trace) =>
    handle(request, isClient(caller.scopes) ? { ...caller, scopes: agentScopes } : caller, trace);

const isClient = (scopes: readonly string[] | undefined): boolean =>
  scopes !== undefined && hasScope(scopes, clientScope);
