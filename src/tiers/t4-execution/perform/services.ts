/** What performing works with: the outside of a workflow, as the kernel's options and store fill it, and its mailbox. */
import type { Outcome } from "../../../contract/outcome.ts";
import type { Runtime } from "../../../engine/actors/runtime.ts";
import type { Timers } from "../../../engine/actors/timers.ts";
import { callWithin } from "../../../engine/actors/within.ts";
import type { Security } from "../../../ports/perception.ts";
import type { FoundEvent, HostQuestions, SharedKey } from "../decide/run/intention.ts";
import { oodaRef, type Run } from "../decide/run/run.ts";
import type { Children } from "./children.ts";

/** A search for an event of a tenant. */
export interface EventSearch extends Readonly<HostQuestions["find_event"]["of"]> {
  readonly tenant_id: string | number;
}

export interface Services {
  readonly security: Security;
  readonly timers: Timers;
  /** The host's own initialisation, once for all workflows; null when it has been done. */
  readonly ensureInitialized: () => Promise<void> | null;
  /**
   * Finds what other workflows made of a key. `knows`: whoever began this one, or restarted it, knew that this call was made
   * for nothing.
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
  /** The ways between children and their parents. */
  readonly children: Children;
  /** The newest draft that a step made in the workflow whose work is made again. */
  readonly findDraft: (workflowId: string, stepId: string) => Promise<Outcome | null>;
}

/** A workflow's mailbox as those see it who perform for it. */
export interface Asking {
  readonly run: Run;
  readonly runtime: Runtime;
  readonly services: Services;
  /** The Signal that woke the run: parent of those it sends. */
  readonly parentId: string | null;
  /** Fires when the workflow is cancelled or its owner stops. */
  readonly signal: AbortSignal;
  /** Resolves once everything noted is in the ledger. */
  readonly saved: () => Promise<void>;
}

const outputBound = {
  limit: "securityTimeoutMs",
  onTimeout: "T4_OUTPUT_INVALID",
  onThrow: "T4_OUTPUT_INVALID",
} as const;
const toolBound = { onTimeout: "T4_TOOL_TIMEOUT", onThrow: "T4_TOOL_EXECUTION_FAILED" } as const;

/** What hosts' code may take, and what its silence and its throws mean, by the function of T4 that asks it. */
const bounds = {
  prepare_step: { limit: "securityTimeoutMs", onTimeout: "T4_PARAMS_REFUSED", onThrow: "T4_PARAMS_REFUSED" },
  screen: outputBound,
  stream: outputBound,
  preview: { limit: "previewTimeoutMs", ...toolBound },
  middleware: { limit: "middlewareTimeoutMs", ...toolBound },
} as const;

interface HostCall<T> {
  readonly fn: keyof typeof bounds;
  /** What is called, for the message. */
  readonly what: string;
  readonly call: () => T | Promise<T>;
}

/** Calls hosts' code for a workflow, within its time. @throws KernelErrorException */
export function callHost<T>({ runtime }: Asking, { fn, what, call }: HostCall<T>): T | Promise<T> {
  const { limit, onTimeout, onThrow } = bounds[fn];
  const { clock, limits } = runtime;
  return callWithin(call, { clock, source: oodaRef(fn), timeoutMs: limits[limit], what, onTimeout, onThrow });
}
