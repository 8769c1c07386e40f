/** Authorisation: the rights of a principal of a tenant. Hosts may replace the role table with their own. */
import type { AuthContext } from "../contract/auth-context.ts";
import type { Principal, Scope } from "../contract/intent.ts";

/** Determines a caller's identity and rights; null for an unknown caller. */
export interface Authenticator {
  /** Null refuses the caller. */
  readonly authorize: (question: {
    readonly principal: Principal;
    readonly tenant_id: string | number;
    readonly intent_hint: string | null;
    readonly scope: Scope | null;
  }) => AuthContext | null | Promise<AuthContext | null>;
}
