/**
 * What callers may say to a kernel, whichever address it comes by: the scope it needs and the call it becomes.
 *
 * C1  All execution begins at submit; a JobRequest is one more way to say it (API-07).
 * C2  A command is said in its caller's name: the credential's scope first, then the claims of the body.
 */
import { commandScopes } from "../contract/auth-context.ts";
import { isPlainObject, type JsonObject } from "../contract/json.ts";
import type { Kernel, SubmitResponse } from "../index.ts";
import { httpRequestToSignal } from "../protocol/http-request-to-signal.ts";
import { claimCaller, requireCredentialScope } from "./claim-caller.ts";
import type { HttpCaller } from "./http-options.ts";

interface WorkflowCommand {
  readonly needs: string;
  readonly run: (kernel: Kernel, workflowId: string, body: JsonObject) => Promise<object>;
}

export const submitScope = commandScopes.submit;

// The kernel checks each request against its schema; a body is only known to be an object here.
export const workflowCommands: Readonly<Record<string, WorkflowCommand>> = {
  gate: { needs: commandScopes.gate, run: (kernel, id, body) => kernel.decideGate(id, body as never) },
  withdraw: { needs: commandScopes.withdraw, run: (kernel, id, body) => kernel.withdrawVote(id, body as never) },
  delegate: { needs: commandScopes.delegate, run: (kernel, id, body) => kernel.delegateGate(id, body as never) },
  retry: { needs: commandScopes.retry, run: (kernel, id, body) => kernel.retry(id, body as never) },
  cancel: { needs: commandScopes.cancel, run: (kernel, id, body) => kernel.cancel(id, body as never) },
};

export const submit = (kernel: Kernel, body: JsonObject): Promise<SubmitResponse> => kernel.submit(body as never);

/** The body in the caller's name. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_IDENTITY_VIOLATION, or for no object. */
export function inNameOf(caller: HttpCaller, needs: string, body: unknown): JsonObject {
  requireCredentialScope(caller, needs);
  return claimCaller(body, caller);
}

/** A JobRequest as the submit request that says the same; any other body as it is. */
export function toSubmit(body: unknown, trace: string): unknown {
  if (!isPlainObject(body)) return body;
  const signal = httpRequestToSignal(body, trace);
  if (signal.kind !== "text") return body;
  const { query: _, ...constraints } = body;
  return { input: { mode: "message", text: signal.body["text"] }, constraints };
}
