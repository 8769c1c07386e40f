/** The answer of a door to a Signal: an ok Result of one Signal, child of the one that it answers. */
import { escalate, type KernelError } from "../../contract/error.ts";
import type { ModuleRef } from "../../contract/module-ref.ts";
import { metricsOf, ok, type Result } from "../../contract/result.ts";
import type { Signal, Tags } from "../../contract/signal.ts";
import type { Visit } from "./answer-messages.ts";
import type { Runtime } from "./runtime.ts";

export interface DataAnswer {
  readonly data: unknown;
  readonly schema: string;
  /** The function that answers. */
  readonly ref: ModuleRef;
  readonly tags?: Tags;
}

export function answerData(
  runtime: Runtime,
  { id, trace_id }: Signal,
  { data, schema, ref, tags }: DataAnswer,
): Result {
  const out = runtime.signals.createDataSignal(data, schema, ref, trace_id, tags ?? null, { parentId: id });
  return ok(Object.freeze([out]), metricsOf(ref));
}

/** Returns a handler that passes an unhandled error on, with a wrap of this tier around it. */
export const escalateFrom =
  (ref: ModuleRef) =>
  (error: KernelError, { signal: { id, trace_id }, runtime: { signals } }: Visit): Result =>
    ok([signals.createErrorSignal(escalate(error), ref, trace_id, { parentId: id })], metricsOf(ref));
