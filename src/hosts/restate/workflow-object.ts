/**
 * The object that Restate calls: one per workflow, one call at a time, and each call is a drive.
 *
 * Never: uses the context for anything but its key. A drive's course lies in the ledger, so its journal holds the input
 * and the output alone: nothing in it could contradict a repeated drive, and nothing waits for Restate.
 * 1.  A drive takes as long as its calls: Restate's timeouts of inactivity do not end it.
 * 2.  A drive that fails is tried again, and in the end dropped rather than paused: a paused one would keep its
 *     workflow from all that follow, and the sweep finds unfinished workflows in the ledger.
 */
import { handlers, object, RetryableError, TerminalError } from "@restatedev/restate-sdk";
import { KernelErrorException } from "../../contract/error.ts";
import type { HostWork } from "../../ports/host.ts";

/** The result of a drive as Restate shows it. */
export interface Driven {
  readonly state: string | null;
  readonly due_at: string | null;
}

const drives = {
  inactivityTimeout: { hours: 24 },
  abortTimeout: { hours: 24 },
  idempotencyRetention: { minutes: 1 },
  journalRetention: { hours: 1 },
  enableLazyState: true,
  retryPolicy: {
    initialInterval: { milliseconds: 250 },
    exponentiationFactor: 2,
    maxInterval: { seconds: 10 },
    maxAttempts: 400,
    onMaxAttempts: "kill",
  },
} as const;

export function workflowObject(name: string, drive: HostWork["drive"]) {
  const handle = async (workflowId: string): Promise<Driven> => {
    const rested = await drive(workflowId).catch(rethrowForRestate);
    if (rested === null) throw new RetryableError(`${workflowId} is driven by another process, which is alive`);
    const { state, due_at } = rested;
    return { state, due_at: due_at === null ? null : new Date(due_at).toISOString() };
  };
  return object({ name, handlers: { drive: handlers.object.exclusive(drives, ({ key }) => handle(key)) } });
}

/** Throws a failure for Restate: as final if no later attempt can succeed. */
function rethrowForRestate(thrown: unknown): never {
  if (!(thrown instanceof KernelErrorException)) throw thrown;
  const { code, message } = thrown.error;
  if (code === "T4_WORKFLOW_NOT_FOUND") throw new TerminalError(`${code}: ${message}`, { errorCode: 404 });
  throw new RetryableError(`${code}: ${message}`);
}
