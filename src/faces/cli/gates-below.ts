/**
 * The open gates of the workflows that a workflow runs as its children, at every level, for a person who has the id of
 * the workflow at the top.
 *
 * Never: decides. A decision goes to the workflow that a gate belongs to.
 */
import type { ListedGate } from "../../contract/listed-gate.ts";
import type { WorkflowState } from "../../contract/workflow-state.ts";
import type { CommandContext } from "./open-kernel.ts";

type Reading = Pick<CommandContext, "kernel" | "caller">;

/** Lists the gates that are open below a workflow; none if it runs no children. */
export async function listGatesBelow(
  { kernel, caller }: Reading,
  { workflow_id, steps }: WorkflowState,
): Promise<readonly ListedGate[]> {
  if (steps.every(({ child, items }) => child === null && items === undefined)) return [];
  const gates = await kernel.gates({ under: workflow_id }, caller);
  return gates.filter((gate) => gate.workflow_id !== workflow_id);
}

/** Describes where a gate below waits, and names the command that decides it. */
export const describeBelow = ({ title, gate_id, workflow_id, path = [] }: ListedGate): string =>
  `${title} waits below step ${path.map(({ step_id }) => step_id).join(" / ")}: ` +
  `countersign approve ${workflow_id} ${gate_id}`;
