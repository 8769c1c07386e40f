/**
 * The call of a tool: a DATA Signal to T0's bridge, and Signals back (OPR-06). A refused request is repaired once by
 * T2's curiosity and tried again within the same attempt; a denial by policy never is.
 */

import { digest } from "../../../contract/digest.ts";
import { type KernelError, raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { gateIdOf } from "../../../contract/gate.ts";
import { instantText } from "../../../contract/instant.ts";
import type { Json, JsonObject } from "../../../contract/json.ts";
import { t2 } from "../../../contract/messages/t2.ts";
import { t5 } from "../../../contract/messages/t5.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { Operator } from "../../../contract/operator.ts";
import type { PlanStep } from "../../../contract/plan.ts";
import type { PolicyDecision } from "../../../contract/policy.ts";
import { redact } from "../../../contract/redact.ts";
import type { Result } from "../../../contract/result.ts";
import { readStably } from "../../../contract/schema-reading.ts";
import type { Signal } from "../../../contract/signal.ts";
import type { ToolCallContext } from "../../../contract/tool.ts";
import { tieCall } from "../../../engine/actors/call-context.ts";
import { stepQuestion } from "../decide/call/admit-payload.ts";
import { readThrown } from "../decide/call/read-thrown.ts";
import { findOperator, isRepeatable, requireRead, requireVerdict } from "../decide/payload/prepare-step.ts";
import { type IntentionOf, type TypedQuestion, toHost, toTier } from "../decide/run/intention.ts";
import { decisionDraft } from "../decide/run/note-decision.ts";
import { stepOf } from "../decide/run/run.ts";
import { ask } from "./ask.ts";
import type { Calling } from "./call-operator.ts";

const toolRef = moduleRef(4, "tool_execution", "call");

/**
 * Calls a tool and returns its structured data, or its text and files if it gave none. @throws KernelErrorException.
 */
export async function callTool(at: Calling, wanted: IntentionOf<"call">, call: ToolCallContext): Promise<Json> {
  const { step } = stepOf(at.run, wanted.step_id);
  const tool = { at, wanted, call, step, operator: findOperator(at.run, step) };
  const first = await send(tool, wanted.payload as JsonObject);
  if (first.status !== "error") return readAnswer(tool, first.signals);
  const error = first.error as KernelError;
  const repaired = isRepairable(error) ? await repair(tool, error) : null;
  const admitted = repaired === null ? null : await admitRepaired(tool, repaired);
  if (admitted === null) return raise(error);
  const second = await send(tool, admitted);
  return second.status === "error" ? raise(second.error as KernelError) : readAnswer(tool, second.signals);
}

interface ToolCall {
  readonly at: Calling;
  readonly wanted: IntentionOf<"call">;
  readonly call: ToolCallContext;
  readonly step: PlanStep;
  readonly operator: Operator;
}

function send({ at: { runtime, run, parentId }, operator, step, call }: ToolCall, args: JsonObject): Promise<Result> {
  const body = {
    tool: operator.tool?.name ?? operator.metadata.name,
    args,
    data: args,
    schema: "ToolCall",
    operator: step.operator,
    version: operator.metadata.version,
  };
  const { correlation_id } = run.log.identity;
  return runtime.ask(
    0,
    tieCall(runtime.signals.createSignal("data", body, toolRef, correlation_id, null, parentId), call),
  );
}

/** Returns whether a refused request may be repaired: an invalid one may, but a denial must not be evaded. */
function isRepairable(error: KernelError): boolean {
  const code = error.detail["rpc_code"];
  const kernel = (error.detail["data"] as { readonly kernel?: { readonly category?: string } } | null)?.kernel;
  return (code === -32600 || code === -32602) && kernel?.category !== "policy";
}

/** Puts a question and returns the data of its answer. @throws KernelErrorException if the answer is an error. */
async function answerTo<Answer>(asked: TypedQuestion<Answer>, at: Calling): Promise<Answer> {
  const { error, data } = await ask(asked, at);
  return error === null ? data : raise(error);
}

async function repair({ at, operator, wanted }: ToolCall, error: KernelError): Promise<Json | null> {
  const { message, detail } = error;
  const input_schema = operator.tool?.inputSchema ?? null;
  const data = { params: wanted.payload as JsonObject, message, data: detail, input_schema };
  const { params, changed } = await answerTo(toTier(t2.repair, { fn: "repair", data }), at);
  return changed ? (params as Json) : null;
}

/**
 * Admits a repaired request, which is another payload: it passes validateParams, the schema and policy like the first.
 * It never replaces a payload that a person has approved or would have to approve. Returns null if it may not be sent.
 */
async function admitRepaired(tool: ToolCall, repaired: Json): Promise<JsonObject | null> {
  const { at, step } = tool;
  if (at.run.log.record.gates.get(gateIdOf(step.step_id))?.status === "approved") return null;
  try {
    const payload = await parseRepaired(tool, repaired);
    const decision = await judgeRepaired(tool, payload);
    if (decision.decision === "DENY" || decision.decision === "REQUIRE_HUMAN_APPROVAL") return null;
    const changed = redact(decision.transform ?? payload, decision.redactions);
    return (changed === payload ? payload : await parseRepaired(tool, changed)) as JsonObject;
  } catch (thrown) {
    const error = readThrown(thrown);
    at.runtime.logger.warn({ step_id: step.step_id, error }, "a repaired call was not let through");
    return null;
  }
}

/**
 * Returns the payload that the operator's schema makes of repaired params. @throws KernelErrorException as
 * `parseParams`.
 */
async function parseRepaired({ at, operator }: ToolCall, params: Json): Promise<Json> {
  requireVerdict(operator.metadata.name, await answerTo(toHost("check", { payload: params }), at));
  return requireRead(operator, readStably(operator.input, params));
}

async function judgeRepaired({ at, step, operator, wanted }: ToolCall, payload: Json): Promise<PolicyDecision> {
  const { run } = at;
  const now = instantText(at.runtime.clock.now());
  const hash = digest(payload);
  const data = stepQuestion(run, { step, operator, payload, hash }, now);
  const { decision } = await answerTo(toTier(t5.admitStep, { fn: "admit", data }), at);
  const asked = { stage: "action", subject: step.name, step_id: step.step_id, payload, hash, now, keep: true } as const;
  await at.note(wanted, [decisionDraft(run, decision, asked)]);
  return decision;
}

/**
 * Returns the answer of a tool. A tool that reports a failure has answered and may have done a part of its work, so
 * only a repeatable call is retried or planned again. @throws KernelErrorException T4_TOOL_EXECUTION_FAILED.
 */
function readAnswer({ at, operator }: ToolCall, signals: readonly Signal[]): Json {
  const failed = signals.find((s) => s.tags["is_error"] === "true");
  if (failed !== undefined) {
    const answered = { retry: isRepeatable(operator), detail: { answered: true } };
    raise(kernelError("T4_TOOL_EXECUTION_FAILED", String(failed.body["text"]), toolRef, answered));
  }
  for (const file of signals.filter((s) => s.kind === "file")) reportFile(at, file);
  const [data] = signals.filter((s) => s.kind === "data");
  const text = signals
    .filter((s) => s.kind === "text")
    .map((s) => String(s.body["text"]))
    .join("\n");
  const files = signals.filter((s) => s.kind === "file").map((s) => ({ ...s.body }) as Json);
  if (files.length > 0) return { text, files, ...(data === undefined ? {} : { data: data.body["data"] as Json }) };
  return data === undefined ? text : (data.body["data"] as Json);
}

/** Announces a file that a tool made to T6, by reference. */
function reportFile({ runtime, run }: Calling, file: Signal): void {
  const { file_id, file_type, path } = file.body as { file_id: string; file_type: string; path: string | null };
  const announced = runtime.signals.createFileSignal(
    file_id,
    file_type,
    path ?? null,
    toolRef,
    run.log.identity.correlation_id,
    { parentId: file.id },
  );
  runtime.send(6, announced);
}
