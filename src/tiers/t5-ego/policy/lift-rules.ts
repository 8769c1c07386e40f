/**
 * Separates the default rules that a host's rule lifts from the answers that count.
 *
 * 1.  Only a default rule itself is lifted, never a host's rule with the same name.
 * 2.  Only an answer that allows the call or asks a person lifts; a rule that denied or failed lifts nothing.
 * 3.  A lift is recorded if the default rule matched; otherwise there was nothing to lift.
 */
import type { PolicyLift } from "../../../contract/policy.ts";
import { defaultRules } from "./default-rules.ts";
import type { Matched } from "./evaluate-round.ts";

export interface Separated {
  /** The answers that count, in the order of evaluation. */
  readonly standing: readonly Matched[];
  readonly lifts: PolicyLift[];
}

export function separateLifted(matched: readonly Matched[]): Separated {
  const lifters = matched.filter(({ rule, answer }) => rule.lifts !== undefined && answer.decision !== "DENY");
  if (lifters.length === 0) return { standing: matched, lifts: [] };
  const lifterOf = ({ rule }: Matched): Matched | undefined =>
    isDefault(rule) ? lifters.find((lifter) => lifter.rule.lifts === rule.name) : undefined;
  const lifts = matched.flatMap((one) => {
    const lifter = lifterOf(one);
    return lifter === undefined ? [] : [{ rule: one.rule.name, by: lifter.rule.name }];
  });
  return { standing: matched.filter((one) => lifterOf(one) === undefined), lifts };
}

/** Compares by identity, because a host may give a rule of its own any name. */
const isDefault = (rule: Matched["rule"]): boolean => defaultRules.some((one) => one === rule);
