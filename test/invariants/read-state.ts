// Run as a process of its own: reads one workflow from a ledger file and prints all that a kernel can tell about it.
import { createKernel, type Gate } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";

const [path = "", id = ""] = process.argv.slice(2);
const kernel = await createKernel({ ledger: sqliteLedger({ path }), recover: false });
/** Schemas, and the facts by their titles, are of the process that is asked. */
const bare = ({ editable: _, facts: _facts, doubt, ...gate }: Gate) => ({
  ...gate,
  ...(doubt !== undefined && { doubt: { called_at: doubt.called_at, error: doubt.error } }),
});
const all = {
  workflow: await kernel.workflow(id).then((state) => ({ ...state, gates: state.gates.map(bare) })),
  trace: await kernel.trace(id),
  explanation: await kernel.explain(id),
  actions: await kernel.actions(id),
  gates: (await kernel.gates({ workflow_id: id })).map(bare),
  outcomes: await kernel.outcomes(id),
};
await kernel.stop({ drainMs: 0 });
process.stdout.write(JSON.stringify(all));
