/**
 * The messages of A2A 1.0 as they arrive: the JSON form of the protocol's own definitions.
 *
 * 1.  Unknown members are refused, in our part of `metadata` as well; other parts of `metadata` are their senders'.
 * 2.  An empty text stands for an absent member, as the protocol has it.
 */
import { z } from "zod";
import { JsonObject, JsonValue } from "../../../contract/json.ts";

const Text = z.string().max(4096);
/** A text that is absent where it is empty. */
const OrNone = Text.default("").transform((text) => (text === "" ? null : text));
const Metadata = JsonObject.default({});

const Part = z.strictObject({
  text: z.string().optional(),
  data: JsonValue.optional(),
  raw: z.string().optional(),
  url: z.string().optional(),
  metadata: Metadata,
  filename: Text.default(""),
  mediaType: Text.default(""),
});
export type Part = z.output<typeof Part>;

/** The member of a message's metadata that names the skill: the intent type of a capability. */
export const skillMember = "countersign/skill";
/** Our part of a message's metadata. */
export const OwnMetadata = z.strictObject({ [skillMember]: z.string().min(1).max(256).optional() });

export const Message = z.strictObject({
  messageId: Text.min(1),
  contextId: OrNone,
  taskId: OrNone,
  role: z.literal("ROLE_USER"),
  parts: z.array(Part).min(1).max(64),
  metadata: Metadata,
  extensions: z.array(Text).max(64).default([]),
  referenceTaskIds: z.array(Text).max(64).default([]),
});
export type Message = z.output<typeof Message>;

const Authentication = z.strictObject({
  scheme: z.string().regex(/^[\w.~-]{1,64}$/, "is a scheme such as Bearer"),
  credentials: z
    .string()
    .regex(/^[\x21-\x7e]*$/, "is visible ASCII")
    .max(4096)
    .default(""),
});

export const PushConfig = z.strictObject({
  tenant: OrNone,
  id: OrNone,
  taskId: OrNone,
  url: z.url({ protocol: /^https?$/, error: "is an address such as https://client.example/notify" }).max(2048),
  token: z
    .string()
    .regex(/^[\x20-\x7e]*$/, "is printable ASCII")
    .max(4096)
    .default(""),
  authentication: Authentication.optional(),
});
export type PushConfig = z.output<typeof PushConfig>;

export const taskStates = [
  "TASK_STATE_SUBMITTED",
  "TASK_STATE_WORKING",
  "TASK_STATE_COMPLETED",
  "TASK_STATE_FAILED",
  "TASK_STATE_CANCELED",
  "TASK_STATE_INPUT_REQUIRED",
  "TASK_STATE_REJECTED",
  "TASK_STATE_AUTH_REQUIRED",
] as const;
export type TaskState = (typeof taskStates)[number];

const HistoryLength = z.int().nonnegative().optional();

const params = {
  SendMessage: z.strictObject({
    tenant: OrNone,
    message: Message,
    configuration: z
      .strictObject({
        acceptedOutputModes: z.array(Text).max(64).default([]),
        taskPushNotificationConfig: PushConfig.optional(),
        historyLength: HistoryLength,
        returnImmediately: z.boolean().default(false),
      })
      .prefault({}),
    metadata: Metadata,
  }),
  GetTask: z.strictObject({ tenant: OrNone, id: Text.min(1), historyLength: HistoryLength }),
  ListTasks: z.strictObject({
    tenant: OrNone,
    contextId: OrNone,
    status: z.enum(["TASK_STATE_UNSPECIFIED", ...taskStates]).default("TASK_STATE_UNSPECIFIED"),
    pageSize: z.int().min(1).max(100).optional(),
    pageToken: OrNone,
    historyLength: HistoryLength,
    statusTimestampAfter: z.string().optional(),
    includeArtifacts: z.boolean().default(false),
  }),
  CancelTask: z.strictObject({ tenant: OrNone, id: Text.min(1), metadata: Metadata }),
  SubscribeToTask: z.strictObject({ tenant: OrNone, id: Text.min(1) }),
  CreateTaskPushNotificationConfig: PushConfig,
  GetTaskPushNotificationConfig: z.strictObject({ tenant: OrNone, taskId: Text.min(1), id: Text.min(1) }),
  DeleteTaskPushNotificationConfig: z.strictObject({ tenant: OrNone, taskId: Text.min(1), id: Text.min(1) }),
  ListTaskPushNotificationConfigs: z.strictObject({
    tenant: OrNone,
    taskId: Text.min(1),
    pageSize: z.int().nonnegative().optional(),
    pageToken: OrNone,
  }),
  GetExtendedAgentCard: z.strictObject({ tenant: OrNone }),
} as const;

/** The params of each method by its name. `SendStreamingMessage` has those of `SendMessage`. */
export const methodParams = { ...params, SendStreamingMessage: params.SendMessage } as const;
export type MethodName = keyof typeof methodParams;
export type ParamsOf<M extends MethodName> = z.output<(typeof methodParams)[M]>;

export const isMethod = (name: string): name is MethodName => Object.hasOwn(methodParams, name);
