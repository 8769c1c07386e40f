/**
 * T0, foundation: the connection to tools. A DATA Signal becomes a request, and the answer becomes Signals again. It
 * takes in the requests that begin children as well.
 *
 * Owns: the pool of received answers, matched by id. Never: repairs a request (T2), retries it (T4).
 * 1.  An answer belongs to the request with its id, in whatever order answers arrive.
 */
import { z } from "zod";
import { createError, type KernelError, KernelErrorException, raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { SubmitResponse } from "../../contract/intent.ts";
import type { JsonObject } from "../../contract/json.ts";
import { t0 } from "../../contract/messages/t0.ts";
import { t1 } from "../../contract/messages/t1.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { metricsOf, ok, type Result } from "../../contract/result.ts";
import type { RpcErrorResponse, RpcMessage } from "../../contract/rpc.ts";
import type { Signal } from "../../contract/signal.ts";
import { type ToolClient, ToolResult } from "../../contract/tool.ts";
import { answerMessages } from "../../engine/actors/answer-messages.ts";
import { askTier } from "../../engine/actors/ask-tier.ts";
import { callOf } from "../../engine/actors/call-context.ts";
import type { TierDefinition } from "../../engine/actors/define-tier.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import { errorOf } from "../../engine/actors/within.ts";
import type { ArtifactStore } from "../../ports/artifact-store.ts";
import {
  createErrorResponse,
  createRequest,
  createSuccessResponse,
  matchResponseToRequest,
} from "../../protocol/envelope.ts";
import { signalToToolCall } from "../../protocol/signal-to-tool-call.ts";
import { toolResultToSignal } from "../../protocol/tool-result-to-signal.ts";
import { beginChild } from "./gateway.ts";
import { JoinedSubmits } from "./join-submits.ts";

const bridgeRef = moduleRef(0, "bridge", "call_tool");

export interface FoundationTierOptions {
  /** The client behind a registered tool operator. */
  readonly client: (operator: string, version?: string) => ToolClient | null;
  readonly artifacts: ArtifactStore;
  /** The host checks outputs: answers are held until the step has had them checked. */
  readonly holdsAnswers: boolean;
}

export function createFoundationTier({ client, artifacts, holdsAnswers }: FoundationTierOptions): TierDefinition {
  const pool: RpcMessage[] = [];
  const joined = new JoinedSubmits<SubmitResponse>();
  return {
    tier: 0,
    name: "foundation",
    doors: answerMessages(
      t0,
      {
        callTool: (_arguments, { signal, runtime }) => callTool({ client, artifacts, pool }, signal, runtime),
        beginChild: (asked, { runtime }) => beginChild({ runtime, joined }, asked),
      },
      { callTool: { held: holdsAnswers } },
    ),
  };
}

interface Bridge extends Omit<FoundationTierOptions, "holdsAnswers"> {
  readonly pool: RpcMessage[];
}

async function callTool(bridge: Bridge, signal: Signal, runtime: Runtime): Promise<Result> {
  const call = signalToToolCall(signal);
  const client =
    bridge.client(String(signal.body["operator"] ?? ""), signal.body["version"] as string | undefined) ??
    raise(kernelError("T4_OPERATOR_UNKNOWN", `no tool client for ${call.name}`, bridgeRef));
  const params = { name: call.name, arguments: call.arguments };
  const request = createRequest("tools/call", params, "request", { ids: runtime.ids });
  const send = () => client.request(request.method, (request.params ?? {}) as JsonObject, callOf(signal));
  const { message, own } = await exchange(request.id, send, { signal, runtime });
  bridge.pool.push(message);
  const response = matchResponseToRequest(request.id, bridge.pool);
  if (response === null) raise(kernelError("T4_TOOL_EXECUTION_FAILED", "no answer came in for the request", bridgeRef));
  bridge.pool.splice(bridge.pool.indexOf(response as RpcMessage), 1);
  if ("error" in response) raise(toolFailure(response, own));
  const signals = toolResultToSignal(response.result as ToolResult, call.name, signal.trace_id, {
    parentId: signal.id,
    signals: runtime.signals,
    putArtifact: (bytes, mediaType) => bridge.artifacts.put(bytes, mediaType),
  });
  return ok(signals, metricsOf(bridgeRef));
}

/** The answer, and the client's own error if it threw one. A server's error is never taken for it. */
interface Exchanged {
  readonly message: RpcMessage;
  readonly own: KernelError | null;
}

/** Returns the client's answer as a message; T1 formats a failure of the call. */
async function exchange(
  id: string,
  send: () => Promise<unknown>,
  { signal, runtime }: { readonly signal: Signal; readonly runtime: Runtime },
): Promise<Exchanged> {
  try {
    return { message: createSuccessResponse(id, readToolResult(await send())), own: null };
  } catch (thrown) {
    const { code, data = null } = (thrown ?? {}) as { readonly code?: unknown; readonly data?: JsonObject };
    const error = errorOf(thrown, "T4_TOOL_EXECUTION_FAILED", bridgeRef);
    if (typeof code === "number" && Number.isInteger(code))
      return { message: createErrorResponse(id, code, error.message, data), own: null };
    const asked = { source: bridgeRef, traceId: signal.trace_id, parentId: signal.id };
    const message = await askTier(runtime, t1.formatFailure, { request_id: id, error }, asked);
    return { message, own: thrown instanceof KernelErrorException ? error : null };
  }
}

/**
 * Checks a server's answer like all input from outside. The tool was called, so a malformed answer is a refused result
 * (RPC-14).
 */
function readToolResult(answer: unknown): JsonObject {
  const parsed = ToolResult.safeParse(answer);
  if (parsed.success) return parsed.data;
  const message = `the tool's answer is no tool result: ${z.prettifyError(parsed.error)}`;
  return raise(kernelError("T4_OUTPUT_INVALID", message, bridgeRef, { detail: { answered: true } }));
}

const toolRef = moduleRef(4, "tool_execution", "call");

/** Codes of answers that refuse the request itself: repeating it would get the same answer. */
const refusals: ReadonlySet<number> = new Set([-32600, -32601, -32602]);

function toolFailure({ error }: RpcErrorResponse, own: KernelError | null): KernelError {
  const detail = { ...own?.detail, rpc_code: error.code, data: error.data ?? null };
  if (own === null)
    return kernelError("T4_TOOL_EXECUTION_FAILED", error.message, toolRef, {
      detail,
      retry: !refusals.has(error.code),
    });
  const { code, category, severity, message, retry_eligible, cause } = own;
  return createError(code, category, severity, message, toolRef, retry_eligible, detail, cause);
}
