/** Asks for a refund, shows a person what would run, and runs exactly that once they agree. `npm start` */
import { createInterface } from "node:readline/promises";
import { createKernel } from "countersign";
import { sqliteLedger } from "countersign/sqlite";
import { refund } from "./refund.ts";

const ledger = sqliteLedger({ path: "workflows.db" }); // the next process goes on where this one ends
await using kernel = await createKernel({ ledger, capabilities: [refund] });

const me = { tenant_id: 1, principal: { type: "user", id: process.env["USER"] ?? "me", role: "user" } } as const;
const intent_type = "Shop.Refund";
const states = ["accepted", "planned", "running", "waiting_for_user"] as const;
const [left] = await kernel.workflows({ intent_type, states, limit: 1 }, me); // one that was stopped is taken up first
const inputs = { order: "A-7", cents: 1999 };
const { workflow_id } = left ?? (await kernel.submit({ ...me, intent_hint: { intent_type, inputs } }));
await kernel.settled(workflow_id);

for (const gate of await kernel.gates({ workflow_id }, me)) {
  console.log(`${gate.title}: ${JSON.stringify(gate.payload)}`);
  const decision = (await agrees()) ? "approve" : "reject";
  const payload = { payload_digest: gate.payload_digest }; // what was seen is what is approved
  await kernel.decideGate(workflow_id, { ...me, gate_id: gate.gate_id, decision, payload });
}
const { state, steps } = await kernel.settled(workflow_id);
console.log(state, steps.at(-1)?.output_text ?? "");
console.log(`npx countersign explain ${workflow_id} --db workflows.db   # who agreed to what, and why it was allowed`);

async function agrees(): Promise<boolean> {
  if (process.argv.includes("--yes")) return true;
  if (!process.stdin.isTTY) throw new Error("somebody has to agree: run it in a terminal, or with --yes");
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question("Pay it back? [y/N] ");
  terminal.close();
  return answer.trim().toLowerCase() === "y";
}
