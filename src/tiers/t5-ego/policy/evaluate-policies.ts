/**
 * The policy engine: all rules of a stage, one decision (seed 003 section 5.5).
 *
 * P1  DENY > REQUIRE_HUMAN_APPROVAL > TRANSFORM and ALLOW_WITH_REDACTION > ALLOW; among equals the first one names decision
 *     and reason. Every rule that matched is named, in the order of evaluation.
 * P2  A rule that throws, answers nonsense, never answers, or answers what its stage cannot honour denies. Nothing is let
 *     through by accident.
 * P3  A transform and all redactions of matching rules hold together, and also where approval is asked on top: first the
 *     payload is transformed, then masked. The answer holds nothing of what is masked.
 * P4  Rules see the payload as it was asked about, never one another's changes. Two that transform it differently deny.
 * P5  A question is frozen, to the bottom: what a rule is shown is what runs, and no rule can change it.
 */
import { z } from "zod";
import { digest } from "../../../contract/digest.ts";
import { raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { deepFreeze, toJson } from "../../../contract/json.ts";
import { isPromise } from "../../../contract/maybe-promise.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import {
  type DecisionName,
  decisionsAt,
  type PolicyDecision,
  type PolicyQuestion,
  type PolicyRule,
  type PolicyStage,
  RuleAnswer,
} from "../../../contract/policy.ts";
import { redact } from "../../../contract/redact.ts";
import type { Clock } from "../../../ports/clock.ts";
import { callWithin, messageOf, type Within } from "../../../runtime/within.ts";

const rank: Readonly<Record<DecisionName, number>> = {
  DENY: 3,
  REQUIRE_HUMAN_APPROVAL: 2,
  TRANSFORM: 1,
  ALLOW_WITH_REDACTION: 1,
  ALLOW: 0,
};
const engineRef = moduleRef(5, "policy", "evaluate");

export interface PolicyEngine {
  readonly rules: readonly PolicyRule[];
  readonly version: string;
  readonly timeoutMs?: number;
  readonly clock?: Clock;
}

interface Matched {
  readonly name: string;
  readonly answer: z.output<typeof RuleAnswer>;
}

/**
 * Evaluates the rules of the question's stage, and freezes the question. Synchronous when all rules are.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for a stage there is not; for nothing else.
 */
export function evaluatePolicies(
  engine: PolicyEngine,
  question: PolicyQuestion,
): PolicyDecision | Promise<PolicyDecision> {
  if (!Object.hasOwn(decisionsAt, question.stage))
    raise(
      kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `there is no policy stage ${String(question.stage)}`, engineRef),
    );
  const { at, unmatched } = known.get(engine) ?? know(engine);
  deepFreeze(question);
  const matched: (Matched | Promise<Matched | null>)[] = [];
  for (const rule of at[question.stage]) {
    const answer = ask(rule, question);
    if (answer !== null) matched.push(answer);
  }
  if (matched.length === 0) return unmatched;
  if (!matched.some(isPromise)) return combine(matched as Matched[], engine.version);
  return Promise.all(matched).then((all) => {
    const some = all.filter((one) => one !== null);
    return some.length === 0 ? unmatched : combine(some, engine.version);
  });
}

/** A rule and how long it may take; an engine without a clock waits. */
interface Limited {
  readonly rule: PolicyRule;
  readonly within: Within | null;
}

/** What is the same for all questions of an engine. */
interface Known {
  readonly at: Readonly<Record<PolicyStage, readonly Limited[]>>;
  readonly unmatched: PolicyDecision;
}

const known = new WeakMap<PolicyEngine, Known>();

function know(engine: PolicyEngine): Known {
  const { rules, clock, timeoutMs = 5000, version } = engine;
  const limited = rules.map((rule) => ({ rule, within: clock === undefined ? null : limitOf(rule, clock, timeoutMs) }));
  const at = (stage: PolicyStage) => limited.filter(({ rule }) => rule.stages.includes(stage));
  const made: Known = {
    at: { plan: at("plan"), action: at("action"), outcome: at("outcome"), gate: at("gate") },
    unmatched: deepFreeze({
      decision: "ALLOW",
      reason: "no rule matched",
      transform: null,
      redactions: [],
      policies: [],
      policy_version: version,
    }),
  };
  known.set(engine, made);
  return made;
}

function ask({ rule, within }: Limited, question: PolicyQuestion): Matched | null | Promise<Matched | null> {
  try {
    const answer = within === null ? rule.evaluate(question) : callWithin(() => rule.evaluate(question), within);
    if (!isPromise(answer)) return read(rule, answer, question);
    // What has a `then` need not be a whole promise.
    return Promise.resolve(answer).then(
      (a) => read(rule, a, question),
      (thrown: unknown) => denied(rule, messageOf(thrown)),
    );
  } catch (thrown) {
    return denied(rule, messageOf(thrown));
  }
}

const limitOf = ({ name }: PolicyRule, clock: Clock, timeoutMs: number): Within => ({
  clock,
  timeoutMs,
  source: engineRef,
  onTimeout: "T5_POLICY_FAILED",
  onThrow: "T5_POLICY_FAILED",
  what: `policy ${name}`,
});

function read(rule: PolicyRule, answer: RuleAnswer | null, { stage, subject }: PolicyQuestion): Matched | null {
  if (answer === null || answer === undefined) return null;
  const parsed = RuleAnswer.safeParse(answer);
  if (!parsed.success) return denied(rule, `it answered what is no decision: ${z.prettifyError(parsed.error)}`);
  const { decision, transform } = parsed.data;
  if (!decisionsAt[stage].includes(decision)) return denied(rule, `${decision} cannot be honoured at stage ${stage}`);
  const changes = decision === "TRANSFORM";
  if (transform !== null && !changes && decision !== "DENY")
    return denied(rule, `a transform needs TRANSFORM, not ${decision}`);
  if (transform === null && changes && subject.payload !== null) return denied(rule, "TRANSFORM needs a transform");
  if (transform === null) return { name: rule.name, answer: parsed.data };
  try {
    return { name: rule.name, answer: { ...parsed.data, transform: toJson(transform) } };
  } catch (thrown) {
    return denied(rule, `its transform is no JSON: ${messageOf(thrown)}`);
  }
}

const denied = (rule: PolicyRule, why: string): Matched => ({
  name: rule.name,
  answer: {
    decision: "DENY",
    reason: `policy ${rule.name} failed, which denies: ${why}`,
    transform: null,
    redactions: [],
  },
});

/** Of one at least. */
function combine(matched: readonly Matched[], policyVersion: string): PolicyDecision {
  const changes = matched.filter((m) => m.answer.decision === "TRANSFORM");
  const winner = matched.reduce((best, m) => (rank[m.answer.decision] > rank[best.answer.decision] ? m : best));
  const base = { policies: matched.map((m) => m.name), policy_version: policyVersion };
  const { decision, reason } = winner.answer;
  const nothing = { decided_by: winner.name, transform: null, redactions: [] };
  if (decision === "DENY") return { decision, reason, ...nothing, ...base };
  const transform = changes[0]?.answer.transform ?? null;
  const other = changes.slice(1).find((m) => digest(m.answer.transform) !== digest(transform));
  if (other !== undefined)
    return {
      decision: "DENY",
      reason: disagreement(changes[0] as Matched, other),
      ...nothing,
      decided_by: other.name,
      ...base,
    };
  const redactions = [...new Set(matched.flatMap((m) => m.answer.redactions))];
  return {
    decision,
    reason,
    decided_by: winner.name,
    transform: redact(transform, redactions),
    redactions,
    ...base,
  };
}

const disagreement = (one: Matched, other: Matched): string =>
  `policies ${one.name} and ${other.name} transform the payload differently, which denies`;
