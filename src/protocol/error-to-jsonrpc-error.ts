// A KernelError as a JSON-RPC error object (seed 000, error_to_jsonrpc_error; C-21).
// Owns: the code by category, and the one reserved key data.kernel, by which a reader tells a policy denial from a bad
// request although both may say -32600.

import { rpcCodeByCategory } from "../contract/error-codes.ts";
import type { KernelError } from "../contract/kernel-error.ts";
import type { RpcErrorObject } from "../contract/rpc.ts";

/** code by category, the message, and data: every key of detail, and kernel {code, category, severity}. */
export function errorToJsonrpcError(error: KernelError): RpcErrorObject {
  const { code, category, severity } = error;
  return {
    code: rpcCodeByCategory[category],
    message: error.message,
    data: { ...error.detail, kernel: { code, category, severity } },
  };
}
