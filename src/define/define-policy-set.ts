/**
 * Makes ordinary rules of a set of policy rules written as data, after checking it as a whole.
 *
 * 1.  A set with any error gives no rule at all; the error names rule and field of every problem.
 * 2.  All conditions of a rule must hold. A condition on a missing fact (an amount that is absent or no number, an
 *     effect that is not stated) counts as holding if the rule restricts, and as not holding if it allows or lifts a
 *     default rule.
 * 3.  Times are those of the question's `now`; no clock is read here.
 */
import type { z } from "zod";
import { kernelError } from "../contract/error-codes.ts";
import { isPlainObject, type Json, type JsonObject, toSafeJson } from "../contract/json.ts";
import { raise } from "../contract/kernel-error.ts";
import { explainKeys } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { PolicyQuestion, PolicyRule, RuleAnswer, RuleSet } from "../contract/policy.ts";
import {
  type AmountCondition,
  type PayloadChange,
  type PolicyConditions,
  PolicySet,
  type RuleData,
  type TimeCondition,
  type ValueCondition,
  type weekdays,
} from "../contract/policy-set.ts";
import { valuesAt, withField, withoutField } from "./payload-path.ts";

/**
 * Rules written as plain data, checked as a whole; one version names them all.
 * @throws KernelErrorException T5_POLICY_INVALID, its detail listing rule, field and problem of each mistake.
 */
export function definePolicySet(data: unknown): RuleSet {
  const plain = toPlain(data);
  const parsed = PolicySet.safeParse(plain, { error: explainKeys });
  if (!parsed.success) return refuseSet(parsed.error.issues.flatMap((issue) => problemsOf(plain, issue)));
  const { version, rules } = parsed.data;
  return Object.freeze({ version, rules: Object.freeze(rules.map(compileRule)) });
}

/**
 * Returns a copy that cannot change later. Data that would lose a condition in the copy is refused, because the rule
 * would then hold for everything.
 */
function toPlain(data: unknown): Json {
  try {
    const plain = toSafeJson(data);
    if (!isData(data)) throw new Error("it holds what is neither a plain object nor a list");
    return plain;
  } catch (thrown) {
    return refuseSet([{ rule: null, field: "set", problem: `it is no JSON: ${(thrown as Error).message}` }]);
  }
}

function isData(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isData);
  return isPlainObject(value) && Object.values(value).every(isData);
}

function refuseSet(problems: readonly Problem[]): never {
  const list = problems.map(
    ({ rule, field, problem }) => `${rule === null ? "" : `rule ${rule}, `}${field}: ${problem}`,
  );
  raise(
    kernelError("T5_POLICY_INVALID", `policy set: ${list.join("; ")}`, moduleRef(5, "policy", "define_policy_set"), {
      detail: { problems },
    }),
  );
}

interface Problem extends JsonObject {
  readonly rule: string | null;
  readonly field: string;
  readonly problem: string;
}

/** Returns one problem per field: each unknown field is named. */
function problemsOf(data: unknown, issue: z.core.$ZodIssue): readonly Problem[] {
  const isInRule = issue.path[0] === "rules" && issue.path.length > 1;
  const rule = isInRule ? nameOf(data, issue.path[1] as number) : null;
  const path = isInRule ? issue.path.slice(2) : issue.path;
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key, i) => ({
      rule,
      field: [...path, key].join("."),
      problem: issue.message.split("\n")[i] as string,
    }));
  return [{ rule, field: path.join(".") || (rule === null ? "set" : "rule"), problem: issue.message }];
}

/** Returns a rule's name, or its index in the list if it has none. */
function nameOf(data: unknown, index: number): string {
  const name = (data as { readonly rules: readonly (Partial<RuleData> | null)[] }).rules[index]?.name;
  return typeof name === "string" && name !== "" ? name : `#${index + 1}`;
}

function compileRule({
  name,
  stages,
  when,
  decision,
  reason,
  redactions = [],
  transform,
  confirm,
  lifts,
}: RuleData): PolicyRule {
  const judges = conditionsOf(when);
  const restricts = decision !== "ALLOW" && lifts === undefined;
  const evaluate = (question: PolicyQuestion): RuleAnswer | null => {
    if (!judges.every((judge) => judge(question) ?? restricts)) return null;
    const changed = transform === undefined ? null : changePayload(question.subject.payload, transform);
    return {
      decision,
      reason,
      redactions: [...redactions],
      transform: changed,
      ...(confirm !== undefined && { confirm }),
    };
  };
  return Object.freeze({ name, stages: Object.freeze([...stages]), ...(lifts !== undefined && { lifts }), evaluate });
}

/** Returns whether a condition holds; null if the question lacks the fact. */
type Judge = (question: PolicyQuestion) => boolean | null;

const judgeMakers: {
  readonly [C in keyof Required<PolicyConditions>]: (wanted: NonNullable<PolicyConditions[C]>) => Judge;
} = {
  tags:
    (wanted) =>
    ({ subject }) =>
      choiceHolds(wanted, subject.tags),
  effects:
    (wanted) =>
    ({ subject }) =>
      isAmong(wanted, subject.effect),
  operators:
    (wanted) =>
    ({ subject }) =>
      fitsName(wanted, subject.operator),
  intents:
    (wanted) =>
    ({ intent }) =>
      fitsName(wanted, intent.type),
  schedules:
    (wanted) =>
    ({ intent }) =>
      intent.schedule !== undefined && fitsName(wanted, intent.schedule.name),
  roles:
    (wanted) =>
    ({ auth }) =>
      choiceHolds(wanted, [auth.role]),
  risk:
    (wanted) =>
    ({ subject }) =>
      isAmong(wanted, subject.risk_level),
  amounts:
    (wanted) =>
    ({ subject }) =>
      allHold(wanted.map((amount) => amountHolds(amount, subject.payload))),
  values:
    (wanted) =>
    ({ subject }) =>
      allHold(wanted.map((value) => valueHolds(value, subject.payload))),
  times: (wanted) => judgeTime(wanted),
  tenants:
    (wanted) =>
    ({ auth }) =>
      wanted.includes(auth.tenant_id),
  principals:
    (wanted) =>
    ({ auth }) =>
      wanted.includes(auth.principal_id),
};

const conditionsOf = (when: PolicyConditions): readonly Judge[] =>
  Object.entries(when).flatMap(([condition, wanted]) =>
    wanted === undefined
      ? []
      : [(judgeMakers[condition as keyof PolicyConditions] as (wanted: unknown) => Judge)(wanted)],
  );

const isAmong = (wanted: readonly string[], given: string | undefined): boolean | null =>
  given === undefined ? null : wanted.includes(given);

const choiceHolds = (
  { any, all = [], none = [] }: NonNullable<PolicyConditions["tags"]>,
  given: readonly string[],
): boolean =>
  (any === undefined || any.some((word) => given.includes(word))) &&
  all.every((word) => given.includes(word)) &&
  !none.some((word) => given.includes(word));

function fitsName(wanted: readonly string[], given: string | undefined): boolean | null {
  if (given === undefined) return null;
  return wanted.some((name) => (name.endsWith("*") ? given.startsWith(name.slice(0, -1)) : given === name));
}

/** Returns false if one is false, else null if one is not known. */
function allHold(held: readonly (boolean | null)[]): boolean | null {
  if (held.includes(false)) return false;
  return held.includes(null) ? null : true;
}

/**
 * Returns whether an amount is within the bounds. Of several values (`items.*.price`) one is enough, and one that is no
 * number leaves it open.
 */
function amountHolds({ path, ...bounds }: AmountCondition, payload: Json): boolean | null {
  const held = valuesAt(payload, path).map((value) => (typeof value === "number" ? isWithin(value, bounds) : null));
  if (held.includes(true)) return true;
  return held.length === 0 || held.includes(null) ? null : false;
}

/**
 * Returns whether a field has one of the values of `any` and none of those of `none`. Of several values (`items.*.sku`)
 * one that is wanted is enough, and one that is ruled out is too many. A field that is missing leaves it open.
 */
function valueHolds({ path, any, none = [] }: ValueCondition, payload: Json): boolean | null {
  const given = valuesAt(payload, path);
  if (given.length === 0) return null;
  const isOne = (wanted: readonly (string | number | boolean)[]): boolean =>
    given.some((value) => wanted.some((one) => fitsValue(one, value)));
  return (any === undefined || isOne(any)) && !isOne(none);
}

const fitsValue = (wanted: string | number | boolean, given: Json | undefined): boolean =>
  typeof wanted === "string" && wanted.endsWith("*")
    ? typeof given === "string" && given.startsWith(wanted.slice(0, -1))
    : wanted === given;

const isWithin = (value: number, { above, at_least, below, at_most }: Omit<AmountCondition, "path">): boolean =>
  (above === undefined || value > above) &&
  (at_least === undefined || value >= at_least) &&
  (below === undefined || value < below) &&
  (at_most === undefined || value <= at_most);

function judgeTime({ between, days, zone }: TimeCondition): Judge {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  return ({ now }) => {
    const parts = new Map(format.formatToParts(Date.parse(now)).map(({ type, value }) => [type, value]));
    const day = parts.get("weekday")?.toLowerCase() as (typeof weekdays)[number];
    return (
      (days === undefined || days.includes(day)) &&
      (between === undefined || isBetween(between, `${parts.get("hour")}:${parts.get("minute")}`))
    );
  };
}

/**
 * Returns whether a time is in a range: from its first minute on, up to the second; over midnight if the first is the
 * later one.
 */
const isBetween = ([from, to]: readonly [string, string], time: string): boolean =>
  from < to ? from <= time && time < to : from <= time || time < to;

function changePayload(payload: Json, { set = {}, remove = [] }: PayloadChange): Json {
  const without = remove.reduce<Json>(withoutField, payload);
  return Object.entries(set).reduce<Json>((at, [path, value]) => withField(at, path, value as Json), without);
}
