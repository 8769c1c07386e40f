/**
 * Policy rules written as data (a YAML or JSON file): the members of such a rule, and the combinations that are
 * refused. `definePolicySet` makes rules of it. `src/guide/policies.md` describes the form with an example.
 *
 * 1.  An unknown field is refused, because a rule without its misspelt condition would hold for everything.
 * 2.  A rule that could never hold, or whose answer its stage cannot honour, is refused.
 * 3.  A rule that lifts a default rule names its operators in full, so that it does not lift the rule for operators
 *     that are installed later.
 */
import { z } from "zod";
import { gateConfirms } from "./gate-status.ts";
import { JsonValue } from "./json.ts";
import { Effect } from "./operator.ts";
import { DecisionWord, decisionsAt, defaultRuleNames, liftingDecisions, PolicyStage } from "./policy.ts";
import { RiskLevel } from "./risk-level.ts";

const ShortText = z.string().min(1).max(256);
const ShortTexts = z.array(ShortText).min(1);
/** A name, or with a star at its end the beginning of one. */
const Names = z.array(ShortText.regex(/^[^*]*\*?$/, "a star stands at the end, or it would never fit")).min(1);
/**
 * The path of a field in a payload, `a.b.0.c`; `*` stands for every item of a list. No payload has a field `__proto__`.
 */
const Path = z
  .string()
  .regex(/^[^.]+(\.[^.]+)*$/, "it must be names joined by dots, such as order.total")
  .refine((path) => !path.split(".").includes("__proto__"), "no payload has a field __proto__");
const Ids = z.array(z.union([ShortText, z.int()])).min(1);
const Bound = z.number().optional();

/** ShortTexts of which one, all, or none must be present. */
const WordChoice = z
  .strictObject({ any: ShortTexts.optional(), all: ShortTexts.optional(), none: ShortTexts.optional() })
  .superRefine((choice, { addIssue }) => {
    if (Object.keys(choice).length === 0) addIssue("it names nothing");
    const wanted = [...(choice.any ?? []), ...(choice.all ?? [])];
    const both = wanted.find((word) => choice.none?.includes(word));
    if (both !== undefined) addIssue(`${both} is asked for and ruled out at once`);
  });

export const AmountCondition = z
  .strictObject({ path: Path, above: Bound, at_least: Bound, below: Bound, at_most: Bound })
  .superRefine((bounds, { addIssue }) => {
    const { above, at_least, below, at_most } = bounds;
    const given = [above, at_least, below, at_most].filter((bound) => bound !== undefined);
    if (given.length === 0) addIssue("it needs a bound: above, at_least, below or at_most");
    if (above !== undefined && at_least !== undefined) addIssue("above and at_least are one bound said twice");
    if (below !== undefined && at_most !== undefined) addIssue("below and at_most are one bound said twice");
    if (isEmptyRange([bounds])) addIssue(`nothing lies between ${at_least ?? above} and ${at_most ?? below}`);
  });
export type AmountCondition = z.infer<typeof AmountCondition>;

const Scalar = z.union([
  ShortText.regex(/^[^*]*\*?$/, "a star stands at the end, or it would never fit"),
  z.number(),
  z.boolean(),
]);
const Scalars = z.array(Scalar).min(1);

/** Values of a field of the payload, of which it is one, or none; a text may end with a star. */
export const ValueCondition = z
  .strictObject({ path: Path, any: Scalars.optional(), none: Scalars.optional() })
  .refine(({ any, none }) => any !== undefined || none !== undefined, "it needs any or none");
export type ValueCondition = z.infer<typeof ValueCondition>;

type Bounds = Omit<AmountCondition, "path">;

/** Returns whether no number is within all of these bounds. */
function isEmptyRange(all: readonly Bounds[]): boolean {
  const from = Math.max(...all.map(({ above, at_least }) => at_least ?? above ?? Number.NEGATIVE_INFINITY));
  const to = Math.min(...all.map(({ below, at_most }) => at_most ?? below ?? Number.POSITIVE_INFINITY));
  return from > to || (from === to && all.some(({ above, below }) => above === from || below === to));
}

/** Several conditions on one field must leave a number; of a list's items each may be met by another. */
const Amounts = z
  .array(AmountCondition)
  .min(1)
  .superRefine((amounts, { addIssue }) => {
    for (const [path, same] of Map.groupBy(amounts, (amount) => amount.path))
      if (same.length > 1 && !path.split(".").includes("*") && isEmptyRange(same))
        addIssue(`no number ${path} is within all of its bounds`);
  });

/** Days by the number JavaScript gives them. */
export const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;
const TimeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'it must be a time of day such as "06:30"');

export const TimeCondition = z
  .strictObject({
    between: z.tuple([TimeOfDay, TimeOfDay]).optional(),
    days: z.array(z.enum(weekdays)).min(1).optional(),
    zone: z.string().refine(isZone, "it must be a time zone such as Europe/Vienna").default("UTC"),
  })
  .superRefine(({ between, days }, { addIssue }) => {
    if (between === undefined && days === undefined) addIssue("it needs between or days");
    if (between !== undefined && between[0] === between[1]) addIssue(`nothing lies between ${between.join(" and ")}`);
  });
export type TimeCondition = z.infer<typeof TimeCondition>;

function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }) !== null;
  } catch {
    return false;
  }
}

/** The conditions of a rule; all that are given must hold. */
export const PolicyConditions = z.strictObject({
  tags: WordChoice.optional(),
  effects: z.array(Effect).min(1).optional(),
  /** Names, or the beginning of names: `Mail.*`. */
  operators: Names.optional(),
  intents: Names.optional(),
  /** Names of schedules, or the beginning of names: work that was submitted by one of them. */
  schedules: Names.optional(),
  roles: WordChoice.optional(),
  risk: z.array(RiskLevel).min(1).optional(),
  amounts: Amounts.optional(),
  /** Values of fields of the payload: texts, or the beginning of texts, numbers, yes and no. */
  values: z.array(ValueCondition).min(1).optional(),
  times: TimeCondition.optional(),
  tenants: Ids.optional(),
  principals: Ids.optional(),
});
export type PolicyConditions = z.infer<typeof PolicyConditions>;

/** The change of the payload: fields that get a value, fields that are removed. */
export const PayloadChange = z
  .strictObject({ set: z.record(Path, JsonValue).optional(), remove: z.array(Path).min(1).optional() })
  .refine(({ set = {}, remove = [] }) => Object.keys(set).length + remove.length > 0, "it changes nothing");
export type PayloadChange = z.infer<typeof PayloadChange>;

/** Conditions on facts that a subject of that stage lacks: they would never hold. */
const lackingAt: Readonly<Record<PolicyStage, readonly (keyof PolicyConditions)[]>> = {
  plan: ["effects", "operators", "risk", "amounts", "values"],
  action: [],
  outcome: ["effects"],
  gate: [],
};

const RuleFields = z.strictObject({
  name: ShortText,
  stages: z.array(PolicyStage).min(1),
  when: PolicyConditions.default({}),
  decision: DecisionWord,
  /** The default rule that this rule replaces. */
  lifts: z.enum(defaultRuleNames).optional(),
  reason: z.string().min(1).max(4096),
  redactions: z.array(Path).min(1).optional(),
  transform: PayloadChange.optional(),
  /** The care that faces take before they send an approval. */
  confirm: z.enum(gateConfirms).optional(),
});
export type RuleData = z.infer<typeof RuleFields>;

type Complain = (field: string, message: string) => void;

const RuleData = RuleFields.superRefine((rule, { addIssue }) => {
  const complain: Complain = (field, message) =>
    addIssue({ code: "custom", path: field.split("."), message, input: rule });
  complainOfStages(rule, complain);
  complainOfAnswer(rule, complain);
  complainOfLift(rule, complain);
  const { all = [] } = rule.when.roles ?? {};
  if (all.length > 0) complain("when.roles.all", "a person has one role; say any");
});

function complainOfStages({ stages, when, decision }: RuleData, complain: Complain): void {
  for (const stage of stages) {
    if (!decisionsAt[stage].includes(decision)) complain("stages", `${decision} cannot be honoured at stage ${stage}`);
    for (const field of lackingAt[stage])
      if (when[field] !== undefined) complain(`when.${field}`, `what is judged at stage ${stage} has none`);
  }
}

function complainOfAnswer({ stages, decision, transform, redactions, confirm }: RuleData, complain: Complain): void {
  if (confirm !== undefined && decision !== "REQUIRE_HUMAN_APPROVAL")
    complain("confirm", `only REQUIRE_HUMAN_APPROVAL has confirm, not ${decision}`);
  if (confirm !== undefined && stages.some((stage) => stage !== "action"))
    complain("confirm", "a rule that has confirm is asked at action alone");
  const needs = (field: "transform" | "redactions", given: unknown, word: RuleData["decision"]): void => {
    if (decision === word && given === undefined) complain(field, `${word} needs ${field}`);
    if (decision !== word && given !== undefined) complain(field, `only ${word} has ${field}, not ${decision}`);
  };
  needs("transform", transform, "TRANSFORM");
  needs("redactions", redactions, "ALLOW_WITH_REDACTION");
}

function complainOfLift({ lifts, stages, when, decision }: RuleData, complain: Complain): void {
  if (lifts === undefined) return;
  if (stages.some((stage) => stage !== "action"))
    complain("stages", `a rule that lifts ${lifts} is asked at action alone`);
  if (!liftingDecisions.includes(decision))
    complain("decision", `a rule that lifts ${lifts} says ALLOW or REQUIRE_HUMAN_APPROVAL, not ${decision}`);
  if (when.operators === undefined) complain("when.operators", `a rule that lifts ${lifts} names its operators`);
  else if (when.operators.some((name) => name.endsWith("*")))
    complain("when.operators", `a rule that lifts ${lifts} names each operator in full, without a star`);
}

/** A set of rules with the version that every decision names. */
export const PolicySet = z
  .strictObject({ version: z.string().min(1).max(128), rules: z.array(RuleData).min(1) })
  .superRefine(({ rules }, { addIssue }) => {
    const seen = new Set<string>();
    for (const [index, { name }] of rules.entries()) {
      if (seen.has(name))
        addIssue({
          code: "custom",
          path: ["rules", index, "name"],
          message: "another rule has this name",
          input: name,
        });
      seen.add(name);
    }
  });
export type PolicySet = z.infer<typeof PolicySet>;
