/**
 * An agent that calls tools, as a capability: a turn of the model is a step, and so is each call of a tool.
 *
 * Owns: the loop as rounds of planning: think, make the calls that it wants, think again, until it answers. Never:
 * calls a tool or decides whether one may be called: policy, budgets and gates stand before each of them as before any
 * step, and replay asks neither model nor tool.
 * 1.  The plan is a pure function of the results of the steps: a plan that `continues` is followed by the next one.
 * 2.  The last turn has no tools: it has to answer. So an agent ends, whatever its model wants. A turn is the last one
 *     by `maxTurns`, or because the calls before it have used up the `budget`.
 * 3.  A call that fails is reported to the model, while limits.maxReplans allows. So is a call that a person rejects,
 *     with the comment, unless `onRejected` is `end`. A denial of policy ends the work.
 * 4.  Text that a model writes is literal, whatever braces it holds.
 * 5.  A message that a person adds is given to the model at its next turn, with its author; an answer that came before
 *     the model has read it is a turn like others.
 * 6.  A call that a person or a rule has changed is reported to the model as it was made, with the comment or the
 *     reason.
 */

import { z } from "zod";
import type { CapabilityDefinition, ChangedCall, PlanningSituation } from "../../../contract/capability.ts";
import { objectWith } from "../../../contract/host-object.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { readStrictly, type ShapeOf } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { Operator } from "../../../contract/operator.ts";
import type { ExecutionPlan } from "../../../contract/plan.ts";
import { mapTexts, ref, text } from "../../../contract/reference.ts";
import { type CapabilityOptions, defineCapability } from "../../../define/define-capability.ts";
import { operatorShape } from "../../../define/define-operator.ts";
import type { StepBuilder } from "../../../define/step-builder.ts";
import type { AgentCall } from "./agent-messages.ts";
import { AskOptions, ModelChoice } from "./ask-model.ts";
import { type ThinkOptions, Thought, thinkOperator } from "./think-operator.ts";

/** The input of an agent. */
export const AgentInput = z.strictObject({ prompt: z.string().min(1).max(1_000_000) });
export type AgentInput = z.infer<typeof AgentInput>;

/** An agent: its package's name, its model, its tools. */
export interface AgentOptions<N extends string = string>
  extends Pick<
      CapabilityOptions<typeof AgentInput, readonly Operator[], Record<string, z.ZodType>, N>,
      "intentType" | "version" | "description" | "keywords" | "limits"
    >,
    Omit<ThinkOptions, "name" | "version" | "lastTurn"> {
  /** Turns of the model: 8 unless said otherwise, 15 at most with the usual limits.maxRounds. */
  readonly maxTurns?: number;
  /**
   * The tokens and the money that its calls may report. Once they have, the next turn is the last one: it may go beyond
   * the budget. Ceilings that hold in any case are budgets of the kernel.
   */
  readonly budget?: {
    /** The number of tokens, read and written. */
    readonly tokens?: number;
    /** The sum of their costs, in the unit of the prices. */
    readonly money?: number;
  };
  /**
   * The consequence if a person rejects a call, or nobody decides on it in time: `tell` (the default) reports it to the
   * model with the comment, and the model goes on; `end` cancels the workflow.
   */
  readonly onRejected?: "tell" | "end";
}

/**
 * Defines a capability whose plan is an agent's loop. Its turns are calls of `<intent type>.Think`.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for invalid options.
 */
export function defineAgent<const N extends string>(
  options: AgentOptions<N>,
): CapabilityDefinition<N, typeof AgentInput, readonly Operator[]> {
  readStrictly(Options, options, { what: "defineAgent", source: agentRef });
  const {
    intentType,
    version,
    description,
    keywords,
    limits,
    maxTurns = 8,
    budget = {},
    onRejected = "tell",
    ...thinking
  } = options;
  const think = thinkOperator({ ...thinking, name: `${intentType}.Think`, version });
  const operators: readonly Operator[] = [think, ...options.tools];
  return defineCapability({
    intentType,
    version,
    description,
    keywords,
    limits,
    input: AgentInput,
    takesInput: true,
    operators,
    plan: ({ input, situation, step }) =>
      planNext({
        ...{
          prompt: input.prompt,
          gone: readGone(situation),
          inputs: readInputs(situation),
          step,
          think: think.metadata.name,
          maxTurns,
          isSpent: isSpent(budget, situation.used),
        },
        maxSteps: situation.max_steps,
        on_reject: onRejected === "tell" ? "continue" : "end",
      }),
  });
}

const agentRef = moduleRef(0, "validation", "defineAgent");
const { timeoutSec, retry, resources, estimatedCost } = operatorShape;
const any = z.any().optional();
const Options = z.strictObject({
  ...ModelChoice.shape,
  ...AskOptions.shape,
  ...{ timeoutSec, retry, resources, estimatedCost },
  // The package's own members are read by defineCapability.
  ...{ intentType: any, version: any, description: any, keywords: any, limits: any },
  tools: z.array(objectWith<Operator>()).readonly(),
  system: z.string().optional(),
  maxTurns: z.int("must be a whole number").min(1, "must be at least 1").optional(),
  budget: z.strictObject({ tokens: z.int().positive().optional(), money: z.number().positive().optional() }).optional(),
  onRejected: z.enum(["tell", "end"]).optional(),
} satisfies ShapeOf<AgentOptions>);

const isSpent = (
  { tokens = Number.POSITIVE_INFINITY, money = Number.POSITIVE_INFINITY }: NonNullable<AgentOptions["budget"]>,
  used: PlanningSituation["used"] = { tokens: 0, money: 0 },
): boolean => used.tokens >= tokens || used.money >= money;

interface Loop {
  readonly prompt: string;
  readonly gone: Gone;
  readonly inputs: readonly InputOfTurn[];
  readonly step: StepBuilder<readonly Operator[]>;
  readonly think: string;
  readonly maxTurns: number;
  /** Whether the budget is used up. */
  readonly isSpent: boolean;
  readonly maxSteps: number | undefined;
  readonly on_reject: "continue" | "end";
}

/** The results of the rounds before, by the names that their steps were planned under. */
interface Gone {
  readonly outputs: ReadonlyMap<string, PlanningSituation["completed"][number]>;
  readonly failures: ReadonlyMap<string, PlanningSituation["failed"][number]>;
}

const plannedAs = (stepId: string): string => stepId.replace(/_r\d+$/, "");

const readGone = ({ completed, failed }: PlanningSituation): Gone => ({
  outputs: new Map(completed.map((one) => [plannedAs(one.step_id), one])),
  failures: new Map(failed.map((one) => [plannedAs(one.step_id), one])),
});

/** A message that was added, and the turn after which it is read; 0 before the first. */
interface InputOfTurn {
  readonly turn: number;
  readonly message: JsonObject;
}

const readInputs = ({ inputs = [] }: PlanningSituation): readonly InputOfTurn[] =>
  inputs.map(({ text: value, author: { type, id }, follows }) => ({
    turn: Number(/^(?:think|call)_(\d+)/.exec(follows ?? "")?.[1] ?? 0),
    message: { role: "user", text: text`A message of ${type} ${String(id)}:\n${value}` },
  }));

/** Returns the messages that are read after a turn. */
const readAfter = ({ inputs }: Loop, turn: number): readonly JsonObject[] =>
  inputs.filter((one) => one.turn === turn).map(({ message }) => message);

/** Goes through the conversation to where it stands; what comes next is the plan. */
function planNext(loop: Loop): ExecutionPlan {
  const { prompt, gone } = loop;
  const messages: JsonObject[] = [{ role: "user", text: text`${prompt}` }, ...readAfter(loop, 0)];
  for (let turn = 1; ; turn += 1) {
    const thought = gone.outputs.get(`think_${turn}`);
    if (thought === undefined) return planThought(loop, turn, messages);
    const { text: value, calls } = Thought.parse(thought.output);
    const added = readAfter(loop, turn);
    const isAnswer = calls.length === 0 && (added.length === 0 || isLast(loop, turn));
    if (isAnswer) return { reasoning: `turn ${turn} is the answer`, steps: [], direct_response: value };
    const open = calls.flatMap((call, i) => planCall(loop, call, callId(turn, i)));
    // Calls beyond the room of one plan are planned in the next round.
    const steps = open.slice(0, loop.maxSteps);
    if (open.length > 0) return { reasoning: `turn ${turn} wants ${open.length} calls`, steps, continues: true };
    const at = `${thought.step_id}.output`;
    messages.push({ role: "assistant", text: ref(`${at}.text`), calls: ref(`${at}.calls`) });
    messages.push(...calls.map((call, i) => describeCall(loop.gone, call, callId(turn, i))));
    messages.push(...added);
  }
}

const callId = (turn: number, at: number): string => `call_${turn}_${at + 1}`;

const isLast = (loop: Loop, turn: number): boolean => turn >= loop.maxTurns || loop.isSpent;

function planThought(loop: Loop, turn: number, messages: readonly JsonObject[]): ExecutionPlan {
  const { step, think } = loop;
  const params = { messages, last: isLast(loop, turn) };
  const thought = step({ step_id: `think_${turn}`, name: `Turn ${turn}`, operator: think, params });
  return { reasoning: `turn ${turn} of the conversation`, steps: [thought], continues: true };
}

/** Plans a call that was neither made nor refused. */
function planCall({ gone, step, on_reject }: Loop, { tool, input, problem }: AgentCall, step_id: string) {
  if (problem !== null || gone.outputs.has(step_id) || gone.failures.has(step_id)) return [];
  const params = mapTexts(input, (value) => text`${value}`) as JsonObject;
  return [step({ step_id, name: `Call ${tool}`, operator: tool, params, on_reject })];
}

/** Describes the result of a call for the model. */
function describeCall({ outputs, failures }: Gone, { call_id, tool, problem }: AgentCall, stepId: string): JsonObject {
  const [made, failure] = [outputs.get(stepId), failures.get(stepId)];
  const message = { role: "tool", call_id: text`${call_id}`, tool: text`${tool}`, ...describeChange(made ?? failure) };
  if (made !== undefined) return { ...message, output: ref(`${made.step_id}.output`) };
  return { ...message, error: text`${problem ?? failure?.message ?? "it was not made"}` };
}

/** Describes the change that a person or a rule made to the call, if there was one. */
function describeChange({ changed }: { readonly changed?: ChangedCall } = {}): JsonObject {
  if (changed === undefined) return {};
  const notes = changed.changes.map(({ by, reason }) => {
    const who = by === "person" ? "A person" : "A rule";
    return `${who} changed this call before it was made${reason === null ? "." : `: ${reason}`}`;
  });
  const input = mapTexts(changed.input, (value) => text`${value}`);
  return { changed: { input, note: text`${notes.join("\n")}` } };
}
