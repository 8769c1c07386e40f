/** The parts that all mailboxes of a process share: its services, and what the executor does for each. */
import type { Runtime } from "../../engine/actors/runtime.ts";
import type { WorkflowLog } from "../../engine/log/workflow-log.ts";
import type { Settings } from "./decide/run/run.ts";
import type { Mailbox } from "./mailbox.ts";
import type { Services } from "./perform/services.ts";

export interface MailboxHost {
  readonly runtime: Runtime;
  readonly settings: Settings;
  readonly services: Services;
  /** Returns whether the process is stopping: it records further inputs, and another process continues. */
  readonly isStopping: () => boolean;
  /** Returns whether somebody waits for the row that is sealed now, and would have it synced. */
  readonly isAwaited: (log: WorkflowLog) => boolean;
  /** Called when the workflow has ended. A call that is still running ends in this mailbox. */
  readonly onOver: (mailbox: Mailbox) => void;
  /** Called when the workflow has come to rest, has ended, or has lost its log; the mailbox is forgotten then. */
  readonly onRest: (mailbox: Mailbox) => void;
}
