/**
 * What callers may say to a kernel, whichever address it comes by: the scope it needs and the call it becomes.
 *
 * C1  All execution begins at submit; a JobRequest is one more way to say it (API-07).
 * C2  A command is said in its caller's name: the credential's scope first, then the claims of the body.
 */
import type { z } from "zod";
import { commandScopes } from "../../contract/auth-context.ts";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import { CancelResponse, GateResponse, type Kernel, RetryResponse, type SubmitResponse } from "../../index.ts";
import { httpRequestToSignal } from "../../protocol/http-request-to-signal.ts";
import { claimCaller, requireCredentialScope } from "./claim-caller.ts";
import { CancelBody, DelegationBody, GateBody, RetryBody, requireNamed, WithdrawalBody } from "./command-bodies.ts";
import type { HttpCaller } from "./http-options.ts";

interface WorkflowCommand {
  readonly operation: string;
  readonly summary: string;
  readonly description?: string;
  readonly needs: string;
  readonly body: z.ZodType;
  /** Whether nothing needs to be said beyond the command itself. */
  readonly bodyOptional?: boolean;
  readonly answer: z.ZodType;
  /** Its Idempotency-Key is kept in the ledger: it may begin a workflow, or reach another gate when it is sent again. */
  readonly isKeyed?: boolean;
  readonly run: (kernel: Kernel, workflowId: string, body: JsonObject) => Promise<object>;
}

export const submitScope = commandScopes.submit;

// The kernel checks each request against its schema; a body is only known to be an object here.
export const workflowCommands: Readonly<Record<string, WorkflowCommand>> = {
  gate: {
    operation: "decideGate",
    summary: "Approves or rejects what waits at a gate; the same decision again gets the same answer",
    description:
      "It names the gate by gate_id, or what the gate shows by payload.payload_digest; at a gate that was revised, what it \
shows now: else it is refused with the digest of that.",
    needs: commandScopes.gate,
    body: GateBody,
    answer: GateResponse,
    isKeyed: true,
    run: (kernel, id, body) => kernel.decideGate(id, requireNamed(body) as never),
  },
  withdraw: {
    operation: "withdrawVote",
    summary: "Takes the caller's vote back while the gate is open",
    needs: commandScopes.withdraw,
    body: WithdrawalBody,
    answer: GateResponse,
    run: (kernel, id, body) => kernel.withdrawVote(id, requireNamed(body) as never),
  },
  delegate: {
    operation: "delegateGate",
    summary: "Lends the caller's seat at a gate to somebody else until an instant",
    needs: commandScopes.delegate,
    body: DelegationBody,
    answer: GateResponse,
    run: (kernel, id, body) => kernel.delegateGate(id, requireNamed(body) as never),
  },
  retry: {
    operation: "retryWorkflow",
    summary: "Runs again what failed and what never ran, or makes steps anew",
    needs: commandScopes.retry,
    body: RetryBody,
    bodyOptional: true,
    answer: RetryResponse,
    isKeyed: true,
    run: (kernel, id, body) => kernel.retry(id, body as never),
  },
  cancel: {
    operation: "cancelWorkflow",
    summary: "Ends a workflow early",
    needs: commandScopes.cancel,
    body: CancelBody,
    bodyOptional: true,
    answer: CancelResponse,
    run: (kernel, id, body) => kernel.cancel(id, body as never),
  },
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
