/**
 * A kernel with notifiers in a process of its own, to be killed: `node kernel-process.ts DB HOOK-PORT SMTP-PORT
 * [APPROVE]`. Without a workflow to approve it begins one. It prints the workflow's id once that rests, and goes on
 * until it is killed.
 */
import { z } from "zod";
import { createKernel, defineCapability, defineOperator } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { mailNotifier, webhookNotifier } from "../../src/observers/notifiers/index.ts";

const [path = "", hook = "", smtp = "", approved] = process.argv.slice(2);
const write = defineOperator({
  name: "Board.Write",
  input: z.record(z.string(), z.unknown()),
  effect: "write_draft",
  run: ({ input }) => input,
});
const board = defineCapability({
  intentType: "Board.Post",
  version: "1.0",
  input: z.record(z.string(), z.unknown()),
  operators: [write],
  plan: {
    reasoning: "as asked",
    steps: [{ step_id: "s1", name: "s1", operator: "Board.Write", params: {}, gate: {} }],
  },
});
const caller = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } };
const kernel = await createKernel({
  ledger: sqliteLedger({ path }),
  capabilities: [board],
  limits: { deliveryTimeoutMs: 400 },
  notifiers: [
    webhookNotifier({
      url: `http://127.0.0.1:${hook}/`,
      secret: `whsec_${Buffer.alloc(32).toString("base64")}`,
      allowPrivate: true,
    }),
    mailNotifier({
      smtp: { host: "127.0.0.1", port: Number(smtp) },
      from: "gates@countersign.test",
      consoleUrl: "http://127.0.0.1:8787",
      roles: { user: ["ann@example.test"] },
    }),
  ],
});
if (approved === undefined) {
  const { workflow_id } = await kernel.submit({ ...caller, intent_hint: { intent_type: "Board.Post", inputs: {} } });
  await kernel.settled(workflow_id);
  console.log(workflow_id);
} else {
  await kernel.decideGate(approved, { ...caller, gate_id: "gate-s1", decision: "approve" });
  console.log((await kernel.settled(approved)).workflow_id);
}
// Its stdin is open for as long as the test has not killed it.
process.stdin.resume();
