/**
 * The services of performing: the outside of a workflow, as the kernel's options and store supply it, and its mailbox.
 */
import type { Outcome } from "../../../contract/outcome.ts";
import type { WorkflowRecord } from "../../../contract/workflow.ts";
import type { Runtime } from "../../../engine/actors/runtime.ts";
import type { Timers } from "../../../engine/actors/timers.ts";
import { callWithin } from "../../../engine/actors/within.ts";
import type { Security } from "../../../ports/perception.ts";
import type { Command } from "../decide/run/input.ts";
import type { FoundEvent, HostQuestions, QueuePlace, SharedKey } from "../decide/run/intention.ts";
import { oodaRef, type Run } from "../decide/run/run.ts";
import type { Children } from "./children.ts";

/** A search for an event of a tenant. */
export interface EventSearch extends Readonly<HostQuestions["find_event"]["of"]> {
  readonly tenant_id: string | number;
}

export interface Services {
  readonly security: Security;
  readonly timers: Timers;
  /** Runs the host's own initialisation, once for all workflows; returns null when it has been done. */
  readonly ensureInitialized: () => Promise<void> | null;
  /**
   * Finds the calls of other workflows under a key. `knows` returns whether the beginner of this workflow, or the
   * person who restarted it, knew that the call's answer cannot be used.
   */
  readonly findSharedKey: (question: {
    readonly tenant_id: string | number;
    readonly key: string;
    readonly workflow_id: string;
    readonly regenerated_from: string | null;
    readonly knows: (actionId: string) => boolean;
  }) => Promise<SharedKey>;
  /** Finds an event from outside that a step may take, among those that the tenant received. */
  readonly findEvent: (question: EventSearch) => Promise<FoundEvent>;
  /** Returns the one-time address of a wait. @throws KernelErrorException T4_WAIT_TOKEN_NONE. */
  readonly waitUrl: (record: WorkflowRecord, stepId: string) => string;
  /** Returns how a workflow stands in its queue. */
  readonly queuePlace: (record: WorkflowRecord) => Promise<QueuePlace>;
  /** Returns the other workflows that are in the queue of this one and came before it. */
  readonly queuedBefore: (record: WorkflowRecord) => Promise<readonly string[]>;
  /** Gives a workflow a command, in whichever process it is driven. @throws KernelErrorException its refusal. */
  readonly command: (workflowId: string, command: Command) => Promise<unknown>;
  /** The connections between children and their parents. */
  readonly children: Children;
  /** Returns the newest draft that a step made in the workflow whose work is done again. */
  readonly findDraft: (workflowId: string, stepId: string) => Promise<Outcome | null>;
}

/** A workflow's mailbox as performing uses it. */
export interface Asking {
  readonly run: Run;
  readonly runtime: Runtime;
  readonly services: Services;
  /** The Signal that woke the run; it is the parent of the Signals that the run sends. */
  readonly parentId: string | null;
  /** Fires when the workflow is cancelled or its owner stops. */
  readonly signal: AbortSignal;
  /** Resolves once all appended events are committed. */
  readonly saved: () => Promise<void>;
}

const outputBound = {
  limit: "securityTimeoutMs",
  onTimeout: "T4_OUTPUT_INVALID",
  onThrow: "T4_OUTPUT_INVALID",
} as const;
const toolBound = { onTimeout: "T4_TOOL_TIMEOUT", onThrow: "T4_TOOL_EXECUTION_FAILED" } as const;

/** The time limits of host code, and the errors for a timeout and for a throw, by the function of T4 that calls it. */
const bounds = {
  prepare_step: { limit: "securityTimeoutMs", onTimeout: "T4_PARAMS_REFUSED", onThrow: "T4_PARAMS_REFUSED" },
  screen: outputBound,
  stream: outputBound,
  preview: { limit: "previewTimeoutMs", ...toolBound },
  estimate: { limit: "previewTimeoutMs", ...toolBound },
  present: { limit: "previewTimeoutMs", ...toolBound },
  middleware: { limit: "middlewareTimeoutMs", ...toolBound },
} as const;

interface HostCall<T> {
  readonly fn: keyof typeof bounds;
  /** The name of the called function, for the message. */
  readonly what: string;
  readonly call: () => T | Promise<T>;
}

/** Calls host code for a workflow within its time limit. @throws KernelErrorException. */
export function callHost<T>({ runtime }: Asking, { fn, what, call }: HostCall<T>): T | Promise<T> {
  const { limit, onTimeout, onThrow } = bounds[fn];
  const { clock, limits } = runtime;
  return callWithin(call, { clock, source: oodaRef(fn), timeoutMs: limits[limit], what, onTimeout, onThrow });
}
