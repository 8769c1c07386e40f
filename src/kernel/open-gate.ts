/**
 * The one open gate of a workflow, for a request that names none. It is for calls in process only: requests over the
 * faces name their gate, so that a late or repeated one never concerns another gate.
 */
import type { Caller } from "../contract/auth-context.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { LedgerReading } from "../engine/follow/ledger-reader.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";

const openRef = moduleRef(0, "gateway", "find_open_gate");

/** The number of gates that the error names if there are several. */
const maxNamed = 50;

interface FinderParts {
  readonly store: LedgerStore;
  readonly reading: LedgerReading;
}

/**
 * Returns a function that finds the gate that is open when a request arrives, by the store and not by a clock. Requests
 * that arrive during a look-up share its answer.
 */
export function createGateFinder(parts: FinderParts): (workflowId: string, caller: Caller) => Promise<string> {
  const placing = new Map<string, Promise<string>>();
  return (workflowId, caller) => {
    const key = JSON.stringify([caller.tenant_id, workflowId]);
    const known = placing.get(key);
    if (known !== undefined) return known;
    const found = findOpenGate(parts, workflowId, caller).finally(() => placing.delete(key));
    placing.set(key, found);
    return found;
  };
}

/** Finds the gate. @throws KernelErrorException T5_GATE_AMBIGUOUS, T5_GATE_NOT_FOUND, T4_WORKFLOW_NOT_FOUND. */
async function findOpenGate({ store, reading }: FinderParts, workflow_id: string, caller: Caller): Promise<string> {
  const open = await store.gates({ workflow_id, tenant_id: caller.tenant_id, limit: maxNamed });
  const [only, ...others] = open;
  if (only === undefined) {
    const { state } = await reading.readWorkflowState(workflow_id, caller);
    return raise(kernelError("T5_GATE_NOT_FOUND", "no gate of this workflow is open", openRef, { detail: { state } }));
  }
  if (others.length === 0) return only.gate_id;
  const detail = { gates: open.map((gate) => gate.gate_id) };
  return raise(kernelError("T5_GATE_AMBIGUOUS", `${open.length} gates are open; name one`, openRef, { detail }));
}
