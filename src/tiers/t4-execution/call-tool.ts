/**
 * Calling a tool: a DATA Signal to T0's bridge, Signals back (OPR-06). A refused request is repaired once by T2's
 * curiosity and tried again within the same attempt; a policy denial under the same number never is (C-21).
 */
import { type KernelError, raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { Json, JsonObject } from "../../contract/json.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Result } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import type { ToolCallContext } from "../../contract/tool.ts";
import { tieCall } from "../../runtime/call-context.ts";
import { admitPayload } from "./admit-payload.ts";
import { readThrown } from "./invoke-operator.ts";
import { checkPayload, isRepeatable, type Prepared } from "./prepare-step.ts";
import { askFor, type Run, stepOf } from "./run.ts";

const toolRef = Object.freeze(moduleRef(4, "tool_execution", "call"));

/** The tool's answer: its structured data where it gave any, else its text and files. @throws KernelErrorException. */
export async function callTool(run: Run, prepared: Prepared, call: ToolCallContext): Promise<Json> {
  const first = await send(run, prepared, { args: prepared.payload as JsonObject, call });
  if (first.status !== "error") return readAnswer(run, prepared, first.signals);
  const error = first.error as KernelError;
  const repaired = isRepairable(error) ? await repair(run, prepared, error) : null;
  const admitted = repaired === null ? null : await admitRepaired(run, prepared, repaired);
  if (admitted === null) return raise(error);
  const second = await send(run, prepared, { args: admitted, call });
  return second.status === "error" ? raise(second.error as KernelError) : readAnswer(run, prepared, second.signals);
}

interface Sending {
  readonly args: JsonObject;
  readonly call: ToolCallContext;
}

function send(run: Run, { operator, step }: Prepared, { args, call }: Sending): Promise<Result> {
  const body = {
    tool: operator.tool?.name ?? operator.metadata.name,
    args,
    data: args,
    schema: "ToolCall",
    operator: step.operator,
    version: operator.metadata.version,
  };
  const { correlation_id } = run.log.identity;
  const signal = run.kit.signals.createSignal("data", body, toolRef, correlation_id, null, run.parentId);
  return run.kit.ask(0, tieCall(signal, call));
}

/** A bad request may be put right; a denial must not be evaded. */
function isRepairable(error: KernelError): boolean {
  const code = error.detail["rpc_code"];
  const kernel = (error.detail["data"] as { readonly kernel?: { readonly category?: string } } | null)?.kernel;
  return (code === -32600 || code === -32602) && kernel?.category !== "policy";
}

async function repair(run: Run, { operator, payload }: Prepared, error: KernelError): Promise<JsonObject | null> {
  const data = {
    params: payload,
    message: error.message,
    data: error.detail,
    input_schema: operator.tool?.inputSchema ?? null,
  };
  const { params, changed } = await askFor<{ readonly params: JsonObject; readonly changed: boolean }>(run, 2, {
    schema: "Repair",
    fn: "repair",
    data,
  });
  return changed ? params : null;
}

/**
 * A repaired request is another payload: it passes validateParams, the schema and policy like the first, and never stands
 * in for what a person has approved, or would have to. Null when it may not be sent.
 */
async function admitRepaired(run: Run, prepared: Prepared, repaired: JsonObject): Promise<JsonObject | null> {
  if (prepared.gate !== null) return null;
  const payload = repaired as Json;
  try {
    const input = await checkPayload(run, prepared.operator, payload);
    const admitted = await admitPayload(run, { ...prepared, payload, input }, { keep: true });
    const asksAPerson = stepOf(run, prepared.step.step_id).decision?.decision === "REQUIRE_HUMAN_APPROVAL";
    return asksAPerson ? null : (admitted.payload as JsonObject);
  } catch (thrown) {
    const error = readThrown(thrown);
    run.kit.logger.warn({ step_id: prepared.step.step_id, error }, "a repaired call was not let through");
    return null;
  }
}

/** A tool that says it failed may have done half of its work: only what may be repeated is tried again. */
function readAnswer(run: Run, { operator }: Prepared, signals: readonly Signal[]): Json {
  const failed = signals.find((s) => s.tags["is_error"] === "true");
  if (failed !== undefined)
    raise(
      kernelError("T4_TOOL_EXECUTION_FAILED", String(failed.body["text"]), toolRef, { retry: isRepeatable(operator) }),
    );
  for (const file of signals.filter((s) => s.kind === "file")) tellFile(run, file);
  const [data] = signals.filter((s) => s.kind === "data");
  const text = signals
    .filter((s) => s.kind === "text")
    .map((s) => String(s.body["text"]))
    .join("\n");
  const files = signals.filter((s) => s.kind === "file").map((s) => ({ ...s.body }) as Json);
  if (files.length > 0) return { text, files, ...(data === undefined ? {} : { data: data.body["data"] as Json }) };
  return data === undefined ? text : (data.body["data"] as Json);
}

/** A file that a tool made is announced by T4, by reference. */
function tellFile(run: Run, file: Signal): void {
  const { file_id, file_type, path } = file.body as { file_id: string; file_type: string; path: string | null };
  const announced = run.kit.signals.createFileSignal(
    file_id,
    file_type,
    path ?? null,
    toolRef,
    run.log.identity.correlation_id,
    { parentId: file.id },
  );
  run.kit.send(6, announced);
}
