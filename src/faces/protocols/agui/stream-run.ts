/**
 * A run of AG-UI as events: what its workflow does from here on, until it ends or asks.
 *
 * 1.  The events follow the ledger: what is told is committed.
 * 2.  Every step, text and tool call that is opened is closed before the run ends.
 * 3.  A run ends once: finished, interrupted, cancelled, or with an error that has a code.
 */
import { withoutScopes } from "../../../contract/auth-context.ts";
import { canonicalJson } from "../../../contract/digest.ts";
import type { LedgerEvent } from "../../../contract/event.ts";
import { factsOf } from "../../../contract/events.ts";
import { isSettled, isTerminal } from "../../../contract/workflow.ts";
import type { WorkflowState } from "../../../index.ts";
import { tellOutcomes } from "../../../protocol/tell-outcomes.ts";
import { errorOf } from "../../http/answer.ts";
import { answerableGates, readWorkflow } from "../agent-context.ts";
import type { RunInput } from "./agui-messages.ts";
import type { RunContext } from "./agui-options.ts";
import type { Begun } from "./begin-run.ts";
import { interruptsOf } from "./interrupts.ts";
import { type AgUiEvent, createRunWriter, type RunWriter } from "./run-writer.ts";

/** Yields the events of a run. */
export async function* streamRun(
  context: RunContext,
  { input, begun }: { readonly input: RunInput; readonly begun: Begun },
  signal: AbortSignal,
): AsyncGenerator<AgUiEvent, void, void> {
  const { threadId, runId } = input;
  yield { type: "RUN_STARTED", threadId, runId, protocolVersion: "1.0" };
  try {
    yield* tellRun(context, { input, begun }, signal);
  } catch (thrown) {
    if (signal.aborted) return;
    const { code, message } = errorOf(thrown, context.options.logger);
    yield { type: "RUN_ERROR", message, code };
  }
}

async function* tellRun(
  context: RunContext,
  { input, begun }: { readonly input: RunInput; readonly begun: Begun },
  signal: AbortSignal,
): AsyncGenerator<AgUiEvent, void, void> {
  const { workflowId, before } = begun;
  const writer = createRunWriter(workflowId, input.messages);
  let state = await readWorkflow(context, workflowId);
  let shown = viewOf(state);
  yield { type: "STATE_SNAPSHOT", snapshot: shown };
  if (before !== null) yield* writer.open(before);
  if (before === null || !isSettled(state) || before.sequence < state.sequence) {
    const after = before?.sequence ?? 0;
    const caller = withoutScopes(context.caller);
    for await (const event of context.kernel.events(workflowId, { after, signal }, caller)) {
      yield* writer.tell(event);
      if (!movesRun(event) || event.sequence < state.sequence) continue;
      state = await readWorkflow(context, workflowId);
      const view = viewOf(state);
      const delta = changesOf(shown, view);
      shown = view;
      if (delta.length > 0) yield { type: "STATE_DELTA", delta };
      // What was committed meanwhile is told before the run ends.
      if (isSettled(state) && event.sequence >= state.sequence) break;
    }
  }
  yield* endRun(context, { input, state, writer });
}

/** Returns whether an event may change the state that a page shows, or end the run. */
const movesRun = ({ event_type }: LedgerEvent): boolean => {
  const { charts = [] } = factsOf(event_type);
  return charts.length > 0 || factsOf(event_type).progress === true || event_type === "OUTCOME_FINALIZED";
};

/** Returns the state of a page: the workflow without what only its ledger needs. */
const viewOf = (state: WorkflowState): Readonly<Record<string, unknown>> => ({
  workflow_id: state.workflow_id,
  intent_type: state.intent.type,
  state: state.state,
  percent: state.progress.percent,
  steps: state.steps.map(({ step_id, name, state: now }) => ({ step_id, name, state: now })),
  outcomes: tellOutcomes(state),
});

/** Returns the operations of a JSON Patch that make the second view of the first. */
const changesOf = (from: ReturnType<typeof viewOf>, to: ReturnType<typeof viewOf>): readonly object[] =>
  Object.entries(to).flatMap(([name, value]) =>
    canonicalJson(value) === canonicalJson(from[name]) ? [] : [{ op: "replace", path: `/${name}`, value }],
  );

interface Ending {
  readonly input: RunInput;
  readonly state: WorkflowState;
  readonly writer: RunWriter;
}

async function* endRun(context: RunContext, { input, state, writer }: Ending): AsyncGenerator<AgUiEvent, void, void> {
  const { threadId, runId } = input;
  const finished = (outcome: object): AgUiEvent => ({
    type: "RUN_FINISHED",
    threadId,
    runId,
    outcome,
    result: resultOf(state),
  });
  if (!isTerminal(state.state)) {
    yield* writer.ask(await answerableGates(context, state));
    yield* writer.close();
    return yield { ...finished({ type: "interrupt", interrupts: await interruptsOf(context, input, state) }) };
  }
  yield* writer.close();
  if (state.state === "failed") {
    const { code, message } = state.error ?? { code: "T4_PLAN_FAILED", message: "the workflow failed" };
    return yield { type: "RUN_ERROR", message, code };
  }
  if (state.state === "cancelled") return yield finished({ type: "cancelled" });
  yield* writer.text(state.response.text);
  yield finished({ type: "success" });
}

const resultOf = ({ workflow_id, state, response }: WorkflowState) => ({ workflow_id, state, text: response.text });
