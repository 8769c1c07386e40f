/** Authorisation: what a principal of a tenant may do. Hosts may replace the role table with their own. */
import type { AuthContext } from "../contract/auth-context.ts";
import type { Principal, Scope } from "../contract/intent.ts";

/** Tells who a caller is here and what they may do; null for an unknown caller. */
export interface Authenticator {
  /** Null refuses the caller. */
  readonly authorize: (question: {
    readonly principal: Principal;
    readonly tenant_id: string | number;
    readonly intent_hint: string | null;
    readonly scope: Scope | null;
  }) => AuthContext | null | Promise<AuthContext | null>;
}
