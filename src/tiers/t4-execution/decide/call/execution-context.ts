/**
 * The context of one attempt, in which each member that may change has one writer.
 *
 * 1.  Everything is read-only; an assignment from outside is refused with T4_MIDDLEWARE_VIOLATION and has no effect.
 * 2.  `timeout` is written by the Timeout middleware alone, through `writeTimeout`.
 * 3.  `is_retry` is derived from `attempt`.
 */
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { deepFreeze, type Json } from "../../../../contract/json.ts";
import { moduleRef } from "../../../../contract/module-ref.ts";
import type { OperatorMetadata } from "../../../../contract/operator.ts";
import type { SkillExecutionContext } from "../../../../ports/middleware.ts";

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
const noState = Object.freeze({});

/** The readers of the context's members, by name. */
const reads: { readonly [K in keyof SkillExecutionContext]: Read<SkillExecutionContext[K]> } = {
  request_id: (of) => of.request_id,
  step_id: (of) => of.step_id,
  skill_name: (of) => of.skill_name,
  params: (of) => of.params,
  state: () => noState,
  skill: (of) => of.skill_name,
  metadata: (of) => of.metadata,
  trace: (of) => of.trace,
  timeout: (_of, timeout) => timeout,
  attempt: (of) => of.attempt,
  start_time: (of) => of.start_time,
  is_retry: (of) => of.attempt > 1,
};

type Read<T> = (of: ContextFields, timeout: number) => T;

class ExecutionContext {
  readonly #fields: ContextFields;
  #timeout = 0;

  constructor(fields: ContextFields) {
    deepFreeze(fields.params);
    deepFreeze(fields.trace);
    this.#fields = fields;
    Object.freeze(this);
  }

  static writeTimeout(context: object, seconds: number): void {
    (context as ExecutionContext).#timeout = seconds;
  }

  static read<T>(context: ExecutionContext, read: Read<T>): T {
    return read(context.#fields, context.#timeout);
  }
}

for (const [name, read] of Object.entries(reads)) {
  Object.defineProperty(ExecutionContext.prototype, name, {
    enumerable: true,
    get(this: ExecutionContext) {
      return ExecutionContext.read<unknown>(this, read);
    },
    set(this: ExecutionContext) {
      refuse(name, ExecutionContext.read(this, reads.step_id));
    },
  });
}

/** Creates the context of an attempt. Any assignment to it throws KernelErrorException T4_MIDDLEWARE_VIOLATION. */
export function createExecutionContext(fields: ContextFields): SkillExecutionContext {
  return new ExecutionContext(fields) as unknown as SkillExecutionContext;
}

function refuse(name: string, stepId: string): never {
  const message = `ctx.${name} cannot be written here; each middleware changes its own area only`;
  return raise(kernelError("T4_MIDDLEWARE_VIOLATION", message, ref, { detail: { field: name, step_id: stepId } }));
}

/** Writes the timeout in seconds, for the Timeout middleware alone. */
export const writeTimeout = (context: SkillExecutionContext, seconds: number): void =>
  ExecutionContext.writeTimeout(context, seconds);
