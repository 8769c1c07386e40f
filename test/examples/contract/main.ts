/**
 * A contract is sent and has to be signed within seven days. The signature arrives as an event from outside: before
 * anybody waits for it, while the workflow waits, after a reminder, twice, or never. Time is virtual. `npm start`
 */
import { defineCapability, defineOperator, when } from "countersign";
import { createTestKernel } from "countersign/testing";
import { z } from "zod";

const Deal = z.object({ contract: z.string() });
const Signed = z.object({ by: z.string() });
const post: string[] = [];
const mail = (name: string, word: string) =>
  defineOperator({
    name,
    effect: "external_send",
    input: Deal,
    run: ({ input }) => post.push(`${word} ${input.contract}`),
  });

const signing = defineCapability({
  intentType: "Deal.Sign",
  version: "1.0",
  input: Deal,
  operators: [mail("Mail.Send", "send"), mail("Mail.Remind", "remind"), mail("Mail.Confirm", "confirm")],
  plan: ({ input, step, wait }) => {
    const event = { event: "contract.signed", key: input.contract, schema: Signed } as const;
    const sent = step({ step_id: "send", name: "Send it", operator: "Mail.Send", params: input });
    const early = wait({
      step_id: "early",
      name: "Signed within two days",
      ...event,
      within: { days: 2 },
      otherwise: { value: { by: "" } },
      depends_on: [sent],
    });
    const isOpen = when(early.output.by).equals("");
    const reminded = step({ step_id: "remind", name: "Remind", operator: "Mail.Remind", params: input, when: isOpen });
    const late = wait({
      step_id: "late",
      name: "Signed within seven days",
      ...event,
      within: { days: 5 },
      depends_on: [reminded],
      when: isOpen,
    });
    const confirmed = step({
      step_id: "confirm",
      name: "Confirm",
      operator: "Mail.Confirm",
      params: input,
      depends_on: [late],
    });
    return { reasoning: "Send, remind after two days, confirm.", steps: [sent, early, reminded, late, confirmed] };
  },
});

const ann = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } } as const;
const provider = { tenant_id: 1, principal: { type: "service", id: "signatures", role: "user" } } as const;
const day = 86_400_000;

for (const [how, days] of [
  ["before anybody waits", 0],
  ["after a day", 1],
  ["after four days", 4],
  ["never", 9],
] as const) {
  post.length = 0;
  await using t = await createTestKernel({
    capabilities: [signing],
    defaultPolicies: false,
    limits: { maxReplans: 0 },
  });
  const { kernel, clock } = t;
  const sign = { ...provider, name: "contract.signed", key: "C-1", payload: { by: "Bo" }, event_id: "webhook-1" };
  if (days === 0) console.log("kept:", (await kernel.emit(sign)).status);
  const { workflow_id } = await kernel.of(signing).submit({ ...ann, inputs: { contract: "C-1" } });
  await clock.advance(days * day);
  if (days === 1)
    await kernel
      .emit({ ...sign, payload: { by: 7 }, event_id: "webhook-0" })
      .catch(({ error }) => console.log("refused:", error.code));
  if (days < 9) for (const _again of [1, 2]) await kernel.emit(sign);
  const { state, error } = await t.rest(workflow_id);
  console.log(`signed ${how}: ${state}${error === null ? "" : ` (${error.code})`}; ${post.join(", ")}`);
}
