/**
 * `present` of operators and capabilities: how their calls and requests are shown to people.
 *
 * Owns: the check of the options, and the function that they become. Never: bounds what it gives; the kernel does.
 */
import { z } from "zod";
import { hostFunction } from "../contract/host-object.ts";
import type { Json } from "../contract/json.ts";
import type { ShapeOf } from "../contract/known-keys.ts";
import type { Operator } from "../contract/operator.ts";
import { CurrencyCode, type FactFormat, factFormats, maxFacts } from "../contract/present.ts";
import { valuesAt } from "./payload-path.ts";

/** A fact of a call as its operator declares it. A value that is missing, null or empty leaves the fact out. */
export interface FactOptions<I> {
  /** The name of the fact, such as `Amount`. */
  readonly label: string;
  /** The dotted path of the value in the input (`*` for each item of a list), or a pure function of the input. */
  readonly value: string | ((input: I) => unknown);
  /** The way in which the value is shown; `text` by default. */
  readonly format?: FactFormat;
  /** The currency of `money`: a code such as `EUR`, or a pure function of the input. */
  readonly currency?: string | ((input: I) => string);
  /** Whether the fact is summed where several gates are shown together; only of `money`. */
  readonly total?: boolean;
  /** The meaning of the fact, in a sentence. */
  readonly about?: string;
}

/** The presentation of the calls of an operator. */
export interface PresentOptions<I> {
  /** The title of a gate about the call, in place of the name of the step: a pure function of the input. */
  readonly title?: (input: I) => string;
  /** One line that says what the call is: a pure function of the input. */
  readonly summary?: (input: I) => string;
  /** The facts that people decide by, the most important first; at most 24. */
  readonly facts?: readonly FactOptions<I>[];
}

/** The presentation of the requests of a capability. */
export interface CapabilityPresent<I> {
  /** The title of a run: a pure function of the input. */
  readonly title: (input: I) => string;
}

const fn = hostFunction<never>();
const FactShape = z
  .strictObject({
    label: z.string().min(1).max(80),
    value: z.union([z.string().min(1), fn], { error: "must be a path or a function" }),
    format: z.enum(factFormats).optional(),
    currency: z.union([CurrencyCode, fn], { error: "must be a code such as EUR, or a function" }).optional(),
    total: z.boolean().optional(),
    about: z.string().max(200).optional(),
  } satisfies ShapeOf<FactOptions<unknown>>)
  .superRefine(({ format, currency, total }, { addIssue }) => {
    if (format === "money") return;
    if (currency !== undefined) addIssue({ code: "custom", path: ["currency"], message: "only money has a currency" });
    if (total === true) addIssue({ code: "custom", path: ["total"], message: "only money is summed" });
  });

/** The options of `present` of an operator. */
export const PresentShape = z.strictObject({
  title: fn.optional(),
  summary: fn.optional(),
  facts: z.array(FactShape).max(maxFacts).optional(),
} satisfies ShapeOf<PresentOptions<unknown>>);

/** A fact whose value is at a path of the input. */
export interface FactPath {
  readonly label: string;
  readonly path: string;
}

/** A function that presents a call, with the paths that its facts name. */
type Presenter<I> = ((input: I) => unknown) & { readonly paths: readonly FactPath[] };

/** Returns the paths that the facts of a presentation name; none of a function that was not made from options. */
export const pathsOf = (present: object): readonly FactPath[] =>
  "paths" in present ? (present as Presenter<never>).paths : [];

/** Binds a function that presents a call to its operator, with the paths that its facts name. */
export const bindPresenter = (present: NonNullable<Operator["present"]>, to: Operator): Operator["present"] =>
  Object.assign(present.bind(to), { paths: pathsOf(present) });

/** Returns the function that presents a call by these options. */
export function presenterOf<I>(options: PresentOptions<I>): Presenter<I> {
  const { facts = [] } = options;
  const paths = facts.flatMap(({ label, value }) => (typeof value === "string" ? [{ label, path: value }] : []));
  return Object.assign(makePresenter(options), { paths: Object.freeze(paths) });
}

function makePresenter<I>({ title, summary, facts = [] }: PresentOptions<I>): (input: I) => unknown {
  return (input) => ({
    title: title?.(input),
    summary: summary?.(input),
    facts: facts.map(({ value, currency, ...fact }) => ({
      ...fact,
      value: typeof value === "function" ? value(input) : readPath(input as Json, value, fact.format),
      currency: typeof currency === "function" ? currency(input) : currency,
    })),
  });
}

function readPath(input: Json, path: string, format: FactFormat | undefined): unknown {
  const values = valuesAt(input, path).filter((value) => value !== undefined && value !== null);
  return format === "list" ? values.flat() : values[0];
}
