/**
 * The scripted capability: a planner and operators that do what a queue says, and wait to be told where it says
 * nothing.
 *
 * Owns: the queues, and the calls and plans that wait. Never: asserts anything.
 */
import { z } from "zod";
import type { OperatorCall } from "../../src/contract/operator.ts";
import type { AnyStepDraft, ExecutionPlan, PlanStepDraft } from "../../src/contract/plan.ts";
import { defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator, operatorError } from "../../src/define/define-operator.ts";

export const intent = "Model.Script.Run";

/** What a call does; `hang` waits for `answer`. */
export type Behaviour = "succeed" | "flake" | "fail" | "throw" | "hang";

interface Waiting {
  readonly step_id: string;
  readonly settle: (how: Behaviour) => void;
}

const failures: Readonly<Record<"flake" | "fail", () => Error>> = {
  flake: () => operatorError({ code: "FLAKY", message: "not now", category: "transient" }),
  fail: () => operatorError({ code: "BROKEN", message: "never", category: "dependency", retryable: false }),
};

function perform(how: Behaviour): unknown {
  if (how === "throw") throw new Error("a plain throw");
  if (how === "flake" || how === "fail") throw failures[how]();
  return { done: true };
}

export class Script {
  /** What previews rest on; null for nothing. */
  stands: string | null = null;
  /** Where the step `subject` is held around its call, until `letGo`. */
  holds: "before" | "after" | "onError" | null = null;
  /** The stage at which policy denies the step `subject`. */
  denies: "action" | "outcome" | null = null;
  /** Every call that reached an operator, oldest first. */
  readonly calls: { readonly step_id: string; readonly attempt: number; readonly key: string }[] = [];
  readonly #queues = new Map<string, Behaviour[]>();
  readonly #waiting: Waiting[] = [];
  readonly #held: (() => void)[] = [];
  readonly #planners: ((plan: readonly AnyStepDraft[] | null) => void)[] = [];
  readonly #plans: (readonly AnyStepDraft[] | null)[] = [];

  /** Fills the queue of a step before it runs. */
  queue(stepId: string, ...behaviours: readonly Behaviour[]): void {
    this.#queues.set(stepId, [...(this.#queues.get(stepId) ?? []), ...behaviours]);
  }

  /** Ends the oldest call of the step that waits; where none does, tells the next one. */
  answer(stepId: string, how: Behaviour): void {
    const at = this.#waiting.findIndex((w) => w.step_id === stepId);
    const [waiting] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (waiting === undefined) this.queue(stepId, how);
    else waiting.settle(how);
  }

  /** Waits where the step is held there. */
  pass(at: Script["holds"], stepId: string): Promise<void> | undefined {
    return at === this.holds && stepId === "subject" ? new Promise((go) => this.#held.push(go)) : undefined;
  }

  letGo(): void {
    this.holds = null;
    for (const go of this.#held.splice(0)) go();
  }

  /** Gives a plan to the planner that waits, or to the next one; null: the planner throws. */
  plan(steps: readonly AnyStepDraft[] | null): void {
    const waiting = this.#planners.shift();
    if (waiting === undefined) this.#plans.push(steps);
    else waiting(steps);
  }

  isCalling(stepId: string): boolean {
    return this.#waiting.some((w) => w.step_id === stepId);
  }

  /** What a dead process waited for is answered by nobody. */
  forget(): () => void {
    const waiting = this.#waiting.splice(0);
    const planners = this.#planners.splice(0);
    return () => {
      for (const { settle } of waiting) settle("fail");
      for (const tell of planners) tell(null);
    };
  }

  /** Forgets what it was told, as at its beginning. */
  reset(): void {
    this.letGo();
    for (const { settle } of this.#waiting.splice(0)) settle("fail");
    for (const tell of this.#planners.splice(0)) tell(null);
    this.#queues.clear();
    this.#plans.length = 0;
    Object.assign(this, { stands: null, denies: null });
  }

  capability(intentType = intent, operators = this.operators(), limits: { readonly maxReplans?: number } = {}) {
    return defineCapability({
      intentType,
      version: "1.0",
      limits,
      input: z.record(z.string(), z.unknown()),
      operators,
      outcomes: { "Model.Outcome": z.looseObject({}) },
      plan: () => this.#nextPlan(),
    });
  }

  operators() {
    return [
      this.#operator("Model.Read", "read"),
      this.#operator("Model.Send", "external_send"),
      this.#operator("Model.Post", "external_send", { retry: "NONE" }),
      this.#operator("Model.Put", "external_send", { idempotent: true }),
      this.#operator("Model.Write", "write_draft"),
      this.#operator("Model.Slow", "read", { retry: "NONE", timeoutSec: 86_400 }),
    ];
  }

  #operator(
    name: string,
    effect: "read" | "external_send" | "write_draft",
    { retry = "STANDARD", timeoutSec = 10, idempotent = false } = {},
  ) {
    return defineOperator({
      name,
      effect,
      retry,
      timeoutSec,
      idempotent,
      input: z.record(z.string(), z.unknown()),
      run: (call) => this.#call(call),
      preview: () => ({
        preview: "as scripted",
        basis: this.stands === null ? [] : [{ name: "what stands", digest: this.stands }],
      }),
    });
  }

  #call({ context: { step_id }, attempt, idempotencyKey }: OperatorCall): unknown {
    this.calls.push({ step_id, attempt, key: idempotencyKey });
    const how = this.#queues.get(step_id)?.shift() ?? "hang";
    if (how !== "hang") return perform(how);
    return new Promise<Behaviour>((settle) => this.#waiting.push({ step_id, settle })).then(perform);
  }

  async #nextPlan(): Promise<ExecutionPlan> {
    const ready = this.#plans.shift();
    const waits = (): Promise<readonly AnyStepDraft[] | null> => new Promise((tell) => this.#planners.push(tell));
    const steps = ready === undefined ? await waits() : ready;
    if (steps === null) throw new Error("no plan comes to mind");
    return { reasoning: "as the script says", steps: [...steps] };
  }
}

/** A step named like its id. */
export const step = (step_id: string, operator: string, more: Partial<PlanStepDraft> = {}): PlanStepDraft => ({
  step_id,
  name: step_id,
  operator,
  params: { of: step_id },
  ...more,
});
