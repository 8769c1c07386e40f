/** The words for a condition of a step, one line for people: `{{look.output.total}} is above 1000`. */
import type { Condition } from "../contract/condition.ts";
import type { Json } from "../contract/json.ts";

const nameValue = (value: Json): string =>
  typeof value === "string" && value.startsWith("{{") ? value : JSON.stringify(value);

/** Returns the tests of a condition that are about its value, each as the end of a sentence. */
function tellTests({ above, at_least, below, at_most, equals, one_of, exists }: Condition): readonly string[] {
  return [
    ...(above === undefined ? [] : [`is above ${above}`]),
    ...(at_least === undefined ? [] : [`is ${at_least} or more`]),
    ...(below === undefined ? [] : [`is below ${below}`]),
    ...(at_most === undefined ? [] : [`is ${at_most} or less`]),
    ...(equals === undefined ? [] : [`is ${nameValue(equals)}`]),
    ...(one_of === undefined ? [] : [`is one of ${one_of.map(nameValue).join(", ")}`]),
    ...(exists === undefined ? [] : [exists ? "is there" : "is not there"]),
  ];
}

const inBrackets = (condition: Condition): string => `(${tellCondition(condition)})`;

/** Returns what a condition says. Every part that is given must hold. */
export function tellCondition(condition: Condition): string {
  const { value, all = [], any, not } = condition;
  const parts = [
    ...(value === undefined ? [] : [`${nameValue(value)} ${tellTests(condition).join(" and ")}`]),
    ...all.map((one) => (all.length === 1 ? tellCondition(one) : inBrackets(one))),
    ...(any === undefined ? [] : [any.map(inBrackets).join(" or ")]),
    ...(not === undefined ? [] : [`not ${inBrackets(not)}`]),
  ];
  return parts.join(" and ");
}
