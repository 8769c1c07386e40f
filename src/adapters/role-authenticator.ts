/**
 * The default authenticator: a table of roles. A role that is not in the table is refused.
 */
import { z } from "zod";
import { publicScopes } from "../contract/auth-context.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Authenticator } from "../ports/authenticator.ts";

const RoleShape = z.strictObject({
  /** The scopes of the role, such as `gate:approve` or `operator:Mail.Send`. */
  scopes: z.array(z.string()).readonly(),
  /** Whether the role may see personal data and have data sent outside. */
  data_policy: z
    .strictObject({
      /** Whether the role may see personal data; true where nothing is said. */
      allow_pii: z.boolean(),
      /** Whether the role may have data sent outside; false where nothing is said. */
      allow_external_send: z.boolean(),
    })
    .partial()
    .optional(),
});
/** The rights of a role: its scopes, and the data that it may see and send. */
export interface Role extends Readonly<z.input<typeof RoleShape>> {}

/** A table of roles, by name. */
export const Roles = z.record(z.string(), RoleShape).readonly();

/** The default roles of a kernel; hosts set their own with the option `roles`. */
export const defaultRoles: Readonly<Record<string, Role>> = Object.freeze({
  user: { scopes: publicScopes },
  admin: { scopes: [...publicScopes, "credential:use", "halt:write"], data_policy: { allow_external_send: true } },
  support: { scopes: ["outcome:read", "gate:approve"], data_policy: { allow_pii: false } },
});

/**
 * Makes an authenticator of a table of roles; a role that is not in it is refused.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for an invalid role.
 */
export function roleAuthenticator(given: Readonly<Record<string, Role>> = defaultRoles): Authenticator {
  const roles = readStrictly(Roles, given, { what: "roles", source: moduleRef(5, "ego", "roles") });
  return {
    authorize({ principal, tenant_id }) {
      const role = Object.hasOwn(roles, principal.role) ? roles[principal.role] : undefined;
      if (role === undefined) return null;
      const data_policy = {
        allow_pii: role.data_policy?.allow_pii ?? true,
        allow_external_send: role.data_policy?.allow_external_send ?? false,
      };
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
