/**
 * Runs a package's plan without a kernel: templates, order, outcomes and replans, and nothing else of what a kernel
 * does.
 *
 * Owns: just enough to see that the steps of a package fit together. Never: gates, retries, records or judges by
 * policy; the scenarios test those on the real kernel.
 */
import type { z } from "zod";
import type { CapabilityDefinition, PlanQuestion, PlanTemplate } from "../../src/contract/capability.ts";
import type { Operator } from "../../src/contract/operator.ts";
import { ExecutionPlan, type PlanStepDraft } from "../../src/contract/plan.ts";
import { OperatorError } from "../../src/define/define-operator.ts";
import { callOperator } from "../../src/testing/call-operator.ts";

type ParsedStep = Omit<z.output<typeof PlanStepDraft>, "depends_on"> & { readonly depends_on: readonly string[] };
/** A plan of calls alone, each of which waits for the success of others. */
type ParsedPlan = Omit<ReturnType<typeof ExecutionPlan.parse>, "steps"> & { readonly steps: readonly ParsedStep[] };

const parsePlan = (plan: unknown): ParsedPlan => ExecutionPlan.parse(plan) as ParsedPlan;

export interface PlanRun {
  readonly plans: readonly ParsedPlan[];
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly failed: readonly { readonly step_id: string; readonly code: string; readonly message: string }[];
  readonly chunks: readonly string[];
}

export interface PlanRunOptions {
  readonly input: unknown;
  readonly maxReplans?: number;
  /** What the person makes of an outcome before it is applied. */
  readonly edit?: (stepId: string, outcome: unknown) => unknown;
}

export async function planOf(pkg: CapabilityDefinition, question: Partial<PlanQuestion>): Promise<ParsedPlan> {
  const situation = { round: 0, completed: [], failed: [], objective: null, ...question.situation };
  const plan = pkg.plan as PlanTemplate;
  if (typeof plan !== "function") return parsePlan(plan);
  return parsePlan(await plan({ ...question, input: pkg.input.parse(question.input), situation } as PlanQuestion));
}

export async function runPlan(pkg: CapabilityDefinition, options: PlanRunOptions): Promise<PlanRun> {
  const outputs: Record<string, unknown> = {};
  const plans: ParsedPlan[] = [];
  const chunks: string[] = [];
  let failed: { step_id: string; code: string; message: string }[] = [];
  for (let round = 0; round <= (options.maxReplans ?? 2); round += 1) {
    const completed = Object.entries(outputs).map(([step_id, output]) => ({ step_id, output }));
    const situation = { round, completed, failed, objective: null };
    const plan = await planOf(pkg, { input: options.input, situation });
    plans.push(plan);
    failed = [];
    for (const step of plan.steps) {
      if (step.step_id in outputs || !step.depends_on.every((id) => id in outputs)) continue;
      const seen = step.applies === undefined ? outputs : edited(outputs, step.applies, options);
      const operator = findOperator(pkg, step.operator);
      const trial = { operator, input: resolve(step.params, seen), idempotencyKey: `${round}-${step.step_id}` };
      try {
        const result = await callOperator(trial);
        const schema = step.outcome === undefined ? null : pkg.outcomes[step.outcome]!;
        outputs[step.step_id] = schema === null ? result.output : schema.parse(result.output);
        chunks.push(...result.chunks);
      } catch (failure) {
        if (!(failure instanceof OperatorError)) throw failure;
        failed.push({ step_id: step.step_id, code: failure.executorError.code, message: failure.message });
      }
    }
    if (failed.length === 0) break;
  }
  return { plans, outputs, failed, chunks };
}

function edited(outputs: Readonly<Record<string, unknown>>, target: string, { edit }: PlanRunOptions) {
  return edit === undefined ? outputs : { ...outputs, [target]: edit(target, outputs[target]) };
}

function findOperator(pkg: CapabilityDefinition, name: string): Operator {
  const found = pkg.operators.find((operator) => typeof operator !== "string" && operator.metadata.name === name);
  if (found === undefined || typeof found === "string") throw new Error(`${pkg.intentType} does not list ${name}`);
  return found;
}

/** A string that is wholly one reference keeps the value's type; the packages use no other form. */
function resolve(value: unknown, outputs: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(value)) return value.map((member) => resolve(member, outputs));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, resolve(member, outputs)]));
  }
  const reference = typeof value === "string" ? /^\{\{([\w-]+)\.output((?:\.\w+)*)\}\}$/.exec(value) : null;
  if (reference === null) return value;
  const path = (reference[2] ?? "").split(".").filter(Boolean);
  return path.reduce((at, name) => (at as Record<string, unknown>)[name], outputs[reference[1] ?? ""]);
}
