/**
 * The hosts' middleware around an attempt, as questions: each hook is asked once an attempt, with a time limit of its own.
 */
import {
  boundError,
  ExecutorError,
  fromExecutorError,
  isKernelError,
  type KernelError,
  KernelErrorException,
  raise,
} from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { toJson } from "../../../contract/json.ts";
import type { SkillExecutionContext } from "../../../ports/middleware.ts";
import { messageOf } from "../../../runtime/within.ts";
import { invokerRef } from "./answer-key.ts";
import { createExecutionContext } from "./execution-context.ts";
import { buildChain, type FixedName, runBack, type Slot } from "./middleware.ts";
import type { Prepared } from "./prepare-step.ts";
import { pending, type Run } from "./run.ts";

/** What middleware sees of the attempt; one object for all of its hooks. */
export function contextOf(run: Run, { step, operator, payload }: Prepared, attempt: number): SkillExecutionContext {
  const known = run.contexts.get(step.step_id);
  if (known?.attempt === attempt) return known;
  const context = createExecutionContext({
    request_id: run.log.record.workflow_id,
    step_id: step.step_id,
    skill_name: step.operator,
    params: payload,
    metadata: operator.metadata,
    attempt,
    start_time: run.now,
    trace: { correlation_id: run.log.record.correlation_id, step_id: step.step_id },
  });
  run.contexts.set(step.step_id, context);
  return context;
}

export function chainOf(
  run: Run,
  step_id: string,
  fixed: Readonly<Record<FixedName, Omit<Slot, "name" | "skipsOnRetry">>>,
): readonly Slot[] {
  const { middleware } = run.settings;
  const custom = middleware.map(({ name, before, after, onError }) => {
    const hook = (phase: "before" | "after" | "onError", given: unknown) =>
      given === undefined ? {} : { [phase]: () => askHook(run, { ask: "hook", step_id, name, phase }) };
    return { name, ...hook("before", before), ...hook("after", after), ...hook("onError", onError) };
  });
  return buildChain(fixed, custom);
}

function askHook(run: Run, question: Parameters<Run["scopes"]["hear"]>[1] & { readonly ask: "hook" }): void {
  const { attempt = 0 } = run.contexts.get(question.step_id) ?? {};
  const { answer } = run.scopes.hear(`${question.phase}:${question.name}:${attempt}`, question);
  if (answer.error !== null) raise(answer.error);
}

/** The way back after an attempt, from the inside out; what a hook fails with is logged and changes nothing. */
export function backOut(run: Run, step_id: string, phase: "after" | "on_error"): void {
  const context = run.contexts.get(step_id);
  if (context === undefined) return;
  const step = run.log.record.steps.get(step_id)?.step;
  const chain = chainOf(run, step_id, {
    Trace: { after: () => run.mark("trace.append", { step_id }) },
    Policy: {
      after: () =>
        run.mark("policy.record_step_cost", {
          step_id,
          skill: step?.operator,
          estimated_cost: step?.estimated_cost,
        }),
    },
    Approval: {},
    Timeout: {},
  });
  const told = { step_id, attempt: context.attempt };
  try {
    runBack(chain, phase, { context, mark: (at, name) => run.mark(`middleware.${at}`, { name, ...told }) });
  } catch (thrown) {
    if (thrown === pending) throw thrown;
    run.warn({ step_id, error: readThrown(thrown) }, "middleware failed after its attempt");
  }
}

/** The KernelError of whatever an operator threw: its own operator error, a KernelError, or a plain throw (C-09). */
export function readThrown(thrown: unknown): KernelError {
  try {
    const error = identify(thrown);
    toJson(error.detail);
    return error;
  } catch (unreadable) {
    // Looking at it threw, or its details are no JSON: it can be neither kept nor shown.
    return kernelError("T4_TOOL_EXECUTION_FAILED", "it failed with what cannot be shown", invokerRef, {
      detail: { thrown: messageOf(unreadable), unstructured: true },
    });
  }
}

function identify(thrown: unknown): KernelError {
  if (thrown instanceof KernelErrorException && isKernelError(thrown.error)) return boundError(thrown.error);
  const structured = ExecutorError.safeParse((thrown as { readonly executorError?: unknown } | null)?.executorError);
  if (structured.success) return fromExecutorError(structured.data);
  const name = thrown instanceof Error ? thrown.name : "";
  if (name === "TimeoutError") return kernelError("T4_TOOL_TIMEOUT", messageOf(thrown), invokerRef);
  return kernelError("T4_TOOL_EXECUTION_FAILED", messageOf(thrown), invokerRef, {
    detail: { thrown: messageOf(thrown), unstructured: true },
  });
}
