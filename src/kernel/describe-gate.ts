/**
 * Gates as callers read them: the record as it stands, with what may be edited and the JSON Schema of that.
 *
 * Never: keeps a schema. It is looked up where it is read, for it can be larger than all that the gate holds.
 */
import { editableValue } from "../../machines/editable.ts";
import { type Gate, type GateEditable, isOpenGate } from "../contract/gate.ts";
import type { JsonObject } from "../contract/json.ts";
import type { WorkflowState } from "../contract/workflow-state.ts";
import { inputSchemaOf, outcomeSchemaOf } from "../define/describe-capability.ts";
import type { Registry } from "../runtime/registry.ts";

type Known = Pick<Registry, "findOperator" | "capabilities">;

/** A gate that is no longer open has nothing to edit. */
export function describeGate(gate: Gate, known: Known): Gate {
  const { editable = null } = gate;
  if (editable === null || !isOpenGate(gate)) return { ...gate, editable: null };
  return { ...gate, editable: { ...editable, value: editableValue(gate), schema: schemaOf(gate, editable, known) } };
}

export const describeGates = (state: WorkflowState, known: Known): WorkflowState => ({
  ...state,
  gates: state.gates.map((gate) => describeGate(gate, known)),
});

function schemaOf({ target }: Gate, { defined_by, ...editable }: GateEditable, known: Known): JsonObject | null {
  const { name, version } = defined_by;
  if (editable.target === "payload") {
    const operator = known.findOperator(name, version);
    return operator === null ? null : inputSchemaOf(operator);
  }
  const capability = known.capabilities().find((one) => one.intentType === name && one.version === version);
  return capability === undefined || target === null ? null : outcomeSchemaOf(capability, target.type);
}
