/**
 * The context of one attempt (seed 002 section 5), with one writer for each thing that may change.
 *
 * X1  Everything is read-only; a write from outside is refused with T4_MIDDLEWARE_VIOLATION and has no effect.
 * X2  `timeout` is written by the Timeout middleware alone, through `writeTimeout`.
 * X3  `is_retry` is derived from `attempt`.
 */
import { raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { deepFreeze, type Json } from "../../../contract/json.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { OperatorMetadata } from "../../../contract/operator.ts";
import type { SkillExecutionContext } from "../../../ports/middleware.ts";

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

const ref = moduleRef(4, "middleware", "context");

class ExecutionContext {
  readonly #fields: ContextFields;
  #timeout = 0;

  constructor(fields: ContextFields) {
    this.#fields = fields;
    Object.freeze(this);
  }

  static writeTimeout(context: SkillExecutionContext, seconds: number): void {
    if (#timeout in context) (context as unknown as ExecutionContext).#timeout = seconds;
  }

  static read(context: ExecutionContext, name: string): unknown {
    if (name === "timeout") return context.#timeout;
    return derived[name]?.(context.#fields) ?? context.#fields[name as keyof ContextFields];
  }
}

const derived: { readonly [name: string]: (fields: ContextFields) => unknown } = {
  skill: (fields) => fields.skill_name,
  state: () => noState,
  is_retry: (fields) => fields.attempt > 1,
};
const noState = Object.freeze({});

const names = [
  "request_id",
  "step_id",
  "skill_name",
  "params",
  "state",
  "skill",
  "metadata",
  "trace",
  "timeout",
  "attempt",
  "start_time",
  "is_retry",
] as const;

for (const name of names) {
  Object.defineProperty(ExecutionContext.prototype, name, {
    enumerable: true,
    get(this: ExecutionContext) {
      return ExecutionContext.read(this, name);
    },
    set(this: ExecutionContext) {
      refuse(name, String(ExecutionContext.read(this, "step_id")));
    },
  });
}

/** @throws KernelErrorException (from the assignment) when anything but the Timeout middleware assigns to it. */
export function createExecutionContext(fields: ContextFields): SkillExecutionContext {
  return new ExecutionContext({
    ...fields,
    params: deepFreeze(fields.params),
    trace: deepFreeze(fields.trace),
  }) as unknown as SkillExecutionContext;
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
  ExecutionContext.writeTimeout(context, seconds);
