/**
 * A task as a stream of A2A: the task first, then each change of its status, its artifacts, and the pieces of text that
 * running steps give. It ends when the task has ended or asks a person.
 *
 * 1.  The stream follows the ledger: what it tells is committed.
 * 2.  A failure is told as the last message, with its code.
 */
import { withoutScopes } from "../../../contract/auth-context.ts";
import { type LedgerEvent, payloadOf } from "../../../contract/event.ts";
import { factsOf } from "../../../contract/events.ts";
import { isSettled, isTerminal } from "../../../contract/workflow.ts";
import type { WorkflowState } from "../../../index.ts";
import { type AgentContext, readWorkflow } from "../agent-context.ts";
import { contextIdOf, responseOf, statusOf, textArtifact, toArtifact, toTask } from "./task-view.ts";

/** Yields the messages of a stream. */
export async function* streamTask(
  context: AgentContext,
  taskId: string,
  signal: AbortSignal,
): AsyncGenerator<object, void, void> {
  const first = await readWorkflow(context, taskId);
  yield { task: await toTask(context, first) };
  if (isSettled(first)) return;
  let last = keyOf(await statusOf(context, first));
  const caller = withoutScopes(context.caller);
  for await (const event of context.kernel.events(taskId, { after: first.sequence, signal }, caller)) {
    yield* artifactsOf(event, first);
    if (!movesTask(event)) continue;
    const state = await readWorkflow(context, taskId);
    const status = await statusOf(context, state);
    const over = isSettled(state);
    if (over && isTerminal(state.state) && state.response.text !== "")
      yield update(first, { artifact: responseOf(taskId, state.response.text), append: false, lastChunk: true });
    if (keyOf(status) !== last || over) yield { statusUpdate: { taskId, contextId: contextIdOf(first), status } };
    last = keyOf(status);
    if (over) return;
  }
}

/** Returns whether an event may change the status of its task. */
const movesTask = ({ event_type }: LedgerEvent): boolean => {
  const { progress = false, charts = [] } = factsOf(event_type);
  return event_type !== "STEP_STREAMED" && (progress || charts.includes("gate") || charts.includes("workflow"));
};

/** Returns what of a status makes it another one. */
const keyOf = ({ state, message }: { readonly state: string; readonly message?: object }): string => {
  const { messageId: _, ...shown } = (message ?? {}) as Readonly<Record<string, unknown>>;
  return JSON.stringify([state, shown]);
};

function* artifactsOf(event: LedgerEvent, of: WorkflowState): Generator<object, void, void> {
  if (event.event_type === "STEP_STREAMED") {
    const { chunks, sequence } = payloadOf(event, "STEP_STREAMED");
    const artifact = textArtifact(event.step_id ?? "", chunks.join(""));
    if (chunks.length > 0) yield update(of, { artifact, append: sequence > 1, lastChunk: false });
  }
  if (event.event_type === "OUTCOME_DRAFTED" || event.event_type === "OUTCOME_FINALIZED") {
    const artifact = toArtifact(payloadOf(event, "OUTCOME_DRAFTED").outcome);
    yield update(of, { artifact, append: false, lastChunk: true });
  }
}

const update = (of: WorkflowState, more: object): object => ({
  artifactUpdate: { taskId: of.workflow_id, contextId: contextIdOf(of), ...more },
});
