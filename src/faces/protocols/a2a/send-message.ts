/**
 * A message of A2A: it begins a task, answers what a task asks, or adds a text to a task under way.
 *
 * 1.  A message that names no task begins one. The id of a message is the key of what it asks: sent again, it begins
 *     nothing twice, and adds no text twice.
 * 2.  A gate is decided by a part of data that names the question it was asked by; no text is read as a decision. Texts
 *     beside it are the comment.
 * 3.  A message to a task that has ended changes nothing.
 */
import { commandScopes } from "../../../contract/auth-context.ts";
import { digest } from "../../../contract/digest.ts";
import { type ErrorCode, kernelError } from "../../../contract/error-codes.ts";
import { IdempotencyKey } from "../../../contract/intent.ts";
import { isPlainObject, type JsonObject } from "../../../contract/json.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { readRequest } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { isTerminal } from "../../../contract/workflow.ts";
import type { WorkflowState } from "../../../index.ts";
import { readGateAnswer } from "../../../protocol/gate-answer.ts";
import { openGates } from "../../../protocol/tell-gate.ts";
import {
  type AgentContext,
  closedGateAsked,
  decisionHere,
  openGateAsked,
  readWorkflow,
  refuseQuestion,
  requireGranted,
} from "../agent-context.ts";
import { type Message, OwnMetadata, type ParamsOf, type Part, skillMember } from "./a2a-messages.ts";
import { contextIdOf } from "./task-view.ts";

const sendRef = moduleRef(0, "a2a", "send_message");

/**
 * Does what a message asks, and returns the id of its task. @throws KernelErrorException, and nothing has happened
 * then.
 */
export async function takeMessage(context: AgentContext, params: ParamsOf<"SendMessage">): Promise<string> {
  const { message, metadata } = params;
  requireOutputMode(params.configuration.acceptedOutputModes);
  const content = contentOf(message.parts);
  const skill = { ...readOwn(metadata), ...readOwn(message.metadata) }[skillMember];
  await requireGranted(context, commandScopes.read);
  return message.taskId === null
    ? beginTask(context, message, { ...content, skill })
    : continueTask(context, await readWorkflow(context, message.taskId), { message, content, skill });
}

/** Reads our part of metadata. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
function readOwn(metadata: JsonObject): { readonly [skillMember]?: string | undefined } {
  const own = Object.entries(metadata).filter(([key]) => key.startsWith("countersign/"));
  return readRequest(OwnMetadata, Object.fromEntries(own), { what: "metadata", source: sendRef });
}

interface Content {
  readonly text: string;
  /** The object of the part of data; null if there is none. */
  readonly data: JsonObject | null;
}

function contentOf(parts: readonly Part[]): Content {
  const texts: string[] = [];
  const data: JsonObject[] = [];
  for (const part of parts) {
    const given = (["text", "data", "raw", "url"] as const).filter((name) => part[name] !== undefined);
    if (given.length !== 1) refusePart("a part has one of text and data");
    if (part.text !== undefined) texts.push(part.text);
    else if (isPlainObject(part.data)) data.push(part.data);
    else refusePart(part.data === undefined ? `parts of ${given[0]} are not taken` : "data is an object");
  }
  if (data.length > 1) refusePart("a message has one part of data at most");
  return { text: texts.join("\n"), data: data[0] ?? null };
}

const refusePart = (message: string): never => raise(kernelError("T0_A2A_PART_REFUSED", message, sendRef));

const outputModes = /^(?:text\/plain|application\/json|text\/\*|application\/\*|\*\/\*|\*)$/;

function requireOutputMode(accepted: readonly string[]): void {
  if (accepted.length === 0 || accepted.some((mode) => outputModes.test(mode))) return;
  raise(kernelError("T0_A2A_OUTPUT_MODES", "answers are text/plain and application/json", sendRef));
}

/** Returns the key of a message, as the kernel takes keys. */
function keyOf({ messageId }: Message): string {
  const key = `a2a:${messageId}`;
  return IdempotencyKey.safeParse(key).data ?? `a2a:${digest(messageId)}`;
}

/** Returns the id of the conversation of a message that names none: the same for the same message. */
const newContextId = (context: AgentContext, { messageId }: Message): string =>
  `ctx-${digest([context.caller.principal.type, context.caller.principal.id, messageId]).slice(0, 32)}`;

interface Work extends Content {
  readonly skill: string | undefined;
}

async function beginTask(context: AgentContext, message: Message, { text, data, skill }: Work): Promise<string> {
  if (skill === undefined && (data !== null || text === ""))
    raise(kernelError("T0_A2A_SKILL_UNNAMED", "a message without a text names the skill that takes its data", sendRef));
  const caller = await requireGranted(context, commandScopes.submit);
  const request = {
    ...caller,
    thread_id: message.contextId ?? newContextId(context, message),
    ...(text !== "" && { input: { mode: "message" as const, text } }),
    ...(skill !== undefined && { intent_hint: { intent_type: skill, inputs: data ?? {} } }),
    idempotency_key: keyOf(message),
  };
  const { workflow_id } = await context.kernel.submit(request, { signal: context.gone });
  return workflow_id;
}

interface Continued {
  readonly message: Message;
  readonly content: Content;
  readonly skill: string | undefined;
}

async function continueTask(context: AgentContext, state: WorkflowState, given: Continued): Promise<string> {
  const { message, content, skill } = given;
  if (message.contextId !== null && message.contextId !== contextIdOf(state))
    refuse("T0_VALIDATION_SCHEMA_MISMATCH", "message.contextId: is not the one of the task");
  if (skill !== undefined) refuse("T0_VALIDATION_SCHEMA_MISMATCH", `${skillMember}: the task has its skill already`);
  if (content.data !== null) await answerGate(context, state, { message, content });
  else if (isTerminal(state.state)) refuse("T0_A2A_TASK_ENDED", `the task is ${state.state}`);
  else if (openGates(state).length > 0)
    refuse("T0_A2A_ANSWER_MISSING", "the task asks a person; a text decides nothing");
  else await addText(context, state, message, content.text);
  return state.workflow_id;
}

const refuse = (code: ErrorCode, message: string): never => raise(kernelError(code, message, sendRef));

/** Decides the gate that the data names. The kernel answers a decision that is sent again from the record. */
async function answerGate(
  context: AgentContext,
  state: WorkflowState,
  { message, content }: Omit<Continued, "skill">,
): Promise<void> {
  const { question, ...answer } = content.data ?? {};
  const asked = typeof question === "string" ? question : refuse("T0_A2A_ANSWER_MISSING", "question is missing");
  const gate = openGateAsked(state, asked) ?? closedGateAsked(state, asked);
  if (gate === null && isTerminal(state.state)) refuse("T0_A2A_TASK_ENDED", `the task is ${state.state}`);
  if (gate === null) return refuseQuestion(asked);
  const words = content.text === "" || answer["comment"] !== undefined ? answer : { ...answer, comment: content.text };
  const decision = await decisionHere(context, gate, readGateAnswer(gate, words, sendRef));
  await context.kernel.decideGate(state.workflow_id, { ...decision, idempotency_key: keyOf(message) });
}

async function addText(
  context: AgentContext,
  { workflow_id }: WorkflowState,
  message: Message,
  text: string,
): Promise<void> {
  const caller = await requireGranted(context, commandScopes.retry);
  await context.kernel.addInput(workflow_id, { ...caller, text, idempotency_key: keyOf(message) });
}
