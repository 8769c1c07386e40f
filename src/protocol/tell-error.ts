/** An error as clients of agent protocols see it: without its place in the code, with the next step. */
import { errorCodes, isErrorCode } from "../contract/error-codes.ts";
import type { KernelError } from "../contract/kernel-error.ts";
import type { McpError } from "../contract/mcp.ts";

/**
 * Returns the next step for a person or a model: that of the error itself, else of the nearest cause that has a row.
 */
export const nextStepOf = ({ code, cause }: KernelError): string =>
  isErrorCode(code) ? errorCodes[code].next : cause === null ? "" : nextStepOf(cause);

export function toMcpError(error: KernelError): McpError {
  const { code, category, message, retry_eligible, detail } = error;
  return { code, category, message, next: nextStepOf(error), retry_eligible, detail };
}

/** Returns one line: the message, the code, the next step. */
export const describeError = ({ code, message, next }: McpError): string => `${code}: ${message}. ${next}`.trimEnd();
