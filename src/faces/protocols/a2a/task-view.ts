/**
 * A workflow as a task of A2A: its state, what it asks of people, its artifacts.
 *
 * 1.  A task's id is its workflow's: any process on the ledger can show it, and only to its tenant.
 * 2.  A task at an open gate is `input-required` for a caller who may answer it here, and `auth-required` for any
 *     other.
 * 3.  A question shows all that its gate shows, and its name identifies that.
 */
import { isTerminal } from "../../../contract/workflow.ts";
import type { Gate, Outcome, WorkflowState } from "../../../index.ts";
import { answerSchemaOf } from "../../../protocol/gate-answer.ts";
import { questionKey } from "../../../protocol/name-question.ts";
import { toMcpError } from "../../../protocol/tell-error.ts";
import { openGates, renderGate, toMcpGate } from "../../../protocol/tell-gate.ts";
import { showLine } from "../../../protocol/visible-text.ts";
import { type AgentContext, answerableGates } from "../agent-context.ts";
import type { TaskState } from "./a2a-messages.ts";

export interface Artifact {
  readonly artifactId: string;
  readonly name: string;
  readonly parts: readonly object[];
  readonly metadata?: object;
}

export interface TaskStatus {
  readonly state: TaskState;
  readonly timestamp: string;
  readonly message?: object;
}

export interface Task {
  readonly id: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  readonly artifacts?: readonly Artifact[];
  readonly metadata: object;
}

/** Returns the id of the conversation that a workflow belongs to; one without a thread is a conversation of its own. */
export const contextIdOf = ({ thread_id, workflow_id }: Pick<WorkflowState, "thread_id" | "workflow_id">): string =>
  thread_id === null ? workflow_id : String(thread_id);

/** Returns the task as the caller sees it. */
export async function toTask(context: AgentContext, state: WorkflowState, withArtifacts = true): Promise<Task> {
  const { workflow_id, intent, progress } = state;
  const artifacts = withArtifacts ? artifactsOf(state) : [];
  return {
    id: workflow_id,
    contextId: contextIdOf(state),
    status: await statusOf(context, state),
    ...(artifacts.length > 0 && { artifacts }),
    metadata: {
      "countersign/skill": intent.type,
      "countersign/state": state.state,
      "countersign/percent": progress.percent,
    },
  };
}

export async function statusOf(context: AgentContext, state: WorkflowState): Promise<TaskStatus> {
  const asked = isTerminal(state.state) ? [] : await answerableGates(context, state);
  const name = taskStateOf(state, asked.length > 0);
  const parts = partsOf(state, asked);
  return {
    state: name,
    timestamp: state.updated_at,
    ...(parts.length > 0 && { message: messageOf(state, parts) }),
  };
}

const messageOf = (state: WorkflowState, parts: readonly object[]): object => ({
  messageId: `${state.workflow_id}-${state.sequence}`,
  contextId: contextIdOf(state),
  taskId: state.workflow_id,
  role: "ROLE_AGENT",
  parts,
});

/** Returns the state of a task; `mayAnswer` says whether the caller may answer one of its open gates. */
function taskStateOf(state: WorkflowState, mayAnswer: boolean): TaskState {
  if (state.state === "completed") return "TASK_STATE_COMPLETED";
  if (state.state === "cancelled" && wasRejected(state)) return "TASK_STATE_REJECTED";
  if (state.state === "cancelled") return "TASK_STATE_CANCELED";
  if (state.state === "failed") return state.status === "blocked" ? "TASK_STATE_REJECTED" : "TASK_STATE_FAILED";
  if (openGates(state).length > 0) return mayAnswer ? "TASK_STATE_INPUT_REQUIRED" : "TASK_STATE_AUTH_REQUIRED";
  return state.state === "accepted" ? "TASK_STATE_SUBMITTED" : "TASK_STATE_WORKING";
}

/** Returns whether the work ended because a person rejected it at a gate. */
const wasRejected = ({ status, gates }: WorkflowState): boolean =>
  status === "blocked" || gates.some(({ decision }) => decision?.decision === "reject");

function partsOf(state: WorkflowState, asked: readonly Gate[]): readonly object[] {
  const { error, paused, progress } = state;
  if (error !== null) {
    const { code, message } = error;
    return [textPart(`${code}: ${showLine(message)}`), dataPart({ error: toMcpError(error) })];
  }
  const gates = openGates(state);
  if (!isTerminal(state.state) && gates.length > 0)
    return gates.flatMap((gate) => [textPart(renderGate(gate)), dataPart(questionOf(gate, asked.includes(gate)))]);
  if (paused !== null) return [textPart(`paused: ${showLine(paused.reason)}`)];
  const step = progress.current_step;
  return isTerminal(state.state) || step === null ? [] : [textPart(showLine(step.name))];
}

/** Returns a gate for programs. Only a caller who may answer it is shown the form of an answer. */
const questionOf = (gate: Gate, mayAnswer: boolean): object => ({
  question: questionKey(gate),
  gate: toMcpGate(gate),
  ...(mayAnswer ? { answer_schema: answerSchemaOf(gate) } : { reason: gate.seat?.reason ?? "another person decides" }),
});

const textPart = (text: string) => ({ text, mediaType: "text/plain" });
const dataPart = (data: object) => ({ data, mediaType: "application/json" });

/** Returns the outcomes, each in its newest version, and the text for the requester. */
function artifactsOf(state: WorkflowState): readonly Artifact[] {
  const newest = new Map(state.outcomes.map((outcome) => [outcome.outcome_id, outcome]));
  const { text } = state.response;
  const response = text === "" || !isTerminal(state.state) ? [] : [responseOf(state.workflow_id, text)];
  return [...[...newest.values()].map(toArtifact), ...response];
}

export const toArtifact = ({ outcome_id, outcome_type, version, status, content }: Outcome): Artifact => ({
  artifactId: outcome_id,
  name: outcome_type,
  parts: [dataPart(content as object)],
  metadata: { "countersign/version": version, "countersign/status": status },
});

export const responseOf = (workflowId: string, text: string): Artifact => ({
  artifactId: `${workflowId}-response`,
  name: "response",
  parts: [textPart(text)],
});

/** Returns a piece of text that a running step gives. */
export const textArtifact = (stepId: string, text: string): Artifact => ({
  artifactId: `text-${stepId}`,
  name: stepId,
  parts: [textPart(text)],
});
