/**
 * Interprets a failure on the way to a tool: whether the call was sent, was done, and may be tried again.
 *
 * Owns: the reading of the SDK's errors as KernelErrors. Never: decides about an attempt; retries are the kernel's
 * (T4).
 * 1.  A call that may have reached its server and has no answer is in doubt, unless it may be repeated.
 * 2.  A tool that may not be repeated is tried again only where it was certainly not called.
 * 3.  A wrong argument keeps its JSON-RPC code: the kernel mends it once.
 */
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { isKernelError, KernelErrorException } from "../../../contract/error.ts";
import { type ErrorCode, type KernelErrorOptions, kernelError } from "../../../contract/error-codes.ts";
import { moduleRef } from "../../../contract/module-ref.ts";

const mcpRef = moduleRef(4, "tool_execution", "mcp");

export const mcpError = (code: ErrorCode, message: string, options: KernelErrorOptions = {}): KernelErrorException =>
  new KernelErrorException(kernelError(code, message, mcpRef, options));

/** Returns whether a failure says nothing about the connection: the server answered, or was not asked. */
export const isAnswered = (thrown: unknown): boolean =>
  thrown instanceof KernelErrorException || thrown instanceof ProtocolError || isMisread(thrown);

/** Returns the error of a connection or a listing that failed: nothing was called. */
export function readConnectFailure(thrown: unknown): KernelErrorException {
  if (isOurs(thrown)) return thrown;
  const message = `the MCP server gave no list of tools: ${messageOf(thrown)}`;
  if (isCode(thrown, SdkErrorCode.ListPaginationExceeded))
    return mcpError("T0_VALIDATION_PAYLOAD_TOO_LARGE", `${message} (limits.maxPages)`);
  if (isCode(thrown, SdkErrorCode.RequestTimeout) || (thrown as Error | null)?.name === "TimeoutError")
    return mcpError("T4_TOOL_TIMEOUT", message);
  if (isMisread(thrown)) return mcpError("T4_OUTPUT_INVALID", message);
  return mcpError("T4_TOOL_EXECUTION_FAILED", message, { retry: mayPass(thrown) });
}

export interface Failing {
  readonly tool: string;
  readonly repeatable: boolean;
  /** The call's signal has fired. */
  readonly aborted: boolean;
}

/** Returns the error of a call that was begun and has no result. */
export function readCallFailure(thrown: unknown, failing: Failing): unknown {
  const { tool, repeatable } = failing;
  if (isOurs(thrown)) return thrown;
  if (thrown instanceof ProtocolError) return readRefusal(thrown, failing);
  const summary = `${tool}: ${messageOf(thrown)}`;
  if (isCode(thrown, SdkErrorCode.UnsupportedResultType))
    return mcpError("T4_TOOL_EXECUTION_FAILED", `${tool} asks for what this client does not give`, { retry: false });
  if (isMisread(thrown)) return mcpError("T4_OUTPUT_INVALID", summary);
  if (!failing.aborted && wasNotSent(thrown))
    return mcpError("T4_TOOL_EXECUTION_FAILED", summary, { retry: mayPass(thrown) });
  if (repeatable) return mcpError("T4_TOOL_EXECUTION_FAILED", summary);
  const why = failing.aborted ? "it was cancelled while it ran" : messageOf(thrown);
  return mcpError("T4_ACTION_IN_DOUBT", `nobody knows whether ${tool} took effect: ${why}`);
}

/** Codes that say the request itself is wrong: nothing was done. */
const refusals: ReadonlySet<number> = new Set([-32600, -32601, -32602]);

/**
 * Reads an error response: the server's own message and code. A call that was begun and may not be repeated is not
 * retried.
 */
function readRefusal(thrown: ProtocolError, { repeatable }: Failing): unknown {
  if (repeatable || refusals.has(thrown.code)) return thrown;
  const detail = { answered: thrown.code };
  return mcpError("T4_TOOL_EXECUTION_FAILED", thrown.message, { detail, retry: false });
}

const isOurs = (thrown: unknown): thrown is KernelErrorException =>
  thrown instanceof KernelErrorException && isKernelError(thrown.error);

const isCode = (thrown: unknown, ...codes: readonly SdkErrorCode[]): boolean =>
  thrown instanceof SdkError && codes.includes(thrown.code as SdkErrorCode);

/** Returns whether an answer arrived and violates the protocol. */
const isMisread = (thrown: unknown): boolean =>
  isCode(thrown, SdkErrorCode.InvalidResult, SdkErrorCode.UnsupportedResultType);

/** Returns whether a request was refused with 4xx. */
const turnedAway = (thrown: unknown): thrown is SdkHttpError =>
  thrown instanceof SdkHttpError && thrown.status >= 400 && thrown.status < 500;

/**
 * Returns whether a failure may be temporary: a session that is gone, a busy server, a name that does not resolve now.
 * A wrong key is not.
 */
const mayPass = (thrown: unknown): boolean => {
  if (turnedAway(thrown)) return [404, 408, 425, 429].includes(thrown.status);
  return codeOf(thrown) !== "ENOENT" && codeOf(thrown) !== "EACCES";
};

const unsent: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH"]);

const wasNotSent = (thrown: unknown): boolean =>
  isCode(thrown, SdkErrorCode.NotConnected) || turnedAway(thrown) || unsent.has(codeOf(thrown));

/** Returns Node's code of a failed system call, which `fetch failed` carries in its cause. */
function codeOf(thrown: unknown): unknown {
  const { code, cause } = (thrown ?? {}) as { readonly code?: unknown; readonly cause?: { readonly code?: unknown } };
  return cause?.code ?? code;
}

const messageOf = (thrown: unknown): string =>
  (thrown instanceof Error ? thrown.message : String(thrown)).slice(0, 1000);
