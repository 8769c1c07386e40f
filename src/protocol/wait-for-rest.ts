/**
 * Waits until a workflow rests: it has ended, is paused, or waits for a person. All faces that answer when the work is
 * done use it. It follows the workflow's own channel where each step of the way counts, or a person's decision.
 *
 * 1.  Nothing of a wait is left once it is over, however it ends: no listener, no timer.
 * 2.  The wait ends with the connection or the request; the workflow does not.
 */
import type { Caller } from "../contract/auth-context.ts";
import { kernelError } from "../contract/error-codes.ts";
import { raise } from "../contract/kernel-error.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { KernelProgress } from "../contract/progress.ts";
import { isAtRest, isSettled } from "../contract/workflow.ts";
import type { WorkflowState } from "../contract/workflow-state.ts";

interface FollowOptions {
  readonly after: number;
  readonly signal: AbortSignal;
}

/** The kernel in which a workflow is read and followed, and the caller. */
export interface FollowedKernel {
  readonly kernel: {
    readonly workflow: (workflowId: string, caller: Caller) => Promise<WorkflowState>;
    readonly settled: (workflowId: string, options: { readonly signal: AbortSignal }) => Promise<WorkflowState>;
    readonly channel: (
      name: "progress",
      workflowId: string,
      options: FollowOptions,
      caller: Caller,
    ) => AsyncIterable<{ readonly item: KernelProgress }>;
  };
  readonly caller: Caller;
}

export interface Waiting {
  readonly signal: AbortSignal;
  /** The last sequence that was seen: the awaited rest comes after it. */
  readonly after?: number;
  readonly onProgress?: (progress: KernelProgress) => Promise<void>;
}

const stopped = () =>
  kernelError("T0_KERNEL_STOPPED", "the kernel stopped before the workflow rested", moduleRef(0, "protocol", "wait"));

/** Waits. @throws KernelErrorException T4_WORKFLOW_NOT_FOUND, T0_KERNEL_STOPPED; the signal's reason. */
export async function waitForRest(
  { kernel, caller }: FollowedKernel,
  workflowId: string,
  { signal, after = -1, onProgress }: Waiting,
): Promise<WorkflowState> {
  const read = () => kernel.workflow(workflowId, caller);
  const isResting = (state: WorkflowState): boolean => isSettled(state) && state.sequence > after;
  for (let state = await read(); ; state = await read()) {
    signal.throwIfAborted();
    if (isResting(state)) return state;
    if (!isSettled(state) && onProgress === undefined) {
      // A kernel that stops resolves all waits.
      if (!isSettled(await kernel.settled(workflowId, { signal }))) raise(stopped());
      continue;
    }
    const seen = Math.max(after, state.sequence);
    for await (const { item } of kernel.channel("progress", workflowId, { after: seen, signal }, caller)) {
      await onProgress?.(item);
      if (isAtRest(item.stage) || item.paused === true) break;
    }
  }
}
