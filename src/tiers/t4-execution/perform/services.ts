/** What performing works with: the outside of a workflow, as the kernel's options and store fill it. */
import type { Outcome } from "../../../contract/outcome.ts";
import type { Security } from "../../../ports/perception.ts";
import type { Timers } from "../../../runtime/timers.ts";
import type { SharedKey } from "../decide/answer-key.ts";

export interface Services {
  readonly security: Security;
  readonly timers: Timers;
  /** The host's own initialisation, once for all workflows; null when it has been done. */
  readonly ensureInitialized: () => Promise<void> | null;
  /**
   * What other workflows made of a key. `hasFailed`: this one's own call under it has, for certain. `knows`: whoever began
   * this one, or restarted it, knew that this call was made for nothing.
   */
  readonly findSharedKey: (question: {
    readonly tenant_id: string | number;
    readonly key: string;
    readonly workflow_id: string;
    readonly parent_workflow_id: string | null;
    readonly hasFailed: boolean;
    readonly knows: (actionId: string) => boolean;
  }) => Promise<SharedKey>;
  /** The newest draft that a step made in the workflow whose work is made again. */
  readonly findDraft: (workflowId: string, stepId: string) => Promise<Outcome | null>;
}
