/** The session of a caller at an edge, which a browser's page asks for before it shows anything. */
import { z } from "zod";
import { TenantId } from "./ids.ts";
import { Principal } from "./intent.ts";

/** A browser's session, as its page reads it. */
export const SessionView = z.object({
  tenant_id: TenantId,
  principal: Principal,
  /** The scopes that the credential is narrowed to; null if it has all scopes of the role. */
  scopes: z.array(z.string()).nullable(),
  /** The credential by which the caller was known. */
  via: z.enum(["session", "token", "host"]),
  /** The token that requests that change something must carry as `X-CSRF-Token`; null if they need not. */
  csrf_token: z.string().nullable(),
  /** The instant at which it ends unless it is used again; null if the edge does not know. */
  expires_at: z.iso.datetime().nullable(),
});
export type SessionView = z.infer<typeof SessionView>;
