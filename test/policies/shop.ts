/** A kernel that buys orders, for policies that ask people about them. */
import type { Policies } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { counted, step, story } from "../gates/story.ts";

const roles = {
  user: { scopes: ["*"] },
  manager: { scopes: ["gate:approve", "outcome:read"] },
  finance: { scopes: ["gate:approve", "outcome:read"] },
};
const shop = (more: object = {}) => {
  const buy = counted("Order.Buy", { effect: "write_draft" });
  const plan = ({ input }: { readonly input: unknown }) => ({
    reasoning: "buy",
    steps: [step("buy", buy, { params: input as never, ...more })],
  });
  return { buy, capability: story([buy], [], { plan: plan as never }) };
};
export const open = (policies: Policies, more: object = {}, kernel: object = {}) => {
  const { buy, capability } = shop(more);
  return createTestKernel({ capabilities: [capability], policies, roles, ...kernel }).then((t) => ({ t, buy }));
};
export const approve = (t: TestKernel, id: string, who: string, role: string) =>
  t.kernel.decideGate(id, {
    tenant_id: testCaller.tenant_id,
    principal: { type: "user", id: who, role },
    decision: "approve",
    payload: {},
  });
