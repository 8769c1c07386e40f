/** All that a caller can read about one workflow, by the ledger alone. */
import type { Gate, Kernel } from "../../src/index.ts";

/**
 * Returns a gate without what its readers get by the schemas of the process that is asked: what may be edited, the
 * facts by their titles, the form of a result. None of that is in a ledger.
 */
export const bareGate = ({ editable: _, facts: _facts, doubt, ...gate }: Gate) => ({
  ...gate,
  ...(doubt !== undefined && { doubt: { called_at: doubt.called_at, error: doubt.error } }),
});

export const readAll = async (kernel: Kernel, id: string) => ({
  workflow: await kernel.workflow(id).then((state) => ({ ...state, gates: state.gates.map(bareGate) })),
  trace: await kernel.trace(id),
  explanation: await kernel.explain(id),
  actions: await kernel.actions(id),
  gates: (await kernel.gates({ workflow_id: id })).map(bareGate),
  outcomes: await kernel.outcomes(id),
});
