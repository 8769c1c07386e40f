/**
 * Custom middleware: hooks around an operator call, placed between Approval and Timeout. The four fixed ones are
 * the kernel's own and cannot be moved or replaced.
 */
import type { OperatorMetadata } from "../contract/operator.ts";

/** Seed 002 section 5. `timeout` has one writer, the Timeout middleware; `is_retry` is derived. */
export interface SkillExecutionContext {
  readonly request_id: string;
  readonly step_id: string;
  readonly skill_name: string;
  readonly params: unknown;
  readonly state: { readonly [key: string]: unknown };
  readonly skill: string;
  readonly metadata: OperatorMetadata;
  readonly trace: { readonly [key: string]: unknown };
  readonly timeout: number;
  readonly attempt: number;
  readonly start_time: number;
  readonly is_retry: boolean;
}

/** A hook of a host around operator calls. */
export interface Middleware {
  /** Names the hook in traces. */
  readonly name: string;
  /** Throwing stops the call and runs the on-error chain. */
  readonly before?: (ctx: SkillExecutionContext) => void | Promise<void>;
  /** Runs once the call has succeeded. */
  readonly after?: (ctx: SkillExecutionContext) => void | Promise<void>;
  /** Runs once the call has failed. */
  readonly onError?: (ctx: SkillExecutionContext) => void | Promise<void>;
}
