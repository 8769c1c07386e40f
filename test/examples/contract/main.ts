/**
 * A contract is sent and has to be signed within seven days. The signature arrives as an event from outside, or at the
 * one-time address that was mailed: before anybody waits for it, while the workflow waits, after a reminder, twice, or
 * never. Time is virtual. `npm start`
 */
import { defineCapability, defineOperator } from "countersign";
import { createTestKernel } from "countersign/testing";
import { z } from "zod";

const Deal = z.object({ contract: z.string() });
const post: string[] = [];
let link = "";
const send = defineOperator({
  name: "Mail.Send",
  effect: "external_send",
  input: Deal.extend({ link_of: z.string() }),
  run({ input, waitUrl }) {
    link = waitUrl(input.link_of);
    return post.push(`send ${input.contract}`);
  },
});
const confirm = defineOperator({
  name: "Mail.Confirm",
  effect: "external_send",
  input: Deal,
  run: ({ input }) => post.push(`confirm ${input.contract}`),
});

const signing = defineCapability({
  intentType: "Deal.Sign",
  version: "1.0",
  input: Deal,
  operators: [send, confirm],
  plan: ({ input, step, wait }) => {
    const params = { ...input, link_of: "sign" };
    const sent = step({ step_id: "send", name: "Send it", operator: "Mail.Send", params });
    const signed = wait({
      step_id: "sign",
      name: "Signed within seven days",
      event: "contract.signed",
      key: input.contract,
      schema: z.object({ by: z.string() }),
      token: true,
      within: { days: 7 },
      remind: { every: { days: 2 }, role: "sales", at_most: 2 },
      depends_on: [sent],
    });
    const confirmed = { step_id: "confirm", name: "Confirm", operator: "Mail.Confirm", params: input } as const;
    return { reasoning: "Send, wait, confirm.", steps: [sent, signed, step({ ...confirmed, depends_on: [signed] })] };
  },
});

const ann = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } } as const;
const provider = { tenant_id: 1, principal: { type: "service", id: "signatures", role: "user" } } as const;
const day = 86_400_000;
const sales = {
  name: "sales",
  deliver: async () => undefined,
  remind: async ({ role, sent }: { role: string; sent: number }) => void post.push(`remind ${role} (${sent})`),
};
const waitTokens = { secrets: ["a secret of this example, and of no other"], url: "https://work.example/v1/waits/" };

for (const [how, days] of [
  ["before anybody waits", 0],
  ["after a day", 1],
  ["at its address after three days", 3],
  ["never", 9],
] as const) {
  post.length = 0;
  await using t = await createTestKernel({
    capabilities: [signing],
    defaultPolicies: false,
    limits: { maxReplans: 0 },
    notifiers: [sales],
    waitTokens,
  });
  const { kernel, clock } = t;
  const sign = { ...provider, name: "contract.signed", key: "C-1", payload: { by: "Bo" }, event_id: "webhook-1" };
  if (days === 0) console.log("kept:", (await kernel.emit(sign)).status);
  const { workflow_id } = await kernel.of(signing).submit({ ...ann, inputs: { contract: "C-1" } });
  for (let passed = 0; passed < days; passed += 1) await clock.advance(day);
  if (days === 1)
    await kernel
      .emit({ ...sign, payload: { by: 7 }, event_id: "webhook-0" })
      .catch(({ error }) => console.log("refused:", error.code));
  if (days < 2) for (const _again of [1, 2]) await kernel.emit(sign);
  const answer = { token: link.slice(waitTokens.url.length), payload: { by: "Bo" } };
  if (days === 3) for (const _again of [1, 2]) await kernel.answerWait(answer);
  const { state, error } = await t.rest(workflow_id);
  console.log(`signed ${how}: ${state}${error === null ? "" : ` (${error.code})`}; ${post.join(", ")}`);
  const other = { ...answer, payload: { by: "Al" } };
  if (days > 1) await kernel.answerWait(other).catch((no) => console.log("refused:", no.error.code));
}
