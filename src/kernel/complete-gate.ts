/**
 * Completes a gate for its reader: with the editable value, the JSON Schema of that, and the consequences of each
 * answer. Faces then describe it by `src/protocol/describe-gate.ts`.
 *
 * Never: keeps a schema. It is looked up for each read, because it can be larger than the rest of the gate.
 */
import { editableValue } from "../../machines/editable.ts";
import { foretell } from "../../machines/gate-consequences.ts";
import { type Gate, type GateEditable, isOpenGate } from "../contract/gate.ts";
import type { JsonObject } from "../contract/json.ts";
import type { WorkflowState } from "../contract/workflow-state.ts";
import { inputSchemaOf, outcomeSchemaOf, outputSchemaOf } from "../define/describe-capability.ts";
import type { Registry } from "../engine/actors/registry.ts";
import { defaultFacts } from "../protocol/present-facts.ts";

type PackageLookup = Pick<Registry, "findOperator" | "capabilities">;

/** Completes a gate. A gate that is no longer open has nothing to edit. */
export function completeGate(gate: Gate, known: PackageLookup): Gate {
  const shown = withFacts(withResultSchema(foretell(gate), known), known);
  const { editable = null } = shown;
  if (editable === null || !isOpenGate(shown)) return { ...shown, editable: null };
  return { ...shown, editable: { ...editable, value: editableValue(shown), schema: schemaOf(shown, editable, known) } };
}

/** Adds the schema of the result that a person may state to a gate about a call in doubt. */
function withResultSchema(gate: Gate, known: PackageLookup): Gate {
  if (gate.doubt === undefined || !isOpenGate(gate)) return gate;
  const operator = known.findOperator(gate.operator);
  return { ...gate, doubt: { ...gate.doubt, result_schema: operator === null ? null : outputSchemaOf(operator) } };
}

/** Adds the facts of the payload by the titles of its schema to a gate whose operator presents none. */
function withFacts(gate: Gate, known: PackageLookup): Gate {
  if (gate.facts !== undefined) return gate;
  const operator = gate.kind === "ask" ? null : known.findOperator(gate.operator);
  const facts = defaultFacts(gate, operator === null ? null : inputSchemaOf(operator));
  return facts.length === 0 ? gate : { ...gate, facts };
}

/** Adds to a gate what it is for its reader: their seat, and who is away; null if the read has no particular reader. */
export type ReadGate = ((gate: Gate) => Gate) | null;

export const completeGates = (
  state: WorkflowState,
  { known, read }: { readonly known: PackageLookup; readonly read: ReadGate },
): WorkflowState => ({
  ...state,
  gates: state.gates.map((gate) => completeGate(read === null ? gate : read(gate), known)),
});

function schemaOf(
  { target }: Gate,
  { defined_by, ...editable }: GateEditable,
  known: PackageLookup,
): JsonObject | null {
  const { name, version } = defined_by;
  if (editable.target === "payload") {
    const operator = known.findOperator(name, version);
    return operator === null ? null : inputSchemaOf(operator);
  }
  const capability = known.capabilities().find((one) => one.intentType === name && one.version === version);
  return capability === undefined || target === null ? null : outcomeSchemaOf(capability, target.type);
}
