/**
 * The commands of the catalogue as callers give them over HTTP, by whichever address.
 *
 * 1.  All execution begins at submit; a JobRequest is one more way to submit (API-07).
 * 2.  A command is given in its caller's name: the credential's scope first, then the claims of the body.
 */
import { submit } from "../../api/commands.ts";
import type { WorkflowCommand } from "../../api/operation.ts";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import type { Kernel, SubmitRequest, SubmitResponse } from "../../index.ts";
import { httpRequestToSignal } from "../../protocol/http-request-to-signal.ts";
import { claimCaller, requireCredentialScope } from "./claim-caller.ts";
import { requireNamed } from "./command-bodies.ts";
import type { HttpCaller } from "./http-options.ts";

interface Directed {
  readonly workflowId: string;
  readonly body: JsonObject;
}

// The kernel checks each request against its schema; a body is only known to be an object here.
export const runCommand = (
  kernel: Kernel,
  { run, namesGate = false }: WorkflowCommand,
  { workflowId, body }: Directed,
) => run(kernel, workflowId, namesGate ? requireNamed(body) : body);

/** Submits; `gone` aborts when the client has disconnected. */
export const runSubmit = (kernel: Kernel, body: JsonObject, gone: AbortSignal): Promise<SubmitResponse> =>
  kernel.submit(body as unknown as SubmitRequest, { signal: gone });

/**
 * Returns the body in the caller's name. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_IDENTITY_VIOLATION, or for
 * no object.
 */
export function inNameOf(caller: HttpCaller, scope: string, body: unknown): JsonObject {
  requireCredentialScope(caller, scope);
  return claimCaller(body, caller);
}

/** Returns the submit request in the caller's name, made of a submit request or a JobRequest. @throws as `inNameOf`. */
export const submitInNameOf = (caller: HttpCaller, body: unknown, trace: string): JsonObject =>
  inNameOf(caller, submit.scope, toSubmit(body, trace));

/** Returns a JobRequest as the equivalent submit request, and any other body unchanged. */
function toSubmit(body: unknown, trace: string): unknown {
  if (!isPlainObject(body)) return body;
  const signal = httpRequestToSignal(body, trace);
  if (signal.kind !== "text") return body;
  const { query: _, ...constraints } = body;
  return { input: { mode: "message", text: signal.body["text"] }, constraints };
}
