// Run as a process of its own: reads one workflow from a ledger file and prints all that a kernel can tell about it.
import { createKernel } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledgers/sqlite/index.ts";

const [path = "", id = ""] = process.argv.slice(2);
const kernel = await createKernel({ ledger: sqliteLedger({ path }), recover: false });
const all = {
  workflow: await kernel.workflow(id),
  trace: await kernel.trace(id),
  explanation: await kernel.explain(id),
  actions: await kernel.actions(id),
  gates: await kernel.gates({ workflow_id: id }),
  outcomes: await kernel.outcomes(id),
};
await kernel.stop({ drainMs: 0 });
process.stdout.write(JSON.stringify(all));
