/** The condition of a step, on the outputs that the record holds. */
import { type Condition, conditionHolds } from "../../../../contract/condition.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import type { Literals } from "../../../../contract/reference.ts";
import { outputsOf, type Run } from "../run/run.ts";
import { resolveParams } from "./resolve-templates.ts";

/** A condition, and the places in it whose text is no reference. */
interface Written {
  readonly condition: Condition;
  readonly literals: Literals | undefined;
}

/** Returns whether a condition of a step holds now. A reference that gives nothing is a value that is not there. */
export function holdsNow(run: Run, step: PlanStep, { condition, literals }: Written): boolean {
  const outputs = outputsOf(run.log.record, step);
  return conditionHolds(condition, (params, at) => {
    const { value, unresolved } = resolveParams({ params, literals: literalsBelow(literals, at) }, outputs);
    return unresolved.length > 0 ? undefined : value;
  });
}

/** Returns the literals at a place and below it, by their JSON pointers from there; undefined if there are none. */
function literalsBelow(literals: Literals | undefined, at: string): Literals | undefined {
  const inside = Object.entries(literals ?? {}).filter(([place]) => place === at || place.startsWith(`${at}/`));
  return inside.length === 0
    ? undefined
    : Object.fromEntries(inside.map(([place, list]) => [place.slice(at.length), list]));
}
