/** The laws of the package, on a clock that stands still and a ledger in memory. `npm test` */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestKernel, testCaller } from "countersign/testing";
import { refund } from "./refund.ts";

test("nothing is paid before a person has agreed", async () => {
  await using t = await createTestKernel({ capabilities: [refund] });
  const { workflow_id } = await t.run("Shop.Refund", { order: "A-7", cents: 1999 });
  const [gate] = await t.kernel.gates({ workflow_id }, testCaller);
  assert.deepEqual(gate?.payload, { order: "A-7", cents: 1999 });
  const payload = { payload_digest: gate?.payload_digest };
  await t.kernel.decideGate(workflow_id, { ...testCaller, gate_id: gate?.gate_id, decision: "approve", payload });
  assert.equal((await t.kernel.settled(workflow_id)).state, "completed");
});
