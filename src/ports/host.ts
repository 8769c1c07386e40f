/**
 * The host port: decides where and when workflows are driven. A drive takes a workflow from waking to resting, in one
 * process.
 *
 * 1.  The ledger is the truth: a host that loses its memory finds the unfinished workflows in it.
 * 2.  A host decides nothing about a workflow; a driving process has claimed it, and a superfluous drive finds nothing
 *     to do.
 * 3.  No caller waits for a host: accepted requests are in the ledger.
 */
import type { WorkflowStateName } from "../contract/progress.ts";
import type { Clock } from "./clock.ts";
import type { LedgerStore, TakeUpKind, WorkflowHead } from "./ledger-store.ts";
import type { Logger } from "./telemetry.ts";

/** The state in which a process left a workflow that was awake in it. */
export interface Rested {
  readonly workflow_id: string;
  /** The state; null if nothing of it is in the ledger. */
  readonly state: WorkflowStateName | null;
  /** The instant at which something of it falls due; epoch ms. */
  readonly due_at: number | null;
  /** Whether its last events could not be written and no other process has taken it: it has to be folded again. */
  readonly lost: boolean;
  /** Whether it belongs to a queue, in which its rest may let another one begin, or the turn may have come to it. */
  readonly queued: boolean;
}

/** The work that a kernel does for its host. */
export interface HostWork {
  /** The name under which this process holds workflows. */
  readonly owner: string;
  readonly store: LedgerStore;
  /** The intent types whose workflows this kernel leaves to other processes. */
  readonly elsewhere: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: { readonly leaseMs: number; readonly tailPollMs: number; readonly foldAgainMs: number };
  /**
   * Arms, or moves, an alarm of this name on the kernel's clock; null disarms it. A background alarm keeps no process
   * alive.
   */
  readonly alarm: (name: string, at: number | null, fire: () => void, background?: boolean) => void;
  /**
   * Arms, or moves, a background alarm for a look that is repeated; a virtual clock does not step through such looks.
   */
  readonly upkeep: (name: string, at: number, fire: () => void) => void;
  /**
   * Takes up workflows that no living process holds, claims them for this process, and wakes them here; returns their
   * ids. `abandoned` includes, at the second look, those that this process holds without working on them.
   */
  readonly takeUp: (kind: TakeUpKind, limit: number) => Promise<readonly string[]>;
  /** Finds the same workflows, to be driven elsewhere: they are held only for the moment of finding them. */
  readonly findFree: (kind: TakeUpKind, limit: number) => Promise<readonly WorkflowHead[]>;
  /** Wakes a workflow here, unless another process holds it. */
  readonly wake: (workflowId: string) => Promise<void>;
  /**
   * Wakes a workflow here and resolves when it has left memory; null if another living process holds it.
   * @throws KernelErrorException T4_WORKFLOW_NOT_FOUND, and if it was left unfinished: its log failed, the kernel
   * stops.
   */
  readonly drive: (workflowId: string) => Promise<Rested | null>;
}

/** The driver of workflows, given to a kernel by its option `host`. */
export interface Host {
  /** Begins: free and due workflows continue. */
  start(): Promise<void>;
  /** Called when another process is gone, and its workflows are free. */
  freed(): void;
  /** Called when a workflow has left this process's memory. */
  rested(rested: Rested): void;
  /**
   * Called when a process that does not drive the workflow has committed a caller's request, decision or command. A
   * host with this method chooses where the workflow continues; without it, it continues in the committing process.
   * `sequence` is that of the last event.
   */
  readonly dispatch?: (workflowId: string, sequence: number) => void;
  /** Stops with the kernel: nothing more is begun. Running drives may park until `ended`. */
  stop(): void;
  /** Resolves when no drive runs in this process any more. `stop` waits five seconds for it. */
  ended(): Promise<void>;
}
