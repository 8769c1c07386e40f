/**
 * The policy engine: all rules of a stage, one decision (seed 003 section 5.5).
 *
 * P1  DENY > REQUIRE_HUMAN_APPROVAL > TRANSFORM > ALLOW_WITH_REDACTION > ALLOW; every rule that matched is named, in order.
 * P2  A rule that throws, answers nonsense or never answers denies. Nothing is let through by accident.
 * P3  A transform or redaction of a matching rule holds also where approval is asked on top.
 */
import { z } from "zod";
import { raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { toJson } from "../../../contract/json.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import {
  type DecisionName,
  type PolicyDecision,
  type PolicyQuestion,
  type PolicyRule,
  PolicyStage,
  RuleAnswer,
} from "../../../contract/policy.ts";
import type { Clock } from "../../../ports/clock.ts";
import { callWithin, isPromise, messageOf } from "../../../runtime/within.ts";

const rank: Readonly<Record<DecisionName, number>> = {
  DENY: 4,
  REQUIRE_HUMAN_APPROVAL: 3,
  TRANSFORM: 2,
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
 * Evaluates the rules of the question's stage. Synchronous when all rules are.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for a stage there is not; for nothing else.
 */
export function evaluatePolicies(
  engine: PolicyEngine,
  question: PolicyQuestion,
): PolicyDecision | Promise<PolicyDecision> {
  if (!PolicyStage.safeParse(question.stage).success)
    raise(
      kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `there is no policy stage ${String(question.stage)}`, engineRef),
    );
  const rules = engine.rules.filter((rule) => rule.stages.includes(question.stage));
  const answers = rules.map((rule) => ask(rule, question, engine));
  if (answers.some((a) => isPromise(a))) return Promise.all(answers).then((all) => combine(all, engine.version));
  return combine(answers as (Matched | null)[], engine.version);
}

function ask(
  rule: PolicyRule,
  question: PolicyQuestion,
  engine: PolicyEngine,
): Matched | null | Promise<Matched | null> {
  const { clock, timeoutMs = 5000 } = engine;
  const evaluate = (): RuleAnswer | null | Promise<RuleAnswer | null> => rule.evaluate(question);
  const within = {
    timeoutMs,
    source: engineRef,
    onTimeout: "T5_POLICY_FAILED",
    onThrow: "T5_POLICY_FAILED",
    what: `policy ${rule.name}`,
  } as const;
  try {
    const answer = clock === undefined ? evaluate() : callWithin(evaluate, { ...within, clock });
    if (!isPromise(answer)) return read(rule, answer);
    return answer.then(
      (a) => read(rule, a),
      (thrown: unknown) => denied(rule, messageOf(thrown)),
    );
  } catch (thrown) {
    return denied(rule, messageOf(thrown));
  }
}

function read(rule: PolicyRule, answer: RuleAnswer | null): Matched | null {
  if (answer === null || answer === undefined) return null;
  const parsed = RuleAnswer.safeParse(answer);
  if (!parsed.success) return denied(rule, `it answered what is no decision: ${z.prettifyError(parsed.error)}`);
  const { transform } = parsed.data;
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

function combine(answers: readonly (Matched | null)[], policyVersion: string): PolicyDecision {
  const matched = answers.filter((m) => m !== null);
  const winner = matched.reduce<Matched | null>(
    (best, m) => (best === null || rank[m.answer.decision] > rank[best.answer.decision] ? m : best),
    null,
  );
  const base = { policies: matched.map((m) => m.name), policy_version: policyVersion };
  if (winner === null)
    return { decision: "ALLOW", reason: "no rule matched", transform: null, redactions: [], ...base };
  const transform = matched.find((m) => m.answer.decision === "TRANSFORM")?.answer.transform ?? null;
  const redactions = [...new Set(matched.flatMap((m) => m.answer.redactions))];
  const denies = winner.answer.decision === "DENY";
  return {
    decision: winner.answer.decision,
    reason: winner.answer.reason,
    decided_by: winner.name,
    transform: denies ? null : transform,
    redactions: denies ? [] : redactions,
    ...base,
  };
}
