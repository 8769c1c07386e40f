/**
 * Describes a definition for callers: its schemas as JSON Schema (draft 2020-12), its operators by their effects.
 *
 * Never: shows code. Checks of a schema beyond JSON Schema (a refinement, a function of the package) are not shown.
 */
import { z } from "zod";
import type { CapabilityDefinition } from "../contract/capability.ts";
import type { CapabilityView, OperatorView } from "../contract/capability-view.ts";
import { deepFreeze, type JsonObject } from "../contract/json.ts";
import type { Operator } from "../contract/operator.ts";

/** Describes a capability. `find` looks up operators that the definition names without bringing them. */
export function describeCapability(
  capability: CapabilityDefinition,
  find: (name: string) => Operator | null,
): CapabilityView {
  const found = capability.operators.map((named) => (typeof named === "string" ? (find(named) ?? named) : named));
  return {
    intent_type: capability.intentType,
    version: capability.version,
    description: capability.description,
    keywords: [...capability.keywords],
    input: schemaOf(capability.input, "input"),
    operators: found.flatMap((operator) => (typeof operator === "string" ? [] : describeOperator(operator))),
    missing_operators: found.filter((operator) => typeof operator === "string"),
    outcomes: Object.fromEntries(
      Object.entries(capability.outcomes).map(([type, schema]) => [type, schemaOf(schema, "output")]),
    ),
    limits: capability.limits,
  };
}

function describeOperator(operator: Operator): OperatorView {
  const { metadata, output } = operator;
  const { name, version, description, kind, effect, idempotent, risk_level, estimated_cost, policy_tags } = metadata;
  return {
    name,
    version,
    description,
    kind,
    effect,
    idempotent,
    risk_level,
    estimated_cost,
    policy_tags: [...policy_tags],
    input: inputSchemaOf(operator),
    output: schemaOf(output, "output"),
  };
}

/** Returns the JSON Schema of what may be edited of an operator's call: its input. A tool brings its own schema. */
export const inputSchemaOf = ({ input, tool }: Operator): JsonObject => tool?.inputSchema ?? schemaOf(input, "input");

/** Returns the JSON Schema of an operator's payload once it is parsed. A tool brings its own schema. */
export const payloadSchemaOf = ({ input, tool }: Operator): JsonObject =>
  tool?.inputSchema ?? schemaOf(input, "output");

/** Returns the JSON Schema of what an operator's call gives. */
export const outputSchemaOf = ({ output }: Operator): JsonObject => schemaOf(output, "output");

/** Returns the JSON Schema of what may be edited of an outcome; null for a type that the package does not define. */
export function outcomeSchemaOf({ outcomes }: CapabilityDefinition, type: string): JsonObject | null {
  const schema = Object.hasOwn(outcomes, type) ? outcomes[type] : undefined;
  return schema === undefined ? null : schemaOf(schema, "input");
}

const described = { input: new WeakMap<z.ZodType, JsonObject>(), output: new WeakMap<z.ZodType, JsonObject>() };

/** Returns the JSON Schema of a schema, which is made once because each open gate asks for it. */
export function schemaOf(schema: z.ZodType, io: "input" | "output"): JsonObject {
  const known = described[io].get(schema);
  if (known !== undefined) return known;
  const reported = deepFreeze(describeSchema(schema, io));
  described[io].set(schema, reported);
  return reported;
}

/** Describes a schema. What JSON Schema cannot express becomes `{}`: the kernel checks against the schema itself. */
function describeSchema(schema: z.ZodType, io: "input" | "output"): JsonObject {
  try {
    return z.toJSONSchema(schema, { io, unrepresentable: "any" }) as JsonObject;
  } catch {
    return {};
  }
}
