/**
 * The package `Guard.Call`: one tool call of a client as a workflow of one step, and `Guard.Handover`, which records
 * that the result of a call that people decided has been fetched.
 *
 * 1.  The payload that policy judges and people see is the server, the tool and the arguments; exactly that is sent.
 * 2.  A tool that says it only reads is called by `Guard.Read`; every other one by `Guard.Write`, a final write, which
 *     waits for a person unless a rule lifts that.
 * 3.  A call is made once. One whose end is unknown after a crash is settled by a person.
 */
import { z } from "zod";
import { JsonObject } from "../../contract/json.ts";
import { toolResultOutcome } from "../../contract/mcp.ts";
import { defineCapability, defineOperator, type OperatorCall } from "../../index.ts";

/** The intent types, and the operators by the effect of a tool. */
export const callIntent = "Guard.Call";
export const handoverIntent = "Guard.Handover";
export const operatorsByEffect = { read: "Guard.Read", final_write: "Guard.Write" } as const;

/** The call that is sent, with the answers to a question of the server that it continues. */
export const ToolRequest = z.strictObject({
  /** The name of the server that the guard stands before. */
  server: z.string().min(1),
  /** The tool's name at that server. */
  tool: z.string().min(1),
  /** The digest of the tool's definition, as it was when it was called. */
  definition: z.string().min(1),
  /** The arguments of the call. */
  arguments: JsonObject,
  /** The answers to questions of the server, and the state that it gave with them. */
  continues: JsonObject.optional(),
});
export type ToolRequest = z.infer<typeof ToolRequest>;

export const CallInput = ToolRequest.extend({
  /** The effect, read from the tool's annotations. */
  effect: z.enum(["read", "final_write"]),
});
export type CallInput = z.infer<typeof CallInput>;

/** Sends a call to its server and returns the tool result, or the error of the protocol in the form of one. */
export type SendCall = (call: OperatorCall<ToolRequest>, repeatable: boolean) => Promise<JsonObject>;

export interface CallPackageOptions {
  readonly send: SendCall;
  /** The time that a call may take, in seconds. */
  readonly timeoutSec: number;
}

/** Creates the operators that send calls. */
function callOperators({ send, timeoutSec }: CallPackageOptions) {
  const shared = {
    input: ToolRequest,
    output: JsonObject,
    retry: "NONE" as const,
    kind: "tool" as const,
    honoursAbort: false,
    timeoutSec,
    present: {
      title: ({ server, tool }: ToolRequest) => `${server}: ${tool}`,
      facts: [
        { label: "Server", value: "server" },
        { label: "Tool", value: "tool" },
      ],
    },
  };
  const read = defineOperator({
    ...shared,
    name: operatorsByEffect.read,
    effect: "read",
    riskLevel: "low",
    description: "Calls a tool that says it only reads.",
    run: (call) => send(call, true),
  });
  const write = defineOperator({
    ...shared,
    name: operatorsByEffect.final_write,
    effect: "final_write",
    riskLevel: "high",
    description: "Calls a tool that may change something.",
    run: (call) => send(call, false),
  });
  return [read, write] as const;
}

/** Creates the packages of a guard. */
export const callPackages = (options: CallPackageOptions) => [defineCall(options), handover];

function defineCall(options: CallPackageOptions) {
  return defineCapability({
    intentType: callIntent,
    version: "1.0",
    description: "A tool call that a guard passes on to its MCP server.",
    input: CallInput,
    operators: callOperators(options),
    outcomes: { [toolResultOutcome]: JsonObject },
    // A failed call is the client's to repeat.
    limits: { maxReplans: 0 },
    present: { title: ({ server, tool }) => `${server}: ${tool}` },
    plan: ({ input }) => {
      const { effect, ...params } = input;
      const { server, tool } = params;
      const step = {
        step_id: "call",
        name: `Call ${tool}`,
        operator: operatorsByEffect[effect],
        params,
        outcome: toolResultOutcome,
        policy_tags: [`server:${server}`, `tool:${tool}`, `tool:${server}.${tool}`, "untrusted"],
      };
      return { reasoning: `A client called ${tool} of ${server}.`, steps: [step] };
    },
  });
}

const fetched = defineOperator({
  name: "Guard.Fetched",
  input: z.strictObject({ workflow_id: z.string() }),
  effect: "none",
  description: "Records that the result of a decided call was handed to its client.",
  run: ({ input }) => input,
});
const handover = defineCapability({
  intentType: handoverIntent,
  version: "1.0",
  description: "The result of a call that people decided, handed to its client once.",
  input: z.strictObject({ workflow_id: z.string(), request: z.string() }),
  operators: [fetched],
  plan: ({ input: { workflow_id } }) => ({
    reasoning: "The client has asked for its result.",
    steps: [{ step_id: "fetched", name: "Hand over", operator: "Guard.Fetched", params: { workflow_id } }],
  }),
});
