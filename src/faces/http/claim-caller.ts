/** Adds the caller to a body: tenant and principal in a body are claims, which must match the caller. */
import { z } from "zod";
import { requireCredentialScope as requireScopeOf } from "../../contract/auth-context.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import { raise } from "../../contract/kernel-error.ts";
import { readRequest } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { Principal } from "../../index.ts";
import type { HttpCaller } from "./http-options.ts";

const claimRef = moduleRef(0, "http", "claim_caller");
/** The rest of the body is read by the kernel. */
const Claims = z.looseObject({ principal: Principal.partial().optional() });

/**
 * Returns the body with the caller's tenant and principal; its own claims must be equal.
 * @throws KernelErrorException T5_IDENTITY_VIOLATION, T0_VALIDATION_SCHEMA_MISMATCH.
 */
export function claimCaller(body: unknown, { tenant_id, principal }: HttpCaller): JsonObject {
  if (!isPlainObject(body)) return refuse("the body is not an object");
  const { tenant_id: tenant = tenant_id } = body;
  const { principal: claimed = {} } = readRequest(Claims, body, { what: "request", source: claimRef });
  if (tenant !== tenant_id) refuseClaim("tenant_id");
  for (const key of ["type", "id", "role"] as const)
    if (claimed[key] !== undefined && claimed[key] !== principal[key]) refuseClaim(`principal.${key}`);
  return { ...body, tenant_id, principal };
}

/** Checks the scopes of the credential itself; the kernel checks those of the role. @throws T5_AUTHZ_FORBIDDEN. */
export const requireCredentialScope = (caller: HttpCaller, needs: string): void =>
  requireScopeOf(caller, needs, claimRef);

const refuse = (reason: string): never => raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", reason, claimRef));

const refuseClaim = (field: string): never =>
  raise(kernelError("T5_IDENTITY_VIOLATION", `${field} is not the caller's`, claimRef, { detail: { field } }));
