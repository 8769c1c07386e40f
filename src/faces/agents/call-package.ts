/**
 * The packages for the tool calls of agents: `Agent.Call` judges one call, and its outcome is the permit; `Agent.Run`
 * uses a permit: it runs the tool's function, or hands the permit to a framework that runs the tool by itself and waits
 * for the result that the framework reports.
 *
 * 1.  The payload that policy judges and people see is the agent, the tool and the arguments. The permit is that
 *     payload as it was approved.
 * 2.  A tool that the author states to read is judged by `Agent.Read`, every other one by `Agent.Write`, a final write,
 *     which waits for a person unless a rule lifts that.
 * 3.  A permit is used once. A run whose end is unknown after a crash is settled by a person.
 * 4.  A permit that was handed out and whose result is not reported within a day has an outcome that states so.
 */
import { z } from "zod";
import { JsonObject, JsonValue } from "../../contract/json.ts";
import { type CapabilityDefinition, defineCapability, defineOperator, type OperatorCall } from "../../index.ts";

/** The intent types, and the operators that judge by the effect of a tool. */
export const callIntent = "Agent.Call";
export const runIntent = "Agent.Run";
export const judgingOperators = { read: "Agent.Read", final_write: "Agent.Write" } as const;
const runningOperators = { read: "Agent.RunRead", final_write: "Agent.Run" } as const;
const takeOperator = "Agent.Take";
const recordOperator = "Agent.Record";

/** The name of the event by which a framework reports the result of a tool. */
export const resultEvent = "agent.result";

/** The types of the outcomes. */
export const permitOutcome = "Agent.Permit";
export const resultOutcome = "Agent.Result";

/** The call of a tool as policy judges it and people approve it. */
export const AgentPayload = z.strictObject({
  /** The name of the agent. */
  agent: z.string().min(1),
  /** The name of the tool, as the model calls it. */
  tool: z.string().min(1),
  /** The arguments of the call. */
  arguments: JsonObject,
});
export type AgentPayload = z.infer<typeof AgentPayload>;

/** The effect of a tool, as its author states it. */
const ToolEffect = z.enum(["read", "final_write"]);
export type ToolEffect = z.infer<typeof ToolEffect>;

/** The use of a permit: its workflow, and the approved call. */
export const PermitUse = z.strictObject({
  /** The id of the workflow that gave the permit. */
  permit: z.string().min(1),
  /** The call as it was permitted. */
  approved: AgentPayload,
});
export type PermitUse = z.infer<typeof PermitUse>;

/** The answer of a tool: its output, or the message of the error that it threw. */
export const ToolAnswer = z.strictObject({
  output: JsonValue.optional(),
  error: z.string().optional(),
  /** The length of what was reported, if only its beginning is kept. */
  cut_from: z.int().optional(),
  /** True if no result was reported in time, so that nobody knows whether the tool took effect. */
  unreported: z.literal(true).optional(),
});
export type ToolAnswer = z.infer<typeof ToolAnswer>;

/** Runs the function of the tool that a live agent has brought for the permit. */
export type RunTool = (call: OperatorCall<PermitUse>) => Promise<ToolAnswer>;

export interface AgentPackageOptions {
  readonly run: RunTool;
  /** The time that a tool may take, in seconds. */
  readonly timeoutSec: number;
  /** Estimates the tokens and the money of a call, which budgets count. */
  readonly estimate:
    | ((payload: AgentPayload) => { tokens?: number | undefined; money?: number | undefined })
    | undefined;
}

const titleOf = ({ agent, tool }: AgentPayload): string => `${agent}: ${tool}`;

/** Creates the packages. */
export const agentPackages = (options: AgentPackageOptions): readonly CapabilityDefinition[] => [
  defineCall(options),
  defineRun(options),
];

/** Creates the operators that turn a call that may be made into a permit. */
function judges({ estimate }: AgentPackageOptions) {
  const shared = {
    input: AgentPayload,
    output: AgentPayload,
    retry: "NONE" as const,
    kind: "tool" as const,
    // A permit changes nothing outside: giving it again is the same.
    idempotent: true,
    ...(estimate && { estimate: (payload: AgentPayload) => estimate(payload) as { tokens: number; money: number } }),
    present: {
      title: titleOf,
      facts: [
        { label: "Agent", value: "agent" },
        { label: "Tool", value: "tool" },
      ],
    },
    run: ({ input }: OperatorCall<AgentPayload>) => input,
  };
  const read = defineOperator({
    ...shared,
    name: judgingOperators.read,
    effect: "read",
    riskLevel: "low",
    description: "Permits the call of a tool that only reads.",
  });
  const write = defineOperator({
    ...shared,
    name: judgingOperators.final_write,
    effect: "final_write",
    riskLevel: "high",
    description: "Permits the call of a tool that may change something.",
  });
  return [read, write] as const;
}

const defineCall = (options: AgentPackageOptions) =>
  defineCapability({
    intentType: callIntent,
    version: "1.0",
    description: "A tool call of an agent, judged before it is made.",
    /** `unknown_end` is the run of an equal call before this one that may have taken effect. */
    input: AgentPayload.extend({ effect: ToolEffect, unknown_end: z.string().optional() }),
    operators: judges(options),
    outcomes: { [permitOutcome]: AgentPayload },
    limits: { maxReplans: 0 },
    present: { title: titleOf },
    plan: ({ input: { effect, unknown_end, ...payload } }) => {
      const { agent, tool } = payload;
      const reason = `an equal call before this one (${unknown_end}) may have taken effect: no result was reported`;
      const step = {
        step_id: "call",
        name: `Call ${tool}`,
        operator: judgingOperators[effect],
        params: payload,
        outcome: permitOutcome,
        policy_tags: [`agent:${agent}`, `tool:${tool}`, `tool:${agent}.${tool}`],
        ...(unknown_end !== undefined && { gate: { reason } }),
      };
      return { reasoning: `${agent} wants to call ${tool}.`, steps: [step] };
    },
  });

/** Creates the operators that run the function of a tool, by its effect. */
function runners({ run, timeoutSec }: AgentPackageOptions) {
  const shared = {
    input: PermitUse,
    output: ToolAnswer,
    retry: "NONE" as const,
    kind: "tool" as const,
    timeoutSec,
    present: {
      title: ({ approved }: PermitUse) => `${titleOf(approved)} runs`,
      facts: [
        { label: "Agent", value: "approved.agent" },
        { label: "Tool", value: "approved.tool" },
      ],
    },
    run,
  };
  const read = defineOperator({
    ...shared,
    name: runningOperators.read,
    effect: "read",
    description: "Runs a tool that only reads with the arguments that were permitted.",
  });
  const write = defineOperator({
    ...shared,
    name: runningOperators.final_write,
    // The call was judged as a final write before it got its permit. A run is not repeated: it may have taken effect.
    effect: "write_draft",
    description: "Runs a tool with the arguments that were permitted.",
  });
  return [read, write] as const;
}

const handed = defineOperator({
  name: takeOperator,
  input: PermitUse,
  effect: "none",
  description: "Records that a permit was handed to a framework, which runs the tool by itself.",
  run: () => null,
});
const recorded = defineOperator({
  name: recordOperator,
  input: z.strictObject({ answer: ToolAnswer }),
  output: ToolAnswer,
  effect: "none",
  description: "Records the result of a tool, as its framework reported it.",
  run: ({ input: { answer } }) => answer,
});

const defineRun = (options: AgentPackageOptions) =>
  defineCapability({
    intentType: runIntent,
    version: "1.0",
    description: "A permitted tool call of an agent, made once.",
    /** `result_key` is the key of the event with the result; it is absent if the kernel runs the tool. */
    input: PermitUse.extend({ effect: ToolEffect, result_key: z.string().optional() }),
    operators: [...runners(options), handed, recorded],
    outcomes: { [resultOutcome]: ToolAnswer },
    limits: { maxReplans: 0 },
    present: { title: ({ approved }) => `${titleOf(approved)} runs` },
    plan({ input: { effect, result_key, ...params }, step, wait }) {
      const { agent, tool } = params.approved;
      const outcome = resultOutcome;
      if (result_key === undefined) {
        const operator = runningOperators[effect];
        const run = step({ step_id: "run", name: `Run ${tool}`, operator, params, outcome });
        return { reasoning: `${agent} makes a permitted call.`, steps: [run] };
      }
      const take = step({ step_id: "take", name: `Permit for ${tool}`, operator: takeOperator, params });
      const result = wait({
        step_id: "result",
        name: `Result of ${tool}`,
        event: resultEvent,
        key: result_key,
        schema: ToolAnswer,
        within: { days: 1 },
        otherwise: { value: { unreported: true } },
        depends_on: [take],
      });
      const kept = { answer: result.output };
      const record = { step_id: "record", name: "Record it", operator: recordOperator, params: kept, outcome } as const;
      return { reasoning: `${agent} runs ${tool} by itself.`, steps: [take, result, step(record)] };
    },
  });
