/** Forty questions, with the decision and the deciding policy that each language must give. */
import type { PolicyQuestion, PolicyStage, PolicySubject } from "../../src/contract/policy.ts";

export interface Case {
  readonly stage?: PolicyStage;
  readonly subject?: Partial<PolicySubject>;
  readonly role?: string;
  readonly tenant?: string | number;
  readonly principal?: string;
  readonly now?: string;
  readonly spent?: number;
}

const weekday = "2026-11-25T12:00:00.000Z";
const saturday = "2026-11-28T12:00:00.000Z";

export function questionOf(asked: Case): PolicyQuestion {
  const { stage = "action", subject = {}, role = "user", tenant = 1, principal = "ann", now = weekday } = asked;
  const data_policy = { allow_pii: true, allow_external_send: true };
  const auth = { tenant_id: tenant, principal_id: principal, principal_type: "user", role, scopes: [], data_policy };
  const actor = { type: "user", id: "ann", role: "user" };
  return {
    stage,
    subject: { name: "step", tags: [], payload: {}, ...subject },
    auth,
    intent: { type: "Shop.Work", actor, constraints: {}, inputs: {} } as unknown as PolicyQuestion["intent"],
    context: null,
    now,
    spent: asked.spent ?? 0,
  };
}

const call = (
  operator: string,
  effect: string,
  payload: PolicySubject["payload"],
  more: Partial<PolicySubject> = {},
) => ({
  subject: { operator, effect, payload, risk_level: "low", ...more },
});
const pay = (sum: number, to = "acme", more: Partial<PolicySubject> = {}) =>
  call("Pay.Send", "final_write", { sum, to }, more);
const mail = (more: Partial<PolicySubject> = {}) => call("Mail.Send", "external_send", { to: "bo" }, more);
const note = (more: Partial<PolicySubject> = {}) => call("Notes.Write", "write_draft", { text: "hello" }, more);
const plan = (...tags: string[]): Case => ({ stage: "plan", subject: { tags, payload: { steps: [] } } });
const draft = (...tags: string[]): Case => ({
  stage: "outcome",
  subject: { name: "Note", operator: "Notes.Write", tags, payload: { text: "x" }, risk_level: "low" },
});
const gate = (decision: string, principal = "bo"): Case => ({
  stage: "gate",
  principal,
  subject: { ...pay(9000).subject, tags: [decision, `principal:${principal}`] },
});
const night = "2026-11-25T23:30:00.000Z";

/** The question, and the policy that decides; null where the call is allowed. */
export const fortyCases: readonly (readonly [string, Case, string | null])[] = [
  ["a small payment", pay(20), null],
  ["a payment at the bound", pay(5000), null],
  ["a payment above the bound", pay(5001), "pay.large"],
  ["a payment of nothing", pay(0), null],
  ["a payment back", pay(-6000), null],
  ["a payment to a shell", pay(20, "shell-1"), "pay.shell"],
  ["a large payment to a shell", pay(9000, "shell-1"), "pay.shell"],
  ["a payment to a name that ends in shell", pay(20, "egg-shell-"), null],
  ["a payment to the bare prefix", pay(20, "shell-"), "pay.shell"],
  ["a payment by an agent", { ...pay(20), role: "agent" }, "agent.final"],
  ["a payment by an agent to a shell", { ...pay(20, "shell-1"), role: "agent" }, "agent.final"],
  ["a payment by an admin", { ...pay(20), role: "admin" }, null],
  ["a large payment by an admin", { ...pay(9000), role: "admin" }, "pay.large"],
  ["a payment in a frozen tenant", { ...pay(20), tenant: "frozen" }, "tenant.frozen"],
  ["a large payment in a frozen tenant", { ...pay(9000), tenant: "frozen" }, "tenant.frozen"],
  ["a mail at noon", mail(), null],
  ["a mail at night", { ...mail(), now: night }, "mail.night"],
  ["a mail at ten in the evening", { ...mail(), now: "2026-11-25T22:00:00.000Z" }, "mail.night"],
  ["a mail a moment before ten", { ...mail(), now: "2026-11-25T21:59:59.999Z" }, null],
  ["a mail at six in the morning", { ...mail(), now: "2026-11-25T06:00:00.000Z" }, null],
  ["a mail a moment before six", { ...mail(), now: "2026-11-25T05:59:59.999Z" }, "mail.night"],
  ["a note at night", { ...note(), now: night }, null],
  ["a payment at night", { ...pay(20), now: night }, null],
  ["a risky note on a Saturday", { ...note({ risk_level: "high" }), now: saturday }, "weekend.risky"],
  ["a risky note on a Wednesday", note({ risk_level: "high" }), null],
  ["a plain note on a Saturday", { ...note(), now: saturday }, null],
  [
    "a risky payment on a Sunday",
    { ...pay(1, "a", { risk_level: "high" }), now: "2026-11-29T00:00:00.000Z" },
    "weekend.risky",
  ],
  ["a note with personal data", note({ tags: ["pii"] }), "personal.ask"],
  ["a note with personal data and consent", note({ tags: ["pii", "consented"] }), null],
  ["a mail with personal data at night", { ...mail({ tags: ["pii"] }), now: night }, "mail.night"],
  ["a large payment with personal data", pay(9000, "a", { tags: ["pii"] }), "pay.large"],
  ["a plan", plan(), null],
  ["a plan with a forbidden tag", plan("unplanned"), "plan.unplanned"],
  ["a plan of personal data", plan("pii"), null],
  ["a draft", draft(), null],
  ["a draft of a secret", draft("secret"), "draft.secret"],
  ["an approval", gate("approve"), null],
  ["an approval by the robot", gate("approve", "robot"), "robot.approval"],
  ["a rejection by the robot", gate("reject", "robot"), null],
  ["a seat that the robot lends", gate("delegate", "robot"), null],
];
