/**
 * A KernelError as a JSON-RPC error object.
 *
 * Owns: the code, of the catalogue's row or of the category, and the one reserved key data.kernel, by which a reader
 * tells a policy denial from a bad request although both may say -32600.
 */
import { errorCodes, isErrorCode } from "../contract/error-codes.ts";
import { rpcCodeByCategory } from "../contract/error-row.ts";
import type { KernelError } from "../contract/kernel-error.ts";
import type { RpcErrorObject } from "../contract/rpc.ts";

/**
 * Renders an error. code: the row's, unless the code has no row or wraps an error of another category: then the
 * category's. data: every key of detail, and kernel {code, category, severity}.
 */
export function errorToJsonrpcError(error: KernelError): RpcErrorObject {
  const { code, category, severity } = error;
  const row = isErrorCode(code) ? errorCodes[code] : undefined;
  return {
    code: row?.category === category ? row.rpc : rpcCodeByCategory[category],
    message: error.message,
    data: { ...error.detail, kernel: { code, category, severity } },
  };
}
