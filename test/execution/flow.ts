/**
 * The fixtures of the tests of execution: one capability, `Probe.Flow.Run`, whose plan and skills each test writes
 * itself.
 *
 * Owns: short ways to write skills, steps and packages, and to read events back. Never: asserts anything.
 */
import { z } from "zod";
import type { CapabilityDefinition } from "../../src/contract/capability.ts";
import { type EventPayloads, payloadOf } from "../../src/contract/event.ts";
import type { Operator, OperatorCall } from "../../src/contract/operator.ts";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import { type CapabilityOptions, defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator, type OperatorOptions } from "../../src/define/define-operator.ts";
import type { SkillExecutionContext } from "../../src/ports/middleware.ts";
import type { TestKernel } from "../../src/testing/test-kernel.ts";

export const intent = "Probe.Flow.Run";

export const anyObject = z.record(z.string(), z.unknown());

export type SkillCall = OperatorCall<Record<string, unknown>>;
type SkillOptions = Partial<Omit<OperatorOptions<z.ZodType, z.ZodType>, "name" | "run">>;

/** A skill that takes any object and returns what `run` gives. */
export const skill = (name: string, run: (call: SkillCall) => unknown, options: SkillOptions = {}): Operator =>
  defineOperator({ input: anyObject, ...options, name, run: run as never });

/** A step named like its id. */
export const step = (
  stepId: string,
  operator: string,
  more: Partial<Omit<PlanStepDraft, "step_id" | "operator">> = {},
): PlanStepDraft => ({ step_id: stepId, name: stepId, operator, ...more });

/** The package: these skills, this plan on every round. */
export const flow = (
  operators: readonly Operator[],
  steps: readonly PlanStepDraft[],
  more: Partial<CapabilityOptions<z.ZodType>> = {},
): CapabilityDefinition =>
  defineCapability({
    intentType: intent,
    version: "1.0",
    input: anyObject,
    operators,
    plan: () => ({ reasoning: "as the test asks", steps: [...steps] }),
    ...more,
  });

/** The package of one skill and one step `s1` that calls it. */
export const oneStep = (
  operator: Operator,
  more: Partial<Omit<PlanStepDraft, "step_id" | "operator">> = {},
): CapabilityDefinition => flow([operator], [step("s1", operator.metadata.name, more)]);

/** Payloads of one type, in order. */
export async function payloads<T extends keyof EventPayloads>(
  t: TestKernel,
  workflowId: string,
  type: T,
): Promise<readonly EventPayloads[T][]> {
  const found: EventPayloads[T][] = [];
  for await (const event of t.kernel.events(workflowId, { live: false }))
    if (event.event_type === type) found.push(payloadOf(event, type));
  return found;
}

/** Names told by a mark, in order: `named(t, "middleware.before", "name")`. */
export const named = (t: TestKernel, stage: string, field = "name"): readonly unknown[] =>
  t.marks.filter((m) => m.stage === stage).map((m) => m[field]);

export const last = <T>(items: readonly T[]): T => {
  const found = items.at(-1);
  if (found === undefined) throw new Error("there is none");
  return found;
};

/** What a middleware can read of its context, as a plain record. */
export function fieldsOf(context: SkillExecutionContext): SkillExecutionContext {
  const fields: Record<string, unknown> = {};
  for (const name in context) fields[name] = context[name as keyof SkillExecutionContext];
  return fields as unknown as SkillExecutionContext;
}
