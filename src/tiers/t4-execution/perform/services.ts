/** What performing works with: the outside of a workflow, as the kernel's options and store fill it. */
import type { Outcome } from "../../../contract/outcome.ts";
import type { Middleware } from "../../../ports/middleware.ts";
import type { Security } from "../../../ports/perception.ts";
import type { Timers } from "../../../runtime/timers.ts";
import type { SharedKey } from "../decide/answer-key.ts";

export interface Services {
  readonly security: Security;
  readonly checkAllOutput: boolean;
  readonly holdsStreams: boolean;
  readonly middleware: readonly Middleware[];
  readonly timers: Timers;
  /** The host's own initialisation, once for all workflows; null when it has been done. */
  readonly ensureInitialized: () => Promise<void> | null;
  /** What another workflow made of a key: one of the same scope for an apply key, or the one whose work is made again. */
  readonly findSharedKey: (question: {
    readonly tenant_id: string | number;
    readonly key: string;
    readonly workflow_id: string;
    readonly parent_workflow_id: string | null;
  }) => Promise<SharedKey | null>;
  /** The newest draft that a step made in the workflow whose work is made again. */
  readonly findDraft: (workflowId: string, stepId: string) => Promise<Outcome | null>;
}
