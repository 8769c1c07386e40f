/**
 * An agent's conversation: as its plan passes it from step to step, and as a model is asked.
 *
 * Owns: the shapes of messages and of the calls that a model wants, and the names of tools towards models. Never:
 * calls a model or a tool.
 * 1.  A wanted call is checked as the answer is read: a call of an unknown tool, or with input that its tool does not
 *     take, has a `problem`, which is reported to the model; it is no step.
 * 2.  The ids of calls are distinct in a conversation: an id that a model repeats gets a number.
 * 3.  A call that a person or a rule has changed is reported to the model with the input that it was made with.
 */
import type { LanguageModelV4FunctionTool, LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { z } from "zod";
import { kernelError } from "../../../contract/error-codes.ts";
import { isPlainObject, JsonObject, JsonValue, NotJson } from "../../../contract/json.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { Operator } from "../../../contract/operator.ts";
import { readWith } from "../../../contract/schema-reading.ts";
import { inputSchemaOf } from "../../../define/describe-capability.ts";
import { parseSafeJson } from "../../../protocol/parse-json.ts";
import type { WantedCall } from "./read-answer.ts";

/** A call that a model wants: `tool` is the operator's name. */
export const AgentCall = z.strictObject({
  call_id: z.string(),
  tool: z.string(),
  input: JsonObject,
  /** The reason why it is not made; null if it is. */
  problem: z.string().nullable(),
});
export type AgentCall = z.infer<typeof AgentCall>;

export const AgentMessage = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("user"), text: z.string() }),
  z.strictObject({ role: z.literal("assistant"), text: z.string(), calls: z.array(AgentCall) }),
  z.strictObject({
    role: z.literal("tool"),
    call_id: z.string(),
    tool: z.string(),
    output: JsonValue.optional(),
    /** The reason why there is no output. */
    error: z.string().optional(),
    /** The changed call, if it was not made as the model wrote it: its input, and who changed it and why. */
    changed: z.strictObject({ input: JsonValue, note: z.string() }).optional(),
  }),
]);
export type AgentMessage = z.infer<typeof AgentMessage>;

const agentRef = moduleRef(0, "validation", "defineAgent");

/** Models know tools by letters, digits, `_` and `-`. */
const nameForModels = (name: string): string => name.replaceAll(".", "_").slice(0, 64);

/**
 * Describes tools for the model. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH if two tools would have one
 * name.
 */
export function describeTools(tools: readonly Operator[]): readonly LanguageModelV4FunctionTool[] {
  const described = tools.map(
    (tool): LanguageModelV4FunctionTool => ({
      type: "function",
      name: nameForModels(tool.metadata.name),
      description: tool.metadata.description,
      inputSchema: inputSchemaOf(tool) as LanguageModelV4FunctionTool["inputSchema"],
    }),
  );
  const twice = described.find(({ name }, i) => described.findIndex((other) => other.name === name) !== i);
  if (twice !== undefined)
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `two tools are called ${twice.name} towards models`, agentRef));
  return described;
}

export interface CallReading {
  readonly tools: readonly Operator[];
  /** Calls of one answer that are made; further ones are refused. */
  readonly most: number;
  /** Ids of earlier calls of the conversation. */
  readonly taken: readonly string[];
}

/** Reads the wanted calls, by the available tools (M1, M2). */
export function readCalls(wanted: readonly WantedCall[], { tools, most, taken }: CallReading): AgentCall[] {
  const ids = new Set(taken);
  return wanted.map(({ call_id, name, input: written }, i) => {
    const tool = tools.find(({ metadata }) => nameForModels(metadata.name) === name);
    const { input, problem } = tool === undefined ? unknownTool(name) : readInput(tool, written);
    const late = i < most ? problem : `at most ${most} calls are made at once; make it again if it is still needed`;
    return { call_id: takeId(ids, call_id || "call"), tool: tool?.metadata.name ?? name, input, problem: late };
  });
}

/** Returns the id, or the id with the first number behind it that makes it distinct, and marks it as taken. */
function takeId(ids: Set<string>, wanted: string): string {
  let id = wanted;
  for (let n = 2; ids.has(id); n += 1) id = `${wanted}_${n}`;
  ids.add(id);
  return id;
}

/** Characters of a problem that a model is told. */
const maxProblemChars = 2_000;

interface ReadInput {
  readonly input: JsonObject;
  readonly problem: string | null;
}

const unknownTool = (name: string): ReadInput => ({
  input: {},
  problem: `there is no tool ${name}`.slice(0, maxProblemChars),
});

/** Reads the arguments of a call as strictly as the body of a request; what is refused is told to the model. */
function readInput({ input: schema }: Operator, written: string): ReadInput {
  try {
    const input = parseSafeJson(written === "" ? "{}" : written);
    if (!isPlainObject(input)) return { input: {}, problem: "its input is no JSON object" };
    const reading = readWith(schema, input);
    return { input, problem: reading.ok ? null : reading.problem.slice(0, maxProblemChars) };
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return { input: {}, problem: "its input is no JSON object" };
    if (thrown instanceof NotJson) return { input: {}, problem: `its input would lose its meaning: ${thrown.message}` };
    throw thrown;
  }
}

/** Returns the conversation in the form of a model's prompt. */
export function promptOf(messages: readonly AgentMessage[], system: string | undefined): LanguageModelV4Prompt {
  const asked = messages.map(describeMessage);
  return system === undefined ? asked : [{ role: "system", content: system }, ...asked];
}

function describeMessage(message: AgentMessage): LanguageModelV4Message {
  if (message.role === "user") return { role: "user", content: [{ type: "text", text: message.text }] };
  if (message.role === "tool") return { role: "tool", content: [describeResult(message)] };
  const texts = message.text === "" ? [] : [{ type: "text" as const, text: message.text }];
  const calls = message.calls.map(({ call_id, tool, input }) => ({
    type: "tool-call" as const,
    toolCallId: call_id,
    toolName: nameForModels(tool),
    input,
  }));
  return { role: "assistant", content: [...texts, ...calls] };
}

type ToolMessage = Extract<AgentMessage, { readonly role: "tool" }>;

const describeResult = ({ call_id, tool, output = null, error, changed }: ToolMessage) => ({
  type: "tool-result" as const,
  toolCallId: call_id,
  toolName: nameForModels(tool),
  output:
    error === undefined
      ? { type: "json" as const, value: (changed === undefined ? output : { ...changed, output }) as never }
      : { type: "error-text" as const, value: changed === undefined ? error : `${error}\n${describeChange(changed)}` },
});

const describeChange = ({ input, note }: NonNullable<ToolMessage["changed"]>): string =>
  `${note}\nIt was made with ${JSON.stringify(input)}.`;
