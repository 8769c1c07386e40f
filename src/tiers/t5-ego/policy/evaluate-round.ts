/**
 * Evaluates all rules of a stage once, on one payload, and combines their answers into one decision.
 *
 * 1.  DENY > REQUIRE_HUMAN_APPROVAL > TRANSFORM and ALLOW_WITH_REDACTION > ALLOW; among equals the first one names
 *     decision and reason. Every rule that matched is named, in the order of evaluation.
 * 2.  A rule that throws, does not answer, or gives an invalid answer or one that its stage cannot honour denies. So
 *     does a redaction that finds no place. No error lets a call pass.
 * 3.  A transform and all redactions of matching rules apply together, also if approval is required as well: first the
 *     payload is transformed, then masked. The answer holds nothing of the masked values.
 * 4.  Rules see the payload of the question, never one another's changes. Two rules that transform it differently deny.
 * 5.  A rule that lifts a default rule, and allows the call or asks a person, answers in its place (lift-rules.ts). The
 *     lift is recorded if the default rule matched, and holds for this round alone.
 * 6.  A rule may stand for several policies and reply with the answers of those that match. Each counts as the answer
 *     of a rule of its own name, which no rule of the kernel has.
 * 7.  A question is deeply frozen: a rule sees exactly what runs, and cannot change it.
 */
import { z } from "zod";
import { digest } from "../../../contract/digest.ts";
import { strictestConfirm } from "../../../contract/gate-status.ts";
import { deepFreeze, type Json, toJson } from "../../../contract/json.ts";
import { isPromise } from "../../../contract/maybe-promise.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import {
  type DecisionName,
  decisionsAt,
  liftingDecisions,
  NamedAnswer,
  type PolicyDecision,
  type PolicyQuestion,
  type PolicyRule,
  type PolicyStage,
  RuleAnswer,
  type RuleReply,
} from "../../../contract/policy.ts";
import { hasPlace, redact } from "../../../contract/redact.ts";
import { callWithin, messageOf, type Within } from "../../../engine/actors/within.ts";
import type { Clock } from "../../../ports/clock.ts";
import { separateLifted } from "./lift-rules.ts";

/** The strictness of each decision. */
export const rank: Readonly<Record<DecisionName, number>> = {
  DENY: 3,
  REQUIRE_HUMAN_APPROVAL: 2,
  TRANSFORM: 1,
  ALLOW_WITH_REDACTION: 1,
  ALLOW: 0,
};
export const engineRef = moduleRef(5, "policy", "evaluate");

export interface PolicyEngine {
  readonly rules: readonly PolicyRule[];
  readonly version: string;
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  /** `limits.maxPolicyRounds`. */
  readonly maxRounds?: number;
}

/** A rule that matched, and its answer as it was read. */
export interface Matched {
  readonly rule: PolicyRule;
  readonly answer: z.output<typeof RuleAnswer>;
}

/**
 * Evaluates the rules of the question's stage once, and freezes the question. It is synchronous if all rules are.
 * Redactions that are in force already need no place: the payload may have been masked or transformed since.
 */
export function evaluateRound(
  engine: PolicyEngine,
  question: PolicyQuestion,
  inForce: readonly string[],
): Evaluated | Promise<Evaluated> {
  const { at, unmatched } = known.get(engine) ?? know(engine);
  deepFreeze(question);
  const matched: (readonly Matched[] | Promise<readonly Matched[]>)[] = [];
  for (const rule of at[question.stage]) {
    const answers = ask(rule, question);
    if (answers !== none) matched.push(answers);
  }
  if (matched.length === 0) return unmatched;
  const on = { payload: question.subject.payload, inForce, version: engine.version };
  const conclude = (all: readonly (readonly Matched[])[]): Evaluated => {
    const some = all.flat();
    return some.length === 0 ? unmatched : combine(some, on);
  };
  return matched.some(isPromise) ? Promise.all(matched).then(conclude) : conclude(matched as (readonly Matched[])[]);
}

/** The answers of a rule that does not match. */
const none: readonly Matched[] = [];

/** The decision of a round, and the rules that transformed or masked the payload in it. */
export interface Evaluated {
  readonly decision: PolicyDecision;
  readonly changers: readonly string[];
}

/** A rule and how long it may take; an engine without a clock waits. */
interface Limited {
  readonly rule: PolicyRule;
  readonly within: Within | null;
  /** The names of all rules of the engine, which no policy has that a rule stands for. */
  readonly taken: ReadonlySet<string>;
}

/** The facts that all questions of an engine share. */
interface EngineFacts {
  readonly at: Readonly<Record<PolicyStage, readonly Limited[]>>;
  readonly unmatched: Evaluated;
}

const known = new WeakMap<PolicyEngine, EngineFacts>();

function know(engine: PolicyEngine): EngineFacts {
  const { rules, clock, timeoutMs = 5000, version } = engine;
  const taken = new Set(rules.map(({ name }) => name));
  const limited = rules.map((rule): Limited => {
    const within = clock === undefined ? null : limitOf(rule, clock, timeoutMs);
    return { rule, within, taken };
  });
  const at = (stage: PolicyStage) => limited.filter(({ rule }) => rule.stages.includes(stage));
  const made: EngineFacts = {
    at: { plan: at("plan"), action: at("action"), outcome: at("outcome"), gate: at("gate") },
    unmatched: deepFreeze({
      decision: {
        decision: "ALLOW",
        reason: "no rule matched",
        transform: null,
        redactions: [],
        policies: [],
        policy_version: version,
      },
      changers: [],
    }),
  };
  known.set(engine, made);
  return made;
}

function ask(limited: Limited, question: PolicyQuestion): readonly Matched[] | Promise<readonly Matched[]> {
  const { rule, within } = limited;
  try {
    const answer = within === null ? rule.evaluate(question) : callWithin(() => rule.evaluate(question), within);
    if (!isPromise(answer)) return readReply(limited, answer, question);
    // An object with a `then` need not be a complete promise.
    return Promise.resolve(answer)
      .then((reply) => readReply(limited, reply, question))
      .catch((thrown: unknown) => [denied(rule, messageOf(thrown))]);
  } catch (thrown) {
    return [denied(rule, messageOf(thrown))];
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

function readReply(limited: Limited, reply: RuleReply, question: PolicyQuestion): readonly Matched[] {
  if (reply === null || reply === undefined) return none;
  if (!Array.isArray(reply)) return [readAnswer(limited.rule, reply as RuleAnswer, question)];
  return reply.map((one: NamedAnswer) => readNamed(limited, one, question));
}

/** Reads the answer of one of the policies that a rule stands for, as that of a rule of its name. */
function readNamed({ rule, taken }: Limited, named: NamedAnswer, question: PolicyQuestion): Matched {
  const parsed = NamedAnswer.safeParse(named);
  if (!parsed.success) return denied(rule, `it answered what is no decision: ${z.prettifyError(parsed.error)}`);
  const { policy, lifts, ...answer } = parsed.data;
  if (taken.has(policy)) return denied(rule, `its policy ${policy} has the name of a rule`);
  if (lifts !== undefined && question.stage !== "action")
    return denied(rule, `its policy ${policy} lifts ${lifts}, which stands at stage action alone`);
  const { stages, evaluate } = rule;
  return readAnswer({ name: policy, stages, evaluate, ...(lifts !== undefined && { lifts }) }, answer, question);
}

function readAnswer(rule: PolicyRule, answer: RuleAnswer, { stage, subject }: PolicyQuestion): Matched {
  const parsed = RuleAnswer.safeParse(answer);
  if (!parsed.success) return denied(rule, `it answered what is no decision: ${z.prettifyError(parsed.error)}`);
  const { decision, transform, redactions } = parsed.data;
  if (!decisionsAt[stage].includes(decision)) return denied(rule, `${decision} cannot be honoured at stage ${stage}`);
  if (redactions.length > 0 && decision !== "DENY" && !decisionsAt[stage].includes("ALLOW_WITH_REDACTION"))
    return denied(rule, `redactions cannot be honoured at stage ${stage}`);
  if (rule.lifts !== undefined && decision !== "DENY" && !liftingDecisions.includes(decision))
    return denied(rule, `a rule that lifts ${rule.lifts} answers ALLOW or REQUIRE_HUMAN_APPROVAL, not ${decision}`);
  if (parsed.data.confirm !== undefined && decision !== "REQUIRE_HUMAN_APPROVAL")
    return denied(rule, `confirm needs REQUIRE_HUMAN_APPROVAL, not ${decision}`);
  if (parsed.data.confirm !== undefined && stage !== "action")
    return denied(rule, `confirm cannot be honoured at stage ${stage}`);
  const changes = decision === "TRANSFORM";
  if (transform !== null && !changes && decision !== "DENY")
    return denied(rule, `a transform needs TRANSFORM, not ${decision}`);
  if (transform === null && changes && subject.payload !== null) return denied(rule, "TRANSFORM needs a transform");
  if (transform === null) return { rule, answer: parsed.data };
  try {
    return { rule, answer: { ...parsed.data, transform: toJson(transform) } };
  } catch (thrown) {
    return denied(rule, `its transform is no JSON: ${messageOf(thrown)}`);
  }
}

const denied = (rule: PolicyRule, why: string): Matched => ({
  rule,
  answer: {
    decision: "DENY",
    reason: `policy ${rule.name} failed, which denies: ${why}`,
    transform: null,
    redactions: [],
  },
});

/** The subject of the answers of a round. */
interface Judged {
  readonly payload: Json;
  readonly inForce: readonly string[];
  readonly version: string;
}

/** Combines the answers of the rules that matched, of which there is at least one. */
function combine(all: readonly Matched[], on: Judged): Evaluated {
  const { standing: matched, lifts } = separateLifted(all);
  const changes = matched.filter((m) => m.answer.decision === "TRANSFORM");
  const winner = matched.reduce((best, m) => (rank[m.answer.decision] > rank[best.answer.decision] ? m : best));
  const base = {
    policies: namesOf(matched),
    ...(lifts.length > 0 && { lifts }),
    policy_version: on.version,
  };
  const { decision, reason } = winner.answer;
  const deny = (by: string, why: string): Evaluated => ({
    decision: { decision: "DENY", reason: why, decided_by: by, transform: null, redactions: [], ...base },
    changers: [],
  });
  if (decision === "DENY") return deny(winner.rule.name, reason);
  const transform = changes[0]?.answer.transform ?? null;
  const other = changes.slice(1).find((m) => digest(m.answer.transform) !== digest(transform));
  if (other !== undefined) return deny(other.rule.name, disagreement(changes[0] as Matched, other));
  const lost = findLost(matched, { ...on, transform });
  if (lost !== null) return deny(lost.name, `policy ${lost.name} failed, which denies: ${lost.why}`);
  const redactions = [...new Set(matched.flatMap((m) => m.answer.redactions))];
  const confirm = strictestConfirm(matched.map((m) => m.answer.confirm));
  const changers = matched.filter((m) => m.answer.transform !== null || m.answer.redactions.length > 0);
  return {
    decision: {
      decision,
      reason,
      decided_by: winner.rule.name,
      transform: redact(transform, redactions),
      redactions,
      ...(confirm !== undefined && { confirm }),
      ...base,
    },
    changers: namesOf(changers),
  };
}

const namesOf = (matched: readonly Matched[]): string[] => [...new Set(matched.map(({ rule }) => rule.name))];

const disagreement = (one: Matched, other: Matched): string =>
  `policies ${one.rule.name} and ${other.rule.name} transform the payload differently, which denies`;

/** Finds the first rule whose redaction has no place in the payload, nor in what transforms make of it. */
function findLost(
  matched: readonly Matched[],
  { payload, transform, inForce }: Judged & { readonly transform: Json },
): { readonly name: string; readonly why: string } | null {
  const isFound = (path: string): boolean =>
    inForce.includes(path) || hasPlace(payload, path) || hasPlace(transform, path);
  for (const { rule, answer } of matched) {
    const path = answer.redactions.find((one) => !isFound(one));
    if (path !== undefined) return { name: rule.name, why: `the payload has no place for the redaction ${path}` };
  }
  return null;
}
