/**
 * Messages of JSON-RPC as A2A has them: the request, the answer, and an error with its reasons.
 *
 * 1.  An error has the code that A2A gives it, and two reasons: A2A's own, and ours with the next step.
 * 2.  An error shows nothing of a task that the caller may not know.
 */
import { z } from "zod";
import { errorCodes, isErrorCode } from "../contract/error-codes.ts";
import type { KernelError } from "../contract/kernel-error.ts";
import { errorToJsonrpcError } from "./error-to-jsonrpc-error.ts";
import { nextStepOf } from "./tell-error.ts";

export const RpcId = z.union([z.string().max(256), z.int(), z.null()]);
export type RpcId = z.output<typeof RpcId>;

export const RpcRequest = z.strictObject({
  jsonrpc: z.literal("2.0"),
  id: RpcId,
  method: z.string().max(128),
  params: z.unknown().optional(),
});

/** The codes of A2A for errors of the kernel. */
const codes: Readonly<Record<string, number>> = { T4_WORKFLOW_NOT_FOUND: -32001 };

/** The reasons of A2A by its codes. */
const reasons: Readonly<Record<number, string>> = {
  [-32001]: "TASK_NOT_FOUND",
  [-32002]: "TASK_NOT_CANCELABLE",
  [-32003]: "PUSH_NOTIFICATION_NOT_SUPPORTED",
  [-32004]: "UNSUPPORTED_OPERATION",
  [-32005]: "CONTENT_TYPE_NOT_SUPPORTED",
  [-32009]: "VERSION_NOT_SUPPORTED",
};

const errorInfo = "type.googleapis.com/google.rpc.ErrorInfo";

export const toResult = (id: RpcId, result: object): object => ({ jsonrpc: "2.0", id, result });

/** Returns an error as the answer to a request. */
export function toRpcError(id: RpcId, error: KernelError): object {
  const { code: own, message } = error;
  const code = codes[own] ?? errorToJsonrpcError(error).code;
  const reason = isOfA2a(own) ? reasons[code] : undefined;
  const metadata = {
    next: nextStepOf(error),
    retryable: String(error.retry_eligible),
    detail: JSON.stringify(error.detail),
  };
  const data = [
    ...(reason === undefined ? [] : [{ "@type": errorInfo, reason, domain: "a2a-protocol.org" }]),
    { "@type": errorInfo, reason: own, domain: "countersign", metadata },
  ];
  // A code of A2A's own range that another row happens to have would name another error.
  return {
    jsonrpc: "2.0",
    id,
    error: { code: reason === undefined && code in reasons ? -32603 : code, message, data },
  };
}

const isOfA2a = (code: string): boolean => code.startsWith("T0_A2A_") || Object.hasOwn(codes, code);

/** Returns the HTTP status of an error outside any message. */
export const httpStatusOf = ({ code }: KernelError): number => (isErrorCode(code) ? errorCodes[code].http : 500);
