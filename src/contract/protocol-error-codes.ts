/** The rows of the catalogue of error codes that A2A, AG-UI and the receiver of events emit. */
import { busy, input, policy, resource } from "./error-row.ts";

export const protocolErrorCodes = {
  T0_QUESTION_REFUSED: policy(
    "Decide in the console, or as a person whom the gate asks; a host lets people answer gates here by answersGates.",
  ),
  T0_QUESTION_OVER: input("Read the task or the run again and answer what it asks now.", { http: 409 }),
  T0_A2A_VERSION: input("Send the header A2A-Version with the version of the agent card.", { rpc: -32009 }),
  T0_A2A_METHOD_UNKNOWN: input("Use a method of A2A version 1, such as SendMessage.", { http: 404, rpc: -32601 }),
  T0_A2A_SKILL_UNNAMED: input("Name a skill of the agent card in the message's metadata, as countersign/skill."),
  T0_A2A_PART_REFUSED: input("Send parts of text, and one part of data that is an object.", { rpc: -32005 }),
  T0_A2A_OUTPUT_MODES: input("Accept text/plain or application/json.", { rpc: -32005 }),
  T0_A2A_ANSWER_MISSING: input("Send a part of data with question and decision, as the task's status message shows."),
  T0_A2A_TASK_ENDED: input("Begin another task; this one has ended.", { http: 409, rpc: -32004 }),
  T0_A2A_NOT_CANCELABLE: input("Leave the task as it is; it has ended.", { http: 409, rpc: -32002 }),
  T0_A2A_FILTER_REFUSED: input("List tasks without statusTimestampAfter.", { rpc: -32004 }),
  T0_A2A_PUSH_OFF: input("Follow the task by SubscribeToTask or GetTask; this agent sends no notifications.", {
    rpc: -32003,
  }),
  T0_A2A_PUSH_UNKNOWN: input("List the notifications of the task and use an id of theirs.", { http: 404, rpc: -32001 }),
  T0_A2A_PUSH_LIMIT: resource("Delete notifications that nobody needs, or raise the limit named in the detail.", busy),
  T0_AGUI_VERSION: input("Send the protocolVersion of AG-UI version 1, or none."),
  T0_AGUI_WORK_UNNAMED: input(
    "Send a user message with text, or forwardedProps with countersign, which names intent_type or workflow_id.",
  ),
  T0_AGUI_RESUME_FORGED: policy("Answer an interrupt by the id with which this server sent it, in the same thread."),
  T0_AGUI_RESUME_EXPIRED: input("Begin a run that follows the workflow, and answer the interrupt that it ends with.", {
    http: 410,
  }),
  T0_WEBHOOK_REFUSED: input("Sign id, time and body by the secret that was agreed, with a clock that is right.", {
    http: 401,
  }),
  T0_EVENT_UNREADABLE: input("Send a CloudEvent of version 1 with JSON data, or a webhook with type and data."),
} as const;
