/**
 * The default authenticator: a table of roles. A role that is not in the table is refused.
 */
import { type DataPolicy, publicScopes } from "../contract/auth-context.ts";
import type { Authenticator } from "../ports/authenticator.ts";

export interface Role {
  readonly scopes: readonly string[];
  readonly data_policy?: Partial<DataPolicy>;
}

export const defaultRoles: Readonly<Record<string, Role>> = Object.freeze({
  user: { scopes: publicScopes },
  admin: { scopes: [...publicScopes, "credential:use"], data_policy: { allow_external_send: true } },
  support: { scopes: ["outcome:read", "gate:approve"], data_policy: { allow_pii: false } },
});

export function roleAuthenticator(roles: Readonly<Record<string, Role>> = defaultRoles): Authenticator {
  return {
    authorize({ principal, tenant_id }) {
      const role = Object.hasOwn(roles, principal.role) ? roles[principal.role] : undefined;
      if (role === undefined) return null;
      const data_policy = { allow_pii: true, allow_external_send: false, ...role.data_policy };
      return {
        tenant_id,
        principal_id: principal.id,
        principal_type: principal.type,
        role: principal.role,
        scopes: [...role.scopes],
        data_policy,
      };
    },
  };
}
