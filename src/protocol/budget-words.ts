/** Budgets in words: what a ceiling limits, what is used of it, and since when. */
import type { ListedBudget } from "../contract/budget-page.ts";

type Field = keyof ListedBudget["ceiling"];

const fieldWords: Readonly<Record<Field, string>> = {
  tokens: "model tokens",
  money: "money",
  invocations: "calls",
  wall_ms: "milliseconds",
  cost: "cost units",
  cpu_time: "processor time",
  memory_bytes: "bytes of memory",
  network_bytes: "bytes of network",
};

const countedFields = ["tokens", "money", "invocations", "wall_ms"] as const;

const windowWords: Readonly<Record<ListedBudget["window"], string>> = {
  total: "in all",
  month: "a month",
  day: "a day",
  hour: "an hour",
  run: "in each run",
};

export const tellAmount = (n: number): string => n.toLocaleString("en", { maximumFractionDigits: 6 });

/** One limited amount of a ceiling. */
export interface LimitedAmount {
  readonly words: string;
  readonly most: number;
  /** Null if it is not counted over workflows. */
  readonly used: number | null;
}

/** Returns the amounts that a ceiling limits, each with what is used of it. */
export const limitedAmounts = ({ ceiling, used }: ListedBudget): readonly LimitedAmount[] =>
  (Object.keys(fieldWords) as Field[]).flatMap((field) => {
    const most = ceiling[field];
    if (most === undefined) return [];
    const counted = countedFields.find((one) => one === field);
    return [{ words: fieldWords[field], most, used: counted === undefined || used === null ? null : used[counted] }];
  });

/** Returns an amount in words: `200 of 450 model tokens`, or `450 model tokens` where nothing is counted. */
export const tellLimited = ({ words, most, used }: LimitedAmount): string =>
  `${used === null ? "" : `${tellAmount(used)} of `}${tellAmount(most)} ${words}`;

/** Returns the period that a ceiling holds for, in words: `a day`. */
export const tellWindow = ({ window }: ListedBudget): string => windowWords[window];
