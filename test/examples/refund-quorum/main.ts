/**
 * A refund that two of three people must agree to, none of them whoever asked for it, under a rule and a budget. `npm
 * start`
 */
import { createKernel, defineCapability, definePolicy } from "countersign";
import { sqliteLedger } from "countersign/sqlite";
import { look, pay, person, Refund, request } from "../shop/refund.ts";

const gate = { quorum: { approvals: 2 }, approvers: [{ id: "ann" }, { id: "bo" }, { id: "cy" }], separation: true };
const refund = defineCapability({
  intentType: "Shop.Refund",
  version: "1.0",
  input: Refund,
  operators: [look, pay],
  plan: ({ input }) => ({
    reasoning: "Two of three agree.",
    steps: [
      { step_id: "look", name: "Look the order up", operator: "Orders.Look", params: { order: input.order } },
      { step_id: "pay", name: "Pay it back", operator: "Refund.Pay", params: input, depends_on: ["look"], gate },
    ],
  }),
});
const notTooMuch = definePolicy({
  name: "not-too-much",
  stages: ["action"],
  evaluate: ({ subject }) => {
    const paid = Refund.safeParse(subject.payload).data?.cents ?? 0;
    return paid > 50_000 ? { decision: "DENY", reason: "over 500.00: by bank transfer only" } : null;
  },
});
const budgets = { limits: [{ scope: "tenant", window: "day", invocations: 100 }] } as const;
const ledger = sqliteLedger({ path: "refunds.db" });
await using kernel = await createKernel({ ledger, capabilities: [refund], policies: [notTooMuch], budgets });

const { workflow_id } = await kernel.submit({ ...person("ann"), ...request });
console.log((await kernel.settled(workflow_id)).state);
for (const id of ["ann", "bo", "cy"]) {
  const [gate] = await kernel.gates({ workflow_id }, person(id));
  const payload = { payload_digest: gate?.payload_digest }; // what was seen is what is approved
  const said = { ...person(id), gate_id: gate?.gate_id, decision: "approve", payload } as const;
  const answer = await kernel.decideGate(workflow_id, said).catch(({ error }) => ({ status: error.code }));
  console.log(id, answer.status);
}
console.log((await kernel.settled(workflow_id)).state);
console.log("ledger sound:", (await kernel.verify(workflow_id)).ok);
