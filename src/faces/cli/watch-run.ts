/**
 * Follows a workflow to its next rest and prints its progress: a bar on a terminal, plain lines elsewhere, nothing with
 * --json. The progress is the kernel's; nothing is counted here.
 *
 * 1.  A workflow that another process runs is followed too, by polling the ledger.
 * 2.  A workflow whose type other processes drive is not waited for: perhaps none of them runs now.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { KernelProgress } from "../../contract/progress.ts";
import { isSettled } from "../../contract/workflow.ts";
import type { WorkflowState } from "../../contract/workflow-state.ts";
import type { Kernel } from "../../index.ts";
import type { Session } from "./options.ts";
import { renderProgress, renderProgressLine } from "./render-workflow.ts";
import { promiseSafety } from "./show-result.ts";
import { eraseLine, type Terminal } from "./terminal.ts";

/** The time between two polls for rows of other processes, in ms. */
export const pollMs = 250;

export interface Watched {
  readonly kernel: Kernel;
  readonly workflowId: string;
  /** Progress up to this sequence has been printed before. */
  readonly after?: number;
  /** The intent types whose workflows other processes drive; none by default. */
  readonly elsewhere?: readonly string[];
}

type Elsewhere = Pick<Watched, "kernel" | "elsewhere">;

/** Returns a workflow whose type other processes drive; null for any other. */
async function findElsewhere({ kernel, elsewhere = [] }: Elsewhere, workflowId: string): Promise<WorkflowState | null> {
  if (elsewhere.length === 0) return null;
  const state = await kernel.workflow(workflowId);
  return elsewhere.includes(state.intent.type) ? state : null;
}

/** Waits until the workflow rests, and returns its state: completed, failed, cancelled or waiting for a person. */
export async function watchRun(watched: Watched, session: Session): Promise<WorkflowState> {
  const { kernel, workflowId, after = 0 } = watched;
  promiseSafety(session, workflowId);
  const standing = await findElsewhere(watched, workflowId);
  if (standing !== null) {
    if (!session.options.json)
      session.terminal.print("Recorded. The process that has its connections goes on with it.");
    return standing;
  }
  const watch = new AbortController();
  const signal = AbortSignal.any([watch.signal, session.terminal.signal]);
  const steps = kernel.progress(workflowId, { after, signal });
  // An error of the workflow is reported by the wait for it, not by its progress.
  const reported = session.options.json ? null : printProgress(steps, session.terminal).catch(() => undefined);
  try {
    const state = await Promise.race([kernel.settled(workflowId), lookForRest(kernel, workflowId, signal)]);
    // A kernel that is being stopped resolves all waits; the workflow is not at rest then.
    session.terminal.signal.throwIfAborted();
    return state;
  } finally {
    watch.abort();
    await reported;
    if (session.terminal.live) session.terminal.write(eraseLine);
  }
}

/**
 * Returns a workflow once it rests at two polls in a row, with no event between them. It never resolves once the signal
 * has aborted.
 */
export async function lookForRest(
  kernel: Kernel,
  workflowId: string,
  signal: AbortSignal,
  isRest = isSettled,
): Promise<WorkflowState> {
  let before = 0;
  for (;;) {
    await sleep(pollMs, undefined, { signal }).catch(() => undefined);
    // The command no longer waits, and the ledger may be closed.
    if (signal.aborted) return new Promise(() => undefined);
    const state = await kernel.workflow(workflowId);
    if (isRest(state) && state.sequence === before) return state;
    before = state.sequence;
  }
}

/**
 * Resolves once each of these workflows rests, is parked, or is driven elsewhere, so that nobody waits here for a time,
 * an event or another process. @throws the signal's reason once it has aborted.
 */
export async function lookForRests(
  watched: Elsewhere,
  workflowIds: Iterable<string>,
  signal: AbortSignal,
): Promise<void> {
  const { kernel } = watched;
  const look = async (id: string): Promise<void> => {
    if ((await findElsewhere(watched, id)) !== null) return;
    await Promise.race([kernel.settled(id), lookForRest(kernel, id, signal, isParkedOrSettled)]);
  };
  await Promise.all([...workflowIds].map(look));
  signal.throwIfAborted();
}

const isParkedOrSettled: typeof isSettled = (one) => one.state === "waiting" || isSettled(one);

async function printProgress(steps: AsyncIterable<KernelProgress>, terminal: Terminal): Promise<void> {
  let last = "";
  for await (const progress of steps) {
    const line = terminal.live ? renderProgress(progress, terminal) : renderProgressLine(progress);
    if (line === last) continue;
    last = line;
    if (terminal.live) terminal.write(eraseLine + line);
    else terminal.print(line);
  }
}
