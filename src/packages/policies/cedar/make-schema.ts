/**
 * The schema of a host, made from its operators: an action for each of them, with the type of its payload.
 *
 * 1.  A payload has the type that its operator's schema gives it once it is parsed: defaults are there.
 * 2.  An operator whose payload has no type in Cedar is refused with every place that has none, unless it is left out;
 *     calls of one that is left out are denied.
 * 3.  Equal operators give equal text, in the order of their names.
 */
import { z } from "zod";
import type { CapabilityDefinition } from "../../../contract/capability.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { readStrictly } from "../../../contract/known-keys.ts";
import type { Operator } from "../../../contract/operator.ts";
import { PolicyStage } from "../../../contract/policy.ts";
import { payloadSchemaOf, schemaOf } from "../../../define/describe-capability.ts";
import type { PolicyProblem } from "../refuse-policies.ts";
import { baseTypes } from "./base-schema.ts";
import { cedarLanguage, refuseBundle } from "./cedar-problem.ts";
import { cedarTypeOf, type UntypedPlace } from "./schema-type.ts";

const anOperator = z.custom<Operator>(
  (value) => typeof value === "object" && value !== null && "metadata" in value && "input" in value,
  "must be an operator",
);
const aCapability = z.custom<CapabilityDefinition>(
  (value) => typeof value === "object" && value !== null && "operators" in value && "outcomes" in value,
  "must be a capability",
);

const Options = z.strictObject({
  /** The capabilities whose operators and outcomes are declared. */
  capabilities: z.array(aCapability).readonly().default([]),
  /** Operators that capabilities only name. */
  operators: z.array(anOperator).readonly().default([]),
  /** The stages at which the policies are asked: `gate` declares decisions of people, `outcome` drafts. */
  stages: z.array(PolicyStage).min(1).readonly().default(["action"]),
  /** The names of operators that are left out, so that their calls are denied. */
  without: z.array(z.string()).readonly().default([]),
});
/** The options of `cedarSchema`. */
export interface CedarSchemaOptions extends Readonly<z.input<typeof Options>> {}

/** An action with the type of its payload. */
interface Declared {
  readonly action: string;
  readonly groups: readonly string[];
  readonly type: string;
}

/**
 * Returns the schema of a host's operators, to be given to `cedar({ schema })` or kept in a file beside the policies.
 * @throws KernelErrorException T5_POLICY_INVALID for payloads that have no type in Cedar; T0_VALIDATION_SCHEMA_MISMATCH
 * for unknown options.
 */
export function cedarSchema(options: CedarSchemaOptions): string {
  const read = readStrictly(Options, options, { what: "cedarSchema", source: cedarLanguage.source });
  const problems: PolicyProblem[] = [];
  const left = new Set(read.without);
  const brought = read.capabilities.flatMap(({ operators }) => operators.filter((one) => typeof one !== "string"));
  const calls = [...read.operators, ...brought].filter(({ metadata }) => !left.has(metadata.name));
  const declared = declareOnce(
    calls.map((operator) => {
      const { name, effect } = operator.metadata;
      return { action: name, groups: ["call", effect], schema: payloadSchemaOf(operator) };
    }),
    problems,
  );
  const outcomes = read.stages.includes("outcome") ? read.capabilities.flatMap(outcomesOf) : [];
  const drafts = declareOnce(outcomes, problems);
  if (problems.length > 0) refuseBundle(problems);
  const taken = new Set(baseTypes);
  const types = [...declared, ...drafts].map((one) => [one, nameFor(one.action, taken)] as const);
  const ofCalls = types.slice(0, declared.length).map(([, name]) => name);
  const decisions =
    read.stages.includes("gate") && ofCalls.length > 0
      ? [
          `action approve, reject, delegate in [decide]`,
          `  appliesTo { principal: Principal, resource: [${ofCalls.join(", ")}], context: Question };`,
        ]
      : [];
  return [...types.flatMap(linesOf), ...decisions].map((line) => `${line}\n`).join("");
}

const outcomesOf = ({ outcomes }: CapabilityDefinition) =>
  Object.entries(outcomes).map(([type, schema]) => ({
    action: `draft:${type}`,
    groups: ["draft"],
    schema: schemaOf(schema, "output"),
  }));

interface Undeclared extends Omit<Declared, "type"> {
  readonly schema: JsonObject;
}

/** Returns each action once, in the order of names. Two of one name must be declared alike. */
function declareOnce(all: readonly Undeclared[], problems: PolicyProblem[]): readonly Declared[] {
  const declared = new Map<string, Declared>();
  for (const { schema, ...one } of all) {
    const untyped: UntypedPlace[] = [];
    const type = cedarTypeOf(schema, untyped);
    problems.push(...untyped.map(({ path, problem }) => problemOf(one.action, path, problem)));
    const made = { ...one, type: type ?? "{}" };
    const other = declared.get(one.action);
    if (other !== undefined && JSON.stringify(other) !== JSON.stringify(made))
      problems.push(problemOf(one.action, "", "two of this name differ in payload or effect"));
    declared.set(one.action, made);
  }
  return [...declared.values()].toSorted((one, other) => (one.action < other.action ? -1 : 1));
}

const problemOf = (action: string, path: string, problem: string): PolicyProblem => ({
  rule: null,
  field: path === "" ? action : `${action}: ${path}`,
  problem,
});

/** Returns the name of a type for an action, `OrderBuy` for `Order.Buy`, that no other has. */
function nameFor(action: string, taken: Set<string>): string {
  const words = action.replace(/^draft:/, "Draft.").split(/[^A-Za-z0-9]+/);
  const plain = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  let name = plain;
  for (let n = 2; taken.has(name); n += 1) name = `${plain}${n}`;
  taken.add(name);
  return name;
}

const linesOf = ([{ action, groups, type }, name]: readonly [Declared, string]): readonly string[] => [
  `entity ${name} in [Capability, Tenant] = { payload: ${type} };`,
  `action ${JSON.stringify(action)} in [${groups.join(", ")}]`,
  `  appliesTo { principal: Principal, resource: ${name}, context: Question };`,
];
