/** The abilities of the client: declared once at `initialize`, or with each request since 2026-07-28. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type ServerContext,
} from "@modelcontextprotocol/server";

/** The Tasks extension of 2026-07-28. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

export type Declared = () => ClientCapabilities | undefined;

/** Returns the abilities: those of the request first; `declared` are those of the connection. */
export function abilitiesOf(ctx: ServerContext, declared: Declared): ClientCapabilities {
  const { envelope } = ctx.mcpReq;
  if (envelope === undefined) return declared() ?? {};
  return (
    ((envelope as Readonly<Record<string, unknown>>)[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined) ??
    {}
  );
}

/** Returns whether forms are supported: an empty `elicitation` means forms, as before there were other modes. */
export function hasForms({ elicitation }: ClientCapabilities): boolean {
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

export const hasTasks = ({ extensions }: ClientCapabilities): boolean => extensions?.[tasksExtension] !== undefined;

/** Requests since 2026-07-28 carry their own envelope; those before belong to a session. */
export const isModern = (ctx: ServerContext): boolean => ctx.mcpReq.envelope !== undefined;
