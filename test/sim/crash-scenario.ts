/**
 * What is run and cut: a capability made from a seed. Seed 1 is the fixed scenario with a retry, a replan and two
 * gates; any other seed draws its steps, their order, their effects, their failures and their gates.
 *
 * Every effect is a line of the effects file. `Sim.Put` is idempotent by its own doing; `Sim.Post` is not.
 */
import { z } from "zod";
import { seededRandom } from "../../src/adapters/seeded-random.ts";
import type { PlanQuestion } from "../../src/contract/capability.ts";
import type { OperatorCall } from "../../src/contract/operator.ts";
import type { ExecutionPlan, PlanStepDraft } from "../../src/contract/plan.ts";
import { defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator, operatorError } from "../../src/define/define-operator.ts";
import { readEffects, recordEffect } from "./effects-file.ts";

export const simIntent = "Sim.Job.Run";

const Params = z.object({ label: z.string(), fails: z.int().default(0), breaks: z.boolean().default(false) });
type Params = z.output<typeof Params>;

interface Made {
  readonly steps: readonly PlanStepDraft[];
  /** The steps of the second round; null when the first plan succeeds. */
  readonly replanned: readonly PlanStepDraft[] | null;
}

function failFirst({ input, attempt }: OperatorCall<Params>): void {
  if (input.breaks)
    throw operatorError({ code: "SIM_BROKEN", message: `${input.label} cannot be done`, category: "dependency" });
  if (attempt <= input.fails)
    throw operatorError({ code: "SIM_BUSY", message: `${input.label} is busy`, category: "transient" });
}

/** The capability whose operators leave their effects in this file. */
export function simCapability(effectsPath: string, seed: number) {
  const act =
    (operator: string, once: boolean) =>
    (call: OperatorCall<Params>): { text: string } => {
      failFirst(call);
      const result = { text: `${call.input.label} done` };
      const known = once && readEffects(effectsPath).some((e) => e.key === call.idempotencyKey);
      if (!known) recordEffect(effectsPath, { key: call.idempotencyKey, operator, step: call.context.step_id, result });
      return result;
    };
  const read = (call: OperatorCall<Params>): { text: string } => {
    failFirst(call);
    return { text: `${call.input.label} read` };
  };
  const common = { input: Params, output: z.object({ text: z.string() }), timeoutSec: 60 } as const;
  const made = seed === 1 ? fixedScenario : drawScenario(seed);
  return defineCapability({
    intentType: simIntent,
    version: "1.0",
    input: z.object({}),
    operators: [
      defineOperator({ ...common, name: "Sim.Get", effect: "read", run: read }),
      defineOperator({
        ...common,
        name: "Sim.Put",
        effect: "write_draft",
        idempotent: true,
        run: act("Sim.Put", true),
      }),
      defineOperator({ ...common, name: "Sim.Post", effect: "write_draft", run: act("Sim.Post", false) }),
    ],
    outcomes: { "Sim.Draft": z.object({ text: z.string() }) },
    plan: ({ situation }: PlanQuestion): ExecutionPlan => ({
      reasoning: `round ${situation.round}`,
      steps: [...(situation.round === 0 ? made.steps : (made.replanned ?? made.steps))],
    }),
  });
}

interface StepParts extends Omit<PlanStepDraft, "step_id" | "name" | "operator"> {
  readonly fails?: number;
  readonly breaks?: boolean;
}

const step = (id: string, operator: string, { fails = 0, breaks = false, ...rest }: StepParts = {}): PlanStepDraft => ({
  step_id: id,
  name: `step ${id}`,
  operator,
  params: { label: id, fails, breaks },
  ...rest,
});

const gate = { reason: "a person looks" };

/**
 * A retry (s1), an outcome applied behind a gate (s2, s4), a second gate (s5), and a step (s3) that breaks and is
 * replanned.
 */
const fixedScenario: Made = {
  steps: [
    step("s1", "Sim.Get", { fails: 1 }),
    step("s2", "Sim.Put", { depends_on: ["s1"], outcome: "Sim.Draft" }),
    step("s3", "Sim.Post", { depends_on: ["s1"], breaks: true }),
    step("s4", "Sim.Post", { depends_on: ["s2"], applies: "s2", gate }),
  ],
  replanned: [
    step("s6", "Sim.Post", { fails: 1 }),
    step("s5", "Sim.Put", { depends_on: ["s6"], gate }),
    step("s7", "Sim.Get", { depends_on: ["s5"] }),
  ],
};

/** Up to six steps in random order, at most two gates, and sometimes a first plan that breaks. */
function drawScenario(seed: number): Made {
  const random = seededRandom(seed * 7919);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  let gates = 2;
  const draw = (prefix: string, count: number): PlanStepDraft[] =>
    Array.from({ length: count }, (_, i) => {
      const gated = gates > 0 && random() < 0.35;
      if (gated) gates -= 1;
      const before = Array.from({ length: i }, (_, n) => `${prefix}${n + 1}`);
      return step(`${prefix}${i + 1}`, pick(["Sim.Get", "Sim.Put", "Sim.Post"]), {
        depends_on: before.filter(() => random() < 0.5),
        fails: random() < 0.3 ? 1 : 0,
        ...(random() < 0.4 ? { outcome: "Sim.Draft" } : {}),
        ...(gated ? { gate } : {}),
      });
    });
  const steps = draw("s", 2 + Math.floor(random() * 4));
  if (random() < 0.5) return { steps, replanned: null };
  return { steps: [...steps, step("broken", "Sim.Post", { breaks: true })], replanned: draw("r", 2) };
}
