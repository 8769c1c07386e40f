/** The onboarding of a vendor: what each step does to the world outside, and what takes it back. */
import { defineCapability, defineOperator, operatorError } from "countersign";
import { z } from "zod";

/** The systems outside: the vendors in the books, the mandates at the bank, and how the mail server fails. */
export const world = { vendors: new Set<string>(), mandates: new Set<string>(), mail: "works" as MailServer };
export type MailServer = "works" | "hangs up" | "dependency" | "validation" | "transient" | "authorization";

const Company = z.object({ company: z.string() });
const Vendor = z.object({ vendor_id: z.string() });
const Mandate = z.object({ mandate_id: z.string() });

const check = defineOperator({
  name: "Kyc.Check",
  effect: "read",
  input: Company,
  output: z.object({ score: z.number() }),
  run: () => ({ score: 80 }),
});
const create = defineOperator({
  name: "Erp.Create",
  effect: "write_draft",
  estimatedCost: 1,
  input: Company.extend({ score: z.number() }),
  output: Vendor,
  run: ({ input }) => {
    world.vendors.add(input.company);
    return { vendor_id: input.company };
  },
});
const remove = defineOperator({
  name: "Erp.Remove",
  effect: "write_draft",
  input: Vendor,
  run: ({ input }) => world.vendors.delete(input.vendor_id),
});
const setUp = defineOperator({
  name: "Bank.SetUp",
  effect: "write_draft",
  estimatedCost: 1,
  input: Vendor,
  output: Mandate,
  run: ({ input }) => {
    world.mandates.add(input.vendor_id);
    return { mandate_id: input.vendor_id };
  },
});
const revoke = defineOperator({
  name: "Bank.Revoke",
  effect: "write_draft",
  input: Mandate,
  run: ({ input }) => world.mandates.delete(input.mandate_id),
});
const welcome = defineOperator({
  name: "Mail.Welcome",
  effect: "external_send",
  retry: "NONE",
  estimatedCost: 1,
  input: Vendor,
  run: () => {
    if (world.mail === "hangs up") throw new Error("the connection was closed");
    if (world.mail !== "works") throw operatorError({ code: "MAIL", message: "no mail", category: world.mail });
    return { sent: true };
  },
});

const day = 86_400_000;

export const onboarding = defineCapability({
  intentType: "Vendor.Onboard",
  version: "1.0",
  input: Company,
  operators: [check, create, remove, setUp, revoke, welcome],
  limits: { maxReplans: 0 }, // a step that failed is not planned once more: what was done is undone
  plan: ({ input, step }) => {
    const kyc = step({ step_id: "kyc", name: "Check the company", operator: "Kyc.Check", params: input });
    const vendor = step({
      step_id: "vendor",
      name: "Create the vendor",
      operator: "Erp.Create",
      params: { company: input.company, score: kyc.output.score },
      gate: { reason: "a new vendor", roles: ["risk"] },
      undo: { operator: "Erp.Remove", params: (made) => ({ vendor_id: made.vendor_id }) },
    });
    const bank = step({
      step_id: "bank",
      name: "Set the mandate up",
      operator: "Bank.SetUp",
      params: { vendor_id: vendor.output.vendor_id },
      undo: { operator: "Bank.Revoke", params: (made) => ({ mandate_id: made.mandate_id }) },
    });
    const mail = step({
      step_id: "mail",
      name: "Welcome the vendor",
      operator: "Mail.Welcome",
      params: { vendor_id: vendor.output.vendor_id },
      depends_on: [bank],
      gate: { reason: "a word to the vendor", roles: ["risk"], expiry: { after_ms: day, action: "deny" } },
      pivot: true, // a vendor that was welcomed stays
    });
    return { reasoning: "Check, create, set up, welcome.", steps: [kyc, vendor, bank, mail] };
  },
});
