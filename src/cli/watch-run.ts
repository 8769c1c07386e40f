/**
 * Follows a workflow to its next rest and tells its progress: a bar on a terminal, plain lines elsewhere, nothing with
 * --json. Progress is the kernel's; nothing is counted here.
 */
import type { KernelProgress } from "../contract/progress.ts";
import type { WorkflowState } from "../contract/workflow.ts";
import type { Kernel } from "../index.ts";
import type { Session } from "./options.ts";
import { renderProgress, renderProgressLine } from "./render-workflow.ts";
import type { Terminal } from "./terminal.ts";

const eraseLine = "\r\u001b[2K";

/** The workflow as it rests: completed, failed, cancelled or waiting for a person. */
export async function watchRun(kernel: Kernel, workflowId: string, session: Session): Promise<WorkflowState> {
  const resting = kernel.settled(workflowId);
  if (session.options.json) return resting;
  const watch = new AbortController();
  const signal = AbortSignal.any([watch.signal, session.terminal.signal]);
  const told = tellProgress(kernel.progress(workflowId, { signal }), session.terminal);
  try {
    return await resting;
  } finally {
    watch.abort();
    await told;
    if (session.terminal.live) session.terminal.write(eraseLine);
  }
}

async function tellProgress(steps: AsyncIterable<KernelProgress>, terminal: Terminal): Promise<void> {
  let last = "";
  for await (const progress of steps) {
    const line = terminal.live ? renderProgress(progress, terminal) : renderProgressLine(progress);
    if (line === last) continue;
    last = line;
    if (terminal.live) terminal.write(eraseLine + line);
    else terminal.print(line);
  }
}
