/**
 * The events of a run that ledger events give: steps, pieces of text, tool calls. It knows what it has opened.
 *
 * 1.  A tool call has the id of its payload: the one that a gate shows and the one that is then made are one call, and
 *     a call that the conversation has already is not begun again.
 * 2.  What an operator streams passes through, as one text for each attempt.
 */
import { type LedgerEvent, payloadOf } from "../../../contract/event.ts";
import type { Json } from "../../../contract/json.ts";
import type { Gate, WorkflowState } from "../../../index.ts";
import type { AgUiMessage } from "./agui-messages.ts";
import { toolCallIdOf } from "./interrupts.ts";

/** An event of AG-UI. */
export type AgUiEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

export interface RunWriter {
  /** Opens the steps that are running already. */
  readonly open: (state: WorkflowState) => Iterable<AgUiEvent>;
  readonly tell: (event: LedgerEvent) => Iterable<AgUiEvent>;
  /** Shows the calls that people are asked about. */
  readonly ask: (gates: readonly Gate[]) => Iterable<AgUiEvent>;
  /** Gives the text of the answer, if no operator has streamed it. */
  readonly text: (text: string) => Iterable<AgUiEvent>;
  /** Closes what is open. */
  readonly close: () => Iterable<AgUiEvent>;
}

/** The steps that are open, and the texts that their operators stream. */
interface Steps {
  readonly begin: (stepId: string) => Iterable<AgUiEvent>;
  readonly end: (stepId: string) => Iterable<AgUiEvent>;
  readonly stream: (event: LedgerEvent) => Iterable<AgUiEvent>;
  readonly close: () => Iterable<AgUiEvent>;
  /** Returns whether this text was streamed. */
  readonly hasStreamed: (text: string) => boolean;
}

function createSteps(workflowId: string): Steps {
  const open = new Set<string>();
  /** The text of each open message, by its id. */
  const texts = new Map<string, string>();
  const streamed: string[] = [];
  function* endTexts(prefix: string): Generator<AgUiEvent, void, void> {
    for (const [messageId, text] of [...texts]) {
      if (!messageId.startsWith(prefix)) continue;
      texts.delete(messageId);
      streamed.push(text);
      yield { type: "TEXT_MESSAGE_END", messageId };
    }
  }
  function* end(stepName: string): Generator<AgUiEvent, void, void> {
    yield* endTexts(`${workflowId}/${stepName}/`);
    if (open.delete(stepName)) yield { type: "STEP_FINISHED", stepName };
  }
  return {
    *begin(stepName) {
      if (open.has(stepName)) return;
      open.add(stepName);
      yield { type: "STEP_STARTED", stepName };
    },
    end,
    *stream(event) {
      const { attempt, chunks } = payloadOf(event, "STEP_STREAMED");
      const delta = chunks.join("");
      if (delta === "") return;
      const messageId = `${workflowId}/${event.step_id ?? ""}/${attempt}`;
      if (!texts.has(messageId)) yield { type: "TEXT_MESSAGE_START", messageId, role: "assistant" };
      texts.set(messageId, (texts.get(messageId) ?? "") + delta);
      yield { type: "TEXT_MESSAGE_CONTENT", messageId, delta };
    },
    *close() {
      yield* endTexts("");
      for (const stepName of [...open]) yield* end(stepName);
    },
    hasStreamed: (text) => streamed.some((one) => one.trim() === text.trim()),
  };
}

/** The tool calls that a page knows. */
interface Calls {
  readonly begin: (toolCallId: string, name: string, args: Json) => Iterable<AgUiEvent>;
  readonly tell: (event: LedgerEvent) => Iterable<AgUiEvent>;
}

function createCalls(workflowId: string, messages: readonly AgUiMessage[]): Calls {
  const begun = new Set(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)));
  const answered = new Set(messages.flatMap(({ toolCallId }) => (toolCallId === undefined ? [] : [toolCallId])));
  /** The id of the tool call of each action. */
  const ids = new Map<string, string>();
  function* begin(toolCallId: string, name: string, args: Json): Generator<AgUiEvent, void, void> {
    if (begun.has(toolCallId)) return;
    begun.add(toolCallId);
    yield { type: "TOOL_CALL_START", toolCallId, toolCallName: name };
    yield { type: "TOOL_CALL_ARGS", toolCallId, delta: JSON.stringify(args) };
    yield { type: "TOOL_CALL_END", toolCallId };
  }
  function* end(actionId: string, content: string): Generator<AgUiEvent, void, void> {
    const toolCallId = ids.get(actionId);
    if (toolCallId === undefined || answered.has(toolCallId)) return;
    answered.add(toolCallId);
    yield { type: "TOOL_CALL_RESULT", messageId: `${toolCallId}/result`, toolCallId, content, role: "tool" };
  }
  return {
    begin,
    *tell(event) {
      if (event.event_type === "ACTION_STARTED") {
        const { action_id, operator_name, payload_hash, input = null } = payloadOf(event, "ACTION_STARTED");
        const id = toolCallIdOf(workflowId, event.step_id ?? "", payload_hash);
        ids.set(action_id, id);
        yield* begin(id, operator_name, input);
      } else if (event.event_type === "ACTION_SUCCEEDED") {
        const { action_id, result } = payloadOf(event, "ACTION_SUCCEEDED");
        yield* end(action_id, JSON.stringify(result));
      } else if (event.event_type === "ACTION_FAILED") {
        const { action_id, error, final } = payloadOf(event, "ACTION_FAILED");
        if (final) yield* end(action_id, `${error.code}: ${error.message}`);
      }
    },
  };
}

/** Creates the writer of one run; the messages are those that the page has. */
export function createRunWriter(workflowId: string, messages: readonly AgUiMessage[]): RunWriter {
  const steps = createSteps(workflowId);
  const calls = createCalls(workflowId, messages);
  return {
    *open({ steps: all }) {
      for (const { step_id, state } of all) if (state === "running") yield* steps.begin(step_id);
    },
    *tell(event) {
      const stepId = event.step_id ?? "";
      if (event.event_type === "STEP_STARTED") yield* steps.begin(stepId);
      else if (stepEnds.has(event.event_type)) yield* steps.end(stepId);
      else if (event.event_type === "STEP_STREAMED") yield* steps.stream(event);
      else yield* calls.tell(event);
    },
    *ask(gates) {
      for (const { kind, step_id, payload_digest, operator, payload } of gates)
        if (kind === "approval")
          yield* calls.begin(toolCallIdOf(workflowId, step_id, payload_digest), operator, payload as Json);
    },
    *text(text) {
      if (text === "" || steps.hasStreamed(text)) return;
      const messageId = `${workflowId}/response`;
      yield { type: "TEXT_MESSAGE_START", messageId, role: "assistant" };
      yield { type: "TEXT_MESSAGE_CONTENT", messageId, delta: text };
      yield { type: "TEXT_MESSAGE_END", messageId };
    },
    close: steps.close,
  };
}

const stepEnds: ReadonlySet<string> = new Set(["STEP_SUCCEEDED", "STEP_FAILED", "STEP_SKIPPED"]);
