/** Authority: determines the caller's identity, and whether they have a scope or may cause an effect. */
import { AuthContext, grantsScope, lackedScope } from "../../contract/auth-context.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { follow } from "../../contract/maybe-promise.ts";
import type { AuthorizeQuestion } from "../../contract/messages/t5.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import { callWithin } from "../../engine/actors/within.ts";
import type { Authenticator } from "../../ports/authenticator.ts";

const identityRef = moduleRef(5, "identity", "authorize");

/**
 * Authorizes a caller; synchronously if the authenticator is. @throws KernelErrorException T5_AUTHN_FAILED,
 * T5_AUTHZ_FORBIDDEN, T5_IDENTITY_VIOLATION.
 */
export function authorize(
  authenticator: Authenticator,
  question: AuthorizeQuestion,
  runtime: Runtime,
): AuthContext | Promise<AuthContext> {
  const { needs: _scope, ...who } = question;
  const within = {
    clock: runtime.clock,
    timeoutMs: runtime.limits.authenticatorTimeoutMs,
    source: identityRef,
    onTimeout: "T5_AUTHN_FAILED",
    onThrow: "T5_AUTHN_FAILED",
    what: "the authenticator",
  } as const;
  return callWithin(() => follow(authenticator.authorize(who), (context) => requireContext(context, question)), within);
}

function requireContext(context: AuthContext | null, { tenant_id, needs }: AuthorizeQuestion): AuthContext {
  if (context === null) raise(kernelError("T5_AUTHN_FAILED", "the caller is not known here", identityRef));
  const parsed = AuthContext.safeParse(context);
  if (!parsed.success)
    raise(kernelError("T5_AUTHN_FAILED", "the authenticator gave no valid AuthContext", identityRef));
  if (parsed.data.tenant_id !== tenant_id)
    raise(kernelError("T5_IDENTITY_VIOLATION", "the principal does not belong to this tenant", identityRef));
  requireScope(parsed.data, needs);
  return parsed.data;
}

export function requireScope(auth: AuthContext, needs: string): void {
  if (grantsScope(auth.scopes, needs)) return;
  const lacked = lackedScope(auth.scopes, needs);
  raise(
    kernelError("T5_AUTHZ_FORBIDDEN", `role ${auth.role} lacks the scope ${lacked}`, identityRef, {
      detail: { needs: lacked, role: auth.role },
    }),
  );
}
