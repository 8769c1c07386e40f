/**
 * The onboarding of a vendor, as a team writes it: however its last step fails, and whoever stops it, no vendor is left
 * in the books and no mandate at the bank.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, defineOperator, definePolicySet, operatorError } from "../../src/index.ts";
import { createTestKernel, type TestKernel, type TestKernelOptions, testCaller } from "../../src/testing/index.ts";
import { sound } from "./booked-trip.ts";

/** The world outside: what stands in the books and at the bank, and how the mail fails. */
const world = { vendors: new Set<string>(), mandates: new Set<string>(), mail: null as string | null };
beforeEach(() => {
  world.vendors.clear();
  world.mandates.clear();
  world.mail = null;
});

const Vendor = z.object({ vendor_id: z.string() });
const check = defineOperator({
  name: "Kyc.Check",
  effect: "read",
  input: z.object({ company: z.string() }),
  output: z.object({ score: z.number() }),
  run: () => ({ score: 80 }),
});
const create = defineOperator({
  name: "Erp.Create",
  effect: "write_draft",
  estimatedCost: 1,
  input: z.object({ company: z.string(), score: z.number() }),
  output: Vendor,
  run: ({ input: { company } }) => {
    world.vendors.add(company);
    return { vendor_id: company };
  },
});
const remove = defineOperator({
  name: "Erp.Remove",
  effect: "write_draft",
  estimatedCost: 1,
  input: Vendor,
  run: ({ input: { vendor_id } }) => world.vendors.delete(vendor_id),
});
const mandate = defineOperator({
  name: "Bank.Mandate",
  effect: "write_draft",
  estimatedCost: 1,
  input: Vendor,
  output: z.object({ mandate: z.string() }),
  run: ({ input: { vendor_id } }) => {
    world.mandates.add(vendor_id);
    return { mandate: vendor_id };
  },
});
const revoke = defineOperator({
  name: "Bank.Revoke",
  effect: "write_draft",
  estimatedCost: 1,
  input: z.object({ mandate: z.string() }),
  run: ({ input }) => world.mandates.delete(input.mandate),
});
const welcome = defineOperator({
  name: "Mail.Welcome",
  effect: "external_send",
  retry: "NONE",
  estimatedCost: 1,
  input: Vendor,
  run: () => {
    if (world.mail === "lost") throw new Error("the connection was closed");
    if (world.mail === null) return { sent: true };
    throw operatorError({ code: "MAIL", message: "no mail", category: world.mail as never, retryable: false });
  },
});

const onboard = defineCapability({
  intentType: "Vendor.Onboard",
  version: "1.0",
  input: z.object({ company: z.string() }),
  operators: [check, create, remove, mandate, revoke, welcome],
  plan: ({ input, step }) => {
    const kyc = step({ step_id: "kyc", name: "Check the company", operator: "Kyc.Check", params: input });
    const vendor = step({
      step_id: "vendor",
      name: "Create the vendor",
      operator: "Erp.Create",
      params: { company: input.company, score: kyc.output.score },
      gate: { reason: "a new vendor", roles: ["admin"] },
      undo: { operator: "Erp.Remove", params: (made) => ({ vendor_id: made.vendor_id }) },
    });
    const bank = step({
      step_id: "bank",
      name: "Set up the mandate",
      operator: "Bank.Mandate",
      params: { vendor_id: vendor.output.vendor_id },
      undo: { operator: "Bank.Revoke", params: (made) => ({ mandate: made.mandate }) },
    });
    const mail = step({
      step_id: "mail",
      name: "Welcome the vendor",
      operator: "Mail.Welcome",
      params: { vendor_id: vendor.output.vendor_id },
      depends_on: [bank],
      gate: { reason: "a word to the vendor", expiry: { after_ms: 86_400_000, action: "deny" } },
      pivot: true,
    });
    return { reasoning: "Check, create, set up, welcome.", steps: [kyc, vendor, bank, mail] };
  },
});

const risk = { type: "user", id: 21, role: "admin" } as const;
const denies = definePolicySet({
  version: "1",
  rules: [
    { name: "no_mail", stages: ["action"], when: { operators: ["Mail.Welcome"] }, decision: "DENY", reason: "no" },
  ],
});

/** Onboards a vendor until its last step waits for a person, or has failed before. */
async function begin(options: Partial<TestKernelOptions>) {
  const capabilities = [onboard];
  const t = await createTestKernel({ capabilities, limits: { maxReplans: 0 }, defaultPolicies: false, ...options });
  const id = await t.submit("Vendor.Onboard", { company: "Acme" });
  const [gate] = (await t.rest(id)).gates;
  const payload = { payload_digest: String(gate?.payload_digest) };
  await t.kernel.decideGate(id, {
    ...testCaller,
    principal: risk,
    gate_id: "gate-vendor",
    decision: "approve",
    payload,
  });
  await t.rest(id);
  return { t, id };
}

interface Way {
  readonly where: string;
  readonly end: "failed" | "cancelled";
  readonly happens: (t: TestKernel, id: string) => Promise<unknown>;
  readonly options?: Partial<TestKernelOptions>;
}

const mailFails =
  (how: string): Way["happens"] =>
  (t, id) => {
    world.mail = how;
    return t.approve(id, "gate-mail");
  };
const way = (
  where: string,
  end: Way["end"],
  happens: Way["happens"],
  options: Partial<TestKernelOptions> = {},
): Way => ({ where, end, happens, options });
const doubted = async (t: TestKernel, id: string) => {
  await mailFails("lost")(t, id);
  await t.rest(id);
  return t.reject(id, "gate-mail_doubt1");
};
const ways: readonly Way[] = [
  way("its operator fails as a dependency", "failed", mailFails("dependency")),
  way("its operator refuses what it is given", "failed", mailFails("validation")),
  way("its operator is busy", "failed", mailFails("transient")),
  way("its operator is not allowed in", "failed", mailFails("authorization")),
  way("nobody knows what became of it, and a person says that it failed", "failed", doubted),
  way("a rule denies it", "failed", async () => undefined, { policies: [denies] }),
  way("the budget is spent", "failed", (t, id) => t.approve(id, "gate-mail"), { budgets: { maxCost: 2 } }),
  way("a person rejects it", "cancelled", (t, id) => t.reject(id, "gate-mail")),
  way("nobody decides in time", "cancelled", (t) => t.clock.advance(86_400_000)),
  way("the requester cancels", "cancelled", (t, id) => t.kernel.cancel(id, { ...testCaller, undo: true })),
];

describe("no vendor is left behind", () => {
  it.each(ways)("where $where", async ({ end, happens, options = {} }) => {
    const { t, id } = await begin(options);
    await using _open = t;
    await happens(t, id).catch((thrown: unknown) => expect(String(thrown)).toContain("T5_"));
    expect(await t.rest(id)).toMatchObject({ state: end, compensated: "all" });
    expect([[...world.vendors], [...world.mandates]]).toEqual([[], []]);
    await sound(t, id);
  });
});

it("a vendor that was welcomed stays", async () => {
  const { t, id } = await begin({});
  await using _open = t;
  await t.approve(id, "gate-mail");
  expect(await t.rest(id)).toMatchObject({ state: "completed", compensated: null });
  expect([[...world.vendors], [...world.mandates]]).toEqual([["Acme"], ["Acme"]]);
});
