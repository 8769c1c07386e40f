/** A process that opens a ledger of parked workflows and does what it is asked, as `soak:parked` measures it. */
import { createKernel, type Kernel } from "../../src/index.ts";
import { answerParent, measureMemory } from "./in-child.ts";
import { callerOf, parkMany, soakCapabilities } from "./parked-ledger.ts";
import { ledgerAt, type Place } from "./place.ts";

let kernel: Kernel;

const open = async (place: Place): Promise<void> => {
  kernel = await createKernel({ ledger: ledgerAt(place), capabilities: soakCapabilities });
};

async function approve(workflowId: string): Promise<void> {
  const { tenant_id } = await kernel.workflow(workflowId);
  await kernel.decideGate(workflowId, { ...callerOf(0), tenant_id, gate_id: "gate-s2", decision: "approve" });
  const { state } = await kernel.settled(workflowId);
  if (state !== "completed") throw new Error(`the approved workflow is ${state}`);
}

answerParent({
  open,
  approve,
  park: ({ count, from }: { count: number; from: number }) => parkMany(kernel, count, from).then(() => undefined),
  list: (filter: object) => kernel.workflows(filter, callerOf(0)).then((found) => [found.length, found.total]),
  inbox: (filter: object) => kernel.gates(filter, callerOf(0)).then((found) => [found.length, found.total]),
  anyWorkflow: async () => (await kernel.workflows({ limit: 1 }, callerOf(0)))[0]?.workflow_id,
  memory: measureMemory,
  stop: () => kernel.stop(),
});
