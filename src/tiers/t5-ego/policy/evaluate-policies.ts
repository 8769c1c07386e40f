/**
 * Evaluates a policy question in rounds, so that the payload that runs is a payload that every rule has judged.
 *
 * 1.  The payload of a transform or a redaction is judged again by all rules, until a round changes nothing. Rules that
 *     do not settle within `maxRounds` changes deny (T5_POLICY_UNSETTLED).
 * 2.  The decision is the strictest of all rounds: a rule that asked for a person because of the payload as it was
 *     requested still asks, and a denial of a transformed payload denies. Every rule that matched in any round is
 *     named, and every lift.
 * 3.  The payload of the decision is `redact(transform ?? payload, redactions)`, whatever the number of rounds.
 */
import { digest } from "../../../contract/digest.ts";
import { raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { strictestConfirm } from "../../../contract/gate-status.ts";
import type { Json } from "../../../contract/json.ts";
import { follow } from "../../../contract/maybe-promise.ts";
import {
  decisionsAt,
  type PolicyChange,
  type PolicyDecision,
  type PolicyLift,
  type PolicyQuestion,
} from "../../../contract/policy.ts";
import { redact } from "../../../contract/redact.ts";
import { type Evaluated, engineRef, evaluateRound, type PolicyEngine, rank } from "./evaluate-round.ts";

const defaultMaxRounds = 4;

/** A round that changed the payload, and the payload that it left. */
interface Change extends Evaluated {
  readonly payload: Json;
}

/**
 * Evaluates the rules of the question's stage, and freezes the question. It is synchronous if all rules are. `inForce`
 * holds the redactions that an earlier decision on the same payload has made.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH if there is no such stage; nothing else.
 */
export function evaluatePolicies(
  engine: PolicyEngine,
  question: PolicyQuestion,
  inForce: readonly string[] = [],
): PolicyDecision | Promise<PolicyDecision> {
  if (!Object.hasOwn(decisionsAt, question.stage))
    raise(
      kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `there is no policy stage ${String(question.stage)}`, engineRef),
    );
  return judgeOnward(engine, withSchedule(question), { changes: [], inForce });
}

/** Adds the schedule that submitted the work to the subject, at every stage. */
function withSchedule(question: PolicyQuestion): PolicyQuestion {
  const { schedule } = question.intent;
  return schedule === undefined ? question : { ...question, subject: { ...question.subject, schedule } };
}

interface Progress {
  readonly changes: readonly Change[];
  readonly inForce: readonly string[];
}

/** Judges the question's payload, and its changed versions, until the rules change nothing. */
function judgeOnward(
  engine: PolicyEngine,
  question: PolicyQuestion,
  { changes, inForce }: Progress,
): PolicyDecision | Promise<PolicyDecision> {
  const { maxRounds = defaultMaxRounds } = engine;
  const found = [...inForce, ...redactionsOf(changes)];
  return follow(evaluateRound(engine, question, found), (round) => {
    const { payload } = question.subject;
    const left = leftOf(payload, [...changes, round]);
    if (round.decision.decision === "DENY" || left === payload || digest(left) === digest(payload))
      return conclude(changes, round);
    if (changes.length >= maxRounds) return denyUnsettled(changes, round);
    const next = { ...question, subject: { ...question.subject, payload: left } };
    return judgeOnward(engine, next, { changes: [...changes, { ...round, payload: left }], inForce });
  });
}

/** Returns the payload after the last of these rounds, masked by all of them. */
function leftOf(payload: Json, rounds: readonly Evaluated[]): Json {
  const { transform } = (rounds.at(-1) as Evaluated).decision;
  return redact(transform ?? payload, redactionsOf(rounds));
}

const redactionsOf = (rounds: readonly Evaluated[]): string[] => [
  ...new Set(rounds.flatMap(({ decision }) => decision.redactions)),
];

/** Combines the decisions of all rounds: those that changed the payload, and the last one, which did not. */
function conclude(changes: readonly Change[], last: Evaluated): PolicyDecision {
  if (changes.length === 0) return last.decision;
  const rounds = [...changes, last];
  const policies = namesOf(rounds);
  const lifted = liftsOf(rounds);
  if (last.decision.decision === "DENY")
    return {
      ...last.decision,
      policies,
      ...lifted,
      reason: `${last.decision.reason} (of the payload ${asChanged(changes)})`,
    };
  const redactions = redactionsOf(rounds);
  const isTransformed = rounds.some(({ decision }) => decision.transform !== null);
  const transform = isTransformed ? redact((changes.at(-1) as Change).payload, redactions) : null;
  const confirm = strictestConfirm(rounds.map(({ decision }) => decision.confirm));
  const concluded = {
    ...strictestOf(rounds),
    ...(confirm !== undefined && { confirm }),
    ...{ transform, redactions, policies },
    ...lifted,
  };
  return changes.length === 1 ? concluded : { ...concluded, changes: changes.map((one) => recordOf(one, redactions)) };
}

const namesOf = (rounds: readonly Evaluated[]): string[] => [
  ...new Set(rounds.flatMap(({ decision }) => decision.policies)),
];

/** Returns the lifts of all rounds without repetition; nothing if there are none. */
function liftsOf(rounds: readonly Evaluated[]): { readonly lifts?: PolicyLift[] } {
  const all = rounds.flatMap(({ decision }) => decision.lifts ?? []);
  const isFirst = ({ rule, by }: PolicyLift, at: number): boolean =>
    all.findIndex((one) => one.rule === rule && one.by === by) === at;
  return all.length === 0 ? {} : { lifts: all.filter(isFirst) };
}

/** Returns the decision of the first among the strictest rounds. */
const strictestOf = (rounds: readonly Evaluated[]): PolicyDecision =>
  rounds.reduce(
    (best, { decision }) => (rank[decision.decision] > rank[best.decision] ? decision : best),
    (rounds[0] as Evaluated).decision,
  );

/** Returns a change for the record, with everything masked that any round masks. */
const recordOf = ({ changers, payload }: Change, redactions: readonly string[]): PolicyChange => ({
  policies: [...changers],
  payload: redact(payload, redactions),
});

function denyUnsettled(changes: readonly Change[], last: Evaluated): PolicyDecision {
  const rounds = [...changes, last];
  return {
    decision: "DENY",
    code: "T5_POLICY_UNSETTLED",
    reason: `the rules changed the payload again and again: it was judged ${asChanged(rounds)}`,
    decided_by: last.changers.at(-1) as string,
    transform: null,
    redactions: [],
    policies: namesOf(rounds),
    ...liftsOf(rounds),
    policy_version: last.decision.policy_version,
  };
}

const asChanged = (changes: readonly Evaluated[]): string =>
  `as changed by ${changes.map(({ changers }) => changers.join(" and ")).join(", then by ")}`;
