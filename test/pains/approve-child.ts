/** The second process of pain 8: opens the file, approves the workflow it is told, and says how it ended. */
import { createKernel } from "../../src/create-kernel.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { secondProcessJob } from "./second-process.ts";

const [path, effects, workflowId] = process.argv.slice(2) as [string, string, string];
await using kernel = await createKernel({ ledger: sqliteLedger({ path }), capabilities: [secondProcessJob(effects)] });
await kernel.decideGate(workflowId, {
  tenant_id: 1,
  principal: { type: "user", id: 2, role: "user" },
  decision: "approve",
});
console.log((await kernel.settled(workflowId)).state);
