/**
 * The context of one attempt (seed 002 section 5), with one writer for each thing that may change.
 *
 * X1  Everything is read-only; a write from outside is refused with T4_MIDDLEWARE_VIOLATION and has no effect.
 * X2  `timeout` is written by the Timeout middleware alone, through `writeTimeout`.
 * X3  `is_retry` is derived from `attempt`.
 */
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { deepFreeze, type Json } from "../../contract/json.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { OperatorMetadata } from "../../contract/operator.ts";
import type { SkillExecutionContext } from "../../ports/middleware.ts";

export interface ContextFields {
  readonly request_id: string;
  readonly step_id: string;
  readonly skill_name: string;
  readonly params: Json;
  readonly metadata: OperatorMetadata;
  readonly attempt: number;
  readonly start_time: number;
  readonly trace: Readonly<Record<string, unknown>>;
}

const timeouts = new WeakMap<object, number>();
const ref = moduleRef(4, "middleware", "context");

/** @throws KernelErrorException when anything but the Timeout middleware assigns to it. */
export function createExecutionContext(fields: ContextFields): SkillExecutionContext {
  const values: Record<string, unknown> = deepFreeze({
    ...fields,
    skill: fields.skill_name,
    state: {},
    is_retry: fields.attempt > 1,
  });
  const context = {} as SkillExecutionContext;
  for (const name of [...Object.keys(values), "timeout"]) {
    const read = name === "timeout" ? () => timeouts.get(context) ?? 0 : () => values[name];
    Object.defineProperty(context, name, { enumerable: true, get: read, set: () => refuse(name, fields.step_id) });
  }
  return Object.freeze(context);
}

function refuse(name: string, stepId: string): never {
  return raise(
    kernelError(
      "T4_MIDDLEWARE_VIOLATION",
      `ctx.${name} cannot be written here; each middleware changes its own area only`,
      ref,
      { detail: { field: name, step_id: stepId } },
    ),
  );
}

/** The Timeout middleware's pen. Seconds. */
export const writeTimeout = (context: SkillExecutionContext, seconds: number): void =>
  void timeouts.set(context, seconds);
