/** Who one is at an edge: what a browser's page asks before it shows anything. */
import { z } from "zod";
import { TenantId } from "./ids.ts";
import { Principal } from "./intent.ts";

/** A browser's session, as its page reads it. */
export const SessionView = z.object({
  tenant_id: TenantId,
  principal: Principal,
  /** What the credential is narrowed to; null where it may do what the role may. */
  scopes: z.array(z.string()).nullable(),
  /** What the caller was known by. */
  via: z.enum(["session", "token", "host"]),
  /** What requests that change something must carry as `X-CSRF-Token`; null where they need not. */
  csrf_token: z.string().nullable(),
  /** When it ends unless it is used again; null where the edge does not know. */
  expires_at: z.iso.datetime().nullable(),
});
export type SessionView = z.infer<typeof SessionView>;
