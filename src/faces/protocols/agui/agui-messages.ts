/**
 * The input of a run of AG-UI 1.0 as it arrives, and the events that are sent.
 *
 * 1.  Unknown members are refused, in our part of `forwardedProps` as well; other members there are the application's.
 */
import { z } from "zod";
import { WorkflowId } from "../../../contract/ids.ts";
import { JsonObject, JsonValue } from "../../../contract/json.ts";

const Text = z.string().max(4096);
const Metadata = JsonObject.optional();
const Content = z.union([z.string(), z.array(JsonObject)]);
const ToolCall = z.strictObject({
  id: Text,
  type: z.literal("function"),
  function: z.strictObject({ name: Text, arguments: z.string() }),
  encryptedValue: z.string().optional(),
  metadata: Metadata,
});

/** A message of the conversation. The run reads the last text of its user; the rest is the client's own memory. */
const Message = z.strictObject({
  id: Text,
  role: z.enum(["user", "assistant", "system", "developer", "tool", "activity", "reasoning"]),
  content: z.union([Content, JsonObject]).nullish(),
  name: Text.nullish(),
  toolCalls: z.array(ToolCall).optional(),
  toolCallId: Text.optional(),
  error: z.string().nullish(),
  activityType: Text.optional(),
  encryptedValue: z.string().optional(),
  subagentRunId: Text.optional(),
  metadata: Metadata,
});
export type AgUiMessage = z.output<typeof Message>;

const Resume = z.strictObject({
  interruptId: Text,
  status: z.enum(["resolved", "cancelled"]),
  payload: JsonValue.optional(),
  metadata: Metadata,
});
export type Resume = z.output<typeof Resume>;

const Tool = z.strictObject({
  name: Text,
  description: z.string().default(""),
  parameters: JsonValue.optional(),
  metadata: Metadata,
});

export const RunInput = z.strictObject({
  threadId: Text.min(1),
  runId: Text.min(1),
  protocolVersion: Text.optional(),
  parentRunId: Text.optional(),
  state: JsonValue.optional(),
  messages: z.array(Message).max(10_000),
  tools: z.array(Tool).max(1_000).default([]),
  context: z
    .array(z.strictObject({ description: z.string(), value: z.string() }))
    .max(1_000)
    .default([]),
  forwardedProps: z.looseObject({ countersign: z.unknown() }).partial().nullish(),
  resume: z.array(Resume).max(100).default([]),
});
export type RunInput = z.output<typeof RunInput>;

/** Our part of `forwardedProps`: the work that a run begins, or the workflow that it follows. */
export const OwnProps = z
  .strictObject({
    /** The intent type of the capability that the run begins. */
    intent_type: z.string().min(1).max(256).optional(),
    /** The inputs that its schema asks for. */
    inputs: JsonObject.optional(),
    /** The workflow that the run follows, in place of beginning one. */
    workflow_id: WorkflowId.optional(),
  })
  .refine(
    ({ intent_type, inputs, workflow_id }) =>
      workflow_id === undefined ? inputs === undefined || intent_type !== undefined : intent_type === undefined,
    "names an intent_type with its inputs, or a workflow_id",
  );
export type OwnProps = z.output<typeof OwnProps>;
