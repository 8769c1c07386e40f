/** What a door answers a Signal with: an ok Result of one Signal, child of the one that it answers. */
import { escalate, type KernelError } from "../../contract/error.ts";
import type { ModuleRef } from "../../contract/module-ref.ts";
import { metricsOf, ok, type Result } from "../../contract/result.ts";
import type { Signal, Tags } from "../../contract/signal.ts";
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

/** An error that nobody has handled goes on with this tier's wrap around it. */
export const escalateFrom =
  (ref: ModuleRef) =>
  ({ id, trace_id, body }: Signal, { signals }: Runtime): Result => {
    const wrapped = escalate(body["data"] as KernelError);
    return ok([signals.createErrorSignal(wrapped, ref, trace_id, { parentId: id })], metricsOf(ref));
  };
