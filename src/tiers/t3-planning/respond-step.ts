/** The one step of a plan that is a direct response. */
import type { PlanStep } from "../../contract/plan.ts";
import { literalsOf, markText } from "../../contract/reference.ts";
import type { CompileRequest } from "./compile-plan.ts";

/** The built-in operator that speaks it; it has no side effect. */
const respondOperator = "Kernel.Respond";

export function respondStep({ used, identity }: Pick<CompileRequest, "used" | "identity">, text: string): PlanStep {
  // Text for a person is never a template, even if it quotes one.
  const literals = literalsOf({ text: markText(text, () => false) });
  return {
    kind: "respond",
    step_id: used.includes("respond") ? `respond_r${identity.round}` : "respond",
    name: "Respond",
    operator: respondOperator,
    operator_version: "1.0",
    params: { text },
    ...(literals !== undefined && { literals }),
    depends_on: [],
    outcome: "Response",
    applies: null,
    outputs: ["text"],
    policy_tags: [],
    risk_level: "low",
    effect: "none",
    gate: null,
    idempotency: { strategy: "inputs", target: null },
    weight: 1,
    estimated_cost: 0,
    priority: 0,
    draft_version: 1,
  };
}
