/**
 * Errors in MCP: those of a tool as its result, which a model can read and act on; those of the protocol as JSON-RPC
 * errors.
 *
 * 1.  Other errors than a KernelError are logged and not shown to the caller.
 */
import { ProtocolError } from "@modelcontextprotocol/server";
import { processingError } from "../../contract/error.ts";
import { type KernelError, KernelErrorException } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Logger } from "../../index.ts";
import { errorToJsonrpcError } from "../../protocol/error-to-jsonrpc-error.ts";

const errorRef = moduleRef(0, "mcp", "answer");

/** Returns the error of anything thrown. */
export function errorOf(thrown: unknown, logger: Logger | undefined): KernelError {
  if (thrown instanceof KernelErrorException) return thrown.error;
  logger?.error({ thrown }, "an MCP request failed in a way it should not");
  return processingError("the server failed in a way it should not", errorRef);
}

export const toProtocolError = (error: KernelError): ProtocolError => {
  const { code, message, data } = errorToJsonrpcError(error);
  return new ProtocolError(code, message, data);
};

/** Does the work; its errors become JSON-RPC errors. */
export async function orProtocolError<T>(logger: Logger | undefined, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw thrown instanceof ProtocolError ? thrown : toProtocolError(errorOf(thrown, logger));
  }
}
