/**
 * The host port: where and when workflows are driven. A drive takes a workflow from waking to resting, in one process.
 *
 * 1.  The ledger is the truth: a host that forgets all it was told finds in it what has to go on.
 * 2.  A host decides nothing about a workflow; whoever drives has claimed it, and a drive too many finds nothing to do.
 * 3.  Nothing that a host does is waited for by a caller: what was accepted is in the ledger.
 */
import type { WorkflowStateName } from "../contract/progress.ts";
import type { Clock } from "./clock.ts";
import type { LedgerStore, TakeUpKind, WorkflowHead } from "./ledger-store.ts";
import type { Logger } from "./telemetry.ts";

/** How a workflow was left by the process that it was awake in. */
export interface Rested {
  readonly workflow_id: string;
  /** Null where nothing of it is in the ledger. */
  readonly state: WorkflowStateName | null;
  /** The instant at which something of it falls due; epoch ms. */
  readonly due_at: number | null;
  /** What it was left for could not be written, and nobody else has taken it: it has to be folded again. */
  readonly lost: boolean;
}

/** The work that a kernel does for its host. */
export interface HostWork {
  /** The name under which this process holds workflows. */
  readonly owner: string;
  readonly store: LedgerStore;
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
   * Takes up what nobody alive holds, claimed for this process as it is found, and wakes it here; names what it found. Of
   * `abandoned` also what this process holds itself and does not work on, at the second look.
   */
  readonly takeUp: (kind: TakeUpKind, limit: number) => Promise<readonly string[]>;
  /** Finds the same, for who has it driven elsewhere: it is held for the moment of finding it, and by nobody then. */
  readonly findFree: (kind: TakeUpKind, limit: number) => Promise<readonly WorkflowHead[]>;
  /** Wakes a workflow here, unless another process holds it. */
  readonly wake: (workflowId: string) => Promise<void>;
  /**
   * Wakes a workflow here and resolves when it has left memory; null where another living process holds it.
   * @throws KernelErrorException T4_WORKFLOW_NOT_FOUND, and where it was left unfinished: its log was lost, the kernel stops.
   */
  readonly drive: (workflowId: string) => Promise<Rested | null>;
}

/** The driver of workflows, given to a kernel by its option `host`. */
export interface Host {
  /** Begins: what nobody holds, and what is due, goes on. */
  start(): Promise<void>;
  /** Another process is gone, and what it held is free. */
  freed(): void;
  /** A workflow has left this process's memory. */
  rested(rested: Rested): void;
  /**
   * A process that does not drive the workflow has committed what a caller said: a request, a decision, a command. A host
   * that has this says where it goes on; without it, it goes on in the process that committed. `sequence` is that of the
   * last event.
   */
  readonly dispatch?: (workflowId: string, sequence: number) => void;
  /** The kernel stops: nothing is begun any more. Drives that run may rest until `ended`. */
  stop(): void;
  /**
   * Resolves when nothing of the host is left in this process; no drive runs any more. `stop` waits five seconds for
   * it.
   */
  ended(): Promise<void>;
}
