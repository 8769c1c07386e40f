/**
 * A vendor is onboarded, and the last step does not succeed, in each of ten ways: no vendor is left in the books and no
 * mandate at the bank. Time is virtual, so that a day of waiting passes at once. `npm start`
 */
import { definePolicySet } from "countersign";
import { createTestKernel, type TestKernel, type TestKernelOptions } from "countersign/testing";
import { type MailServer, onboarding, world } from "./onboarding.ts";

const ann = { tenant_id: 1, principal: { type: "user", id: "ann", role: "clerk" } } as const;
const rita = { tenant_id: 1, principal: { type: "user", id: "rita", role: "risk" } } as const;
const run = ["intent:submit", "workflow:execute", "outcome:read"];
const roles = { clerk: { scopes: run }, risk: { scopes: ["gate:approve", "outcome:read"] } };

const noMail = definePolicySet({
  version: "1",
  rules: [
    { name: "no-mail", stages: ["action"], when: { operators: ["Mail.Welcome"] }, decision: "DENY", reason: "not now" },
  ],
});

/** Decides the open gate of a workflow on the payload that it shows. */
async function decide({ kernel }: TestKernel, id: string, decision: "approve" | "reject"): Promise<void> {
  const [gate] = await kernel.gates({ workflow_id: id }, rita);
  if (gate === undefined) return;
  await kernel.decideGate(id, {
    ...rita,
    gate_id: gate.gate_id,
    decision,
    payload: { payload_digest: gate.payload_digest },
  });
}

const mail = (how: MailServer) => async (t: TestKernel, id: string) => {
  world.mail = how;
  await decide(t, id, "approve");
};
type Ending = readonly [
  how: string,
  happens: (t: TestKernel, id: string) => Promise<unknown>,
  options?: Partial<TestKernelOptions>,
];
const endings: readonly Ending[] = [
  ["nothing fails", mail("works")],
  ["the mail server is down", mail("dependency")],
  ["it refuses the address", mail("validation")],
  ["it is busy", mail("transient")],
  ["it does not know us", mail("authorization")],
  [
    "nobody knows what became of the mail",
    async (t, id) => {
      await mail("hangs up")(t, id);
      await t.rest(id);
      await decide(t, id, "reject"); // a person found that it was not sent
    },
  ],
  ["a rule denies it", async () => undefined, { policies: [noMail] }],
  ["the budget is spent", mail("works"), { budgets: { maxCost: 2 } }],
  ["a person rejects it", (t, id) => decide(t, id, "reject")],
  ["nobody decides for a day", (t) => t.clock.advance(86_400_000)],
  ["the clerk cancels", ({ kernel }, id) => kernel.cancel(id, { ...ann, undo: true })],
];

for (const [how, happens, options] of endings) {
  world.mail = "works";
  world.vendors.clear();
  world.mandates.clear();
  await using t = await createTestKernel({ capabilities: [onboarding], roles, defaultPolicies: false, ...options });
  const { workflow_id } = await t.kernel.of(onboarding).submit({ ...ann, inputs: { company: "Acme" } });
  await t.rest(workflow_id);
  await decide(t, workflow_id, "approve"); // the vendor is created
  await t.rest(workflow_id);
  await happens(t, workflow_id).catch(({ error }) => console.log(`  (${error.code})`));
  const { state, compensated } = await t.rest(workflow_id);
  const left = world.vendors.size + world.mandates.size;
  console.log(`${how}: ${state}${compensated === null ? "" : `, undone: ${compensated}`}; left behind: ${left}`);
}
