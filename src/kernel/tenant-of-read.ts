/** The tenant of a read that may name one: the caller's own, or the one that a host without a caller names. */
import { type Caller, tenantOf } from "../contract/auth-context.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { ModuleRef } from "../contract/module-ref.ts";

type Id = string | number;

/** Returns the tenant of a read. @throws KernelErrorException for another tenant than the caller's, or for none. */
export function tenantFor(asked: Id | undefined, caller: Caller | undefined, source: ModuleRef): Id {
  const own = tenantOf(caller) ?? asked;
  if (own === undefined)
    return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "tenant_id: the host names a tenant", source));
  if (asked !== undefined && asked !== own)
    raise(kernelError("T5_IDENTITY_VIOLATION", "the caller does not belong to this tenant", source));
  return own;
}
