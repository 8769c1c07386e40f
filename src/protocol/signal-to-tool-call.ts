/**
 * A DATA Signal as an MCP tool call.
 *
 * Owns: the body keys of the tool and its arguments. Never: yields a bad request: a Signal that does not conform is an
 * input error.
 */
import { kernelError } from "../contract/error-codes.ts";
import { isPlainObject } from "../contract/json.ts";
import { isKernelError, type KernelError, raise } from "../contract/kernel-error.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Signal } from "../contract/signal.ts";
import type { ToolCallRequest } from "../contract/tool.ts";

const bridgeRef = moduleRef(0, "bridge", "signal_to_tool_call");

/** Makes {name: body.tool, arguments: body.args}. Throws an input KernelErrorException for any other Signal. */
export function signalToToolCall(signal: Signal): ToolCallRequest {
  const call = trySignalToToolCall(signal);
  return isKernelError(call) ? raise(call) : call;
}

/** Converts in the same way, and returns the KernelError instead of throwing it. */
export function trySignalToToolCall(signal: Signal): ToolCallRequest | KernelError {
  const { kind, body } = signal;
  if (kind !== "data") return refuse(signal, "a tool call is a data signal", ["kind"]);
  const { tool, args } = body;
  const missing = [typeof tool === "string" && tool !== "" ? null : "tool", isPlainObject(args) ? null : "args"];
  if (missing[0] === null && missing[1] === null)
    return { name: tool as string, arguments: args as ToolCallRequest["arguments"] };
  return refuse(
    signal,
    "a tool call names its tool and gives an object of args",
    missing.filter((key) => key !== null),
  );
}

function refuse(signal: Signal, reason: string, missing: readonly string[]): KernelError {
  const detail = { signal_id: signal.id, kind: signal.kind, missing };
  return kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `${reason}: see ${missing.join(", ")}`, bridgeRef, { detail });
}
