/**
 * The doctor's look at what people see: definitions whose gates would show bare members of payloads, facts that name a
 * member that no input has, and texts of open gates that were cut.
 *
 * Owns: the findings about presentations. Never: calls a host's function; refuses anything.
 * 1.  Operators that only read or write drafts are left out, and capabilities of such operators alone: people are
 *     rarely asked about their calls.
 */
import type { CapabilityDefinition } from "../contract/capability.ts";
import type { DoctorQuestion } from "../contract/doctor-report.ts";
import { type Gate, isOpenGate } from "../contract/gate.ts";
import { isPlainObject } from "../contract/json.ts";
import { isHarmless, type Operator } from "../contract/operator.ts";
import { isCutFact, isCutSummary, isCutTitle } from "../contract/present.ts";
import type { PresentingFinding } from "../contract/presenting-finding.ts";
import { schemaOf } from "../define/describe-capability.ts";
import { pathsOf } from "../define/present.ts";
import type { Registry } from "../engine/actors/registry.ts";

type Definitions = Pick<Registry, "capabilities" | "operators">;

/** The most findings of one report. */
export const maxPresenting = 200;

/** Returns the findings about the registered definitions, or about those of one intent type. */
export function examineDefinitions(
  registry: Definitions,
  { intent_type }: Pick<DoctorQuestion, "intent_type">,
): readonly PresentingFinding[] {
  const capabilities = registry.capabilities().filter((one) => (intent_type ?? one.intentType) === one.intentType);
  const used = new Set(capabilities.flatMap(({ operators }) => operators.map(nameOf)));
  const operators = registry
    .operators()
    .filter(({ metadata }) => asksPeople(metadata) && (intent_type === undefined || used.has(metadata.name)));
  const asking = new Set(operators.map(({ metadata }) => metadata.name));
  const examined = capabilities.filter((one) => one.operators.some((operator) => asking.has(nameOf(operator))));
  return [...examined.flatMap(examineCapability), ...operators.flatMap(examineOperator)];
}

const asksPeople = ({ effect }: Pick<Operator["metadata"], "effect">): boolean =>
  !isHarmless(effect) && effect !== "write_draft";

const nameOf = (operator: CapabilityDefinition["operators"][number]): string =>
  typeof operator === "string" ? operator : operator.metadata.name;

function examineCapability({ intentType: name, version, input, present }: CapabilityDefinition): PresentingFinding[] {
  if (present !== undefined || !isBare(schemaOf(input, "input"))) return [];
  return [
    {
      ...{ what: "raw", definition: "capability", name, version, workflow_id: null, gate_id: null },
      reason: "it has no present, and no member of its input has a title: its runs are named by bare values",
      next: "Give the capability present with a title, or the members of its input titles",
    },
  ];
}

function examineOperator({ metadata: { name, version }, input, present }: Operator): PresentingFinding[] {
  const about = { definition: "operator", name, version, workflow_id: null, gate_id: null } as const;
  if (present === null || present === undefined) {
    if (!isBare(schemaOf(input, "input"))) return [];
    const reason = "it has no present, and no member of its input has a title: its gates show bare members";
    return [{ what: "raw", ...about, reason, next: "Give the operator present, or the members of its input titles" }];
  }
  // What is presented is what the schema makes of the input.
  const schema = schemaOf(input, "output");
  return pathsOf(present).flatMap(({ label, path }): PresentingFinding[] => {
    const missing = findMissing(schema, path);
    if (missing === null) return [];
    const reason = `the fact ${JSON.stringify(label)} names ${path}, and the input has no ${missing}`;
    return [{ what: "missing", ...about, reason, next: "Name a member of the input, or give a function of it" }];
  });
}

/** Returns findings about the open gates of a workflow, whose texts were cut. */
export function examineGates(gates: Iterable<Gate>): readonly PresentingFinding[] {
  return [...gates].filter(isOpenGate).flatMap((gate) => {
    const cut = [
      ...(isCutTitle(gate.title) ? ["its title"] : []),
      ...(gate.summary !== undefined && isCutSummary(gate.summary) ? ["its summary"] : []),
      ...(gate.facts ?? []).filter(isCutFact).map(({ label }) => `the fact ${JSON.stringify(label)}`),
    ];
    if (cut.length === 0) return [];
    const { workflow_id, gate_id, operator: name } = gate;
    return [
      {
        ...({ what: "cut", definition: "operator", name, version: "", workflow_id, gate_id } as const),
        reason: `${gate_id} of ${workflow_id} shows only the beginning of ${cut.join(", ")}`,
        next: "Have present give a shorter text, or give the whole as a link or a document",
      },
    ];
  });
}

type Schema = Readonly<Record<string, unknown>>;

/** Returns whether the members that a schema has are all without a title. One without members shows none. */
function isBare(schema: Schema): boolean {
  const members = Object.values(isPlainObject(schema["properties"]) ? schema["properties"] : {});
  return members.length > 0 && members.every((member) => !isPlainObject(member) || member["title"] === undefined);
}

/** Returns the first part of a path that no input can have; null if the schema does not say so. */
function findMissing(schema: Schema, path: string): string | null {
  let at: unknown = schema;
  for (const key of path.split(".")) {
    if (!isPlainObject(at)) return null;
    const next = memberOf(at, key);
    if (next === "unknown") return null;
    if (next === undefined) return key;
    at = next;
  }
  return null;
}

/** Returns the schema of a member, undefined if there can be none, or `unknown` if the schema leaves it open. */
function memberOf(schema: Schema, key: string): unknown {
  const { type, properties, items, additionalProperties } = schema;
  if (type === "array") return key === "*" || /^\d+$/.test(key) ? (items ?? "unknown") : undefined;
  if (type !== "object") return type === undefined ? "unknown" : undefined;
  if (isPlainObject(properties) && Object.hasOwn(properties, key)) return properties[key];
  return additionalProperties === false ? undefined : "unknown";
}
