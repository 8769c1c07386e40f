/**
 * One policy in four languages: rules as functions, rules as data, Cedar and Rego (`rego/policies.rego`). All of them
 * decide alike. Rules of one strictness are in the order of their names, in which Rego's sets of decisions are read.
 */
import type { PolicyQuestion, PolicyRule, PolicyStage, RuleAnswer } from "../../src/contract/policy.ts";
import { definePolicy, definePolicySet } from "../../src/index.ts";
import { cedar } from "../../src/packages/policies/cedar/index.ts";
import { opa } from "../../src/packages/policies/opa/index.ts";
import { regoBundle } from "./rego-bundles.ts";

const deny = (reason: string): RuleAnswer => ({ decision: "DENY", reason });
const ask = (reason: string): RuleAnswer => ({ decision: "REQUIRE_HUMAN_APPROVAL", reason });

const reasons = {
  "tenant.frozen": "the tenant is frozen",
  "agent.final": "an agent makes nothing final",
  "pay.shell": "nothing is paid to shells",
  "mail.night": "no mail at night",
  "pay.large": "payments above 5000 need a person",
  "weekend.risky": "on weekends somebody looks at what is risky",
  "personal.ask": "personal data needs a person",
  "plan.unplanned": "such plans are not made",
  "draft.secret": "a secret is not drafted",
  "robot.approval": "a robot does not approve",
} as const;
type Name = keyof typeof reasons;

const rule = (name: Name, stage: PolicyStage, holds: (question: PolicyQuestion) => boolean, isAsked = false) =>
  definePolicy({
    name,
    stages: [stage],
    evaluate: (question) => (holds(question) ? (isAsked ? ask : deny)(reasons[name]) : null),
  });
const paid = ({ subject }: PolicyQuestion) => subject.payload as { readonly sum: number; readonly to: string };
const hourOf = ({ now }: PolicyQuestion): number => new Date(now).getUTCHours();
const isWeekend = ({ now }: PolicyQuestion): boolean => [0, 6].includes(new Date(now).getUTCDay());

export const inCode: readonly PolicyRule[] = [
  rule("agent.final", "action", ({ auth, subject }) => auth.role === "agent" && subject.effect === "final_write"),
  rule("mail.night", "action", (of) => of.subject.effect === "external_send" && (hourOf(of) >= 22 || hourOf(of) < 6)),
  rule("pay.shell", "action", (of) => of.subject.operator === "Pay.Send" && paid(of).to.startsWith("shell-")),
  rule("tenant.frozen", "action", ({ auth }) => auth.tenant_id === "frozen"),
  rule("pay.large", "action", (of) => of.subject.operator === "Pay.Send" && paid(of).sum > 5000, true),
  rule("personal.ask", "action", ({ subject: { tags } }) => tags.includes("pii") && !tags.includes("consented"), true),
  rule("weekend.risky", "action", (of) => of.subject.risk_level === "high" && isWeekend(of), true),
  rule("plan.unplanned", "plan", ({ subject }) => subject.tags.includes("unplanned")),
  rule("draft.secret", "outcome", ({ subject }) => subject.tags.includes("secret")),
  rule(
    "robot.approval",
    "gate",
    ({ subject, auth }) => subject.tags.includes("approve") && auth.principal_id === "robot",
  ),
];

const row = (name: Name, stage: PolicyStage, when: object, isAsked = false) => ({
  ...{ name, stages: [stage], when, reason: reasons[name] },
  decision: isAsked ? "REQUIRE_HUMAN_APPROVAL" : "DENY",
});

export const asData = definePolicySet({
  version: "data-1",
  rules: [
    row("agent.final", "action", { roles: { any: ["agent"] }, effects: ["final_write"] }),
    row("mail.night", "action", { effects: ["external_send"], times: { between: ["22:00", "06:00"] } }),
    row("pay.shell", "action", { operators: ["Pay.Send"], values: [{ path: "to", any: ["shell-*"] }] }),
    row("tenant.frozen", "action", { tenants: ["frozen"] }),
    row("pay.large", "action", { operators: ["Pay.Send"], amounts: [{ path: "sum", above: 5000 }] }, true),
    row("personal.ask", "action", { tags: { any: ["pii"], none: ["consented"] } }, true),
    row("weekend.risky", "action", { risk: ["high"], times: { days: ["sat", "sun"] } }, true),
    row("plan.unplanned", "plan", { tags: { any: ["unplanned"] } }),
    row("draft.secret", "outcome", { tags: { any: ["secret"] } }),
    row("robot.approval", "gate", { tags: { all: ["approve"] }, principals: ["robot"] }),
  ],
});

export const cedarText = `
@id("base")
permit(principal, action, resource);

@id("agent.final") @reason("${reasons["agent.final"]}")
forbid(principal in Role::"agent", action in Action::"final_write", resource);

@id("mail.night") @reason("${reasons["mail.night"]}")
forbid(principal, action in Action::"external_send", resource)
when { context.now.toTime() >= duration("22h") || context.now.toTime() < duration("6h") };

@id("pay.shell") @reason("${reasons["pay.shell"]}")
forbid(principal, action == Action::"Pay.Send", resource) when { resource.payload.to like "shell-*" };

@id("tenant.frozen") @reason("${reasons["tenant.frozen"]}")
forbid(principal in Tenant::"frozen", action in Action::"call", resource);

@id("pay.large") @require_approval("${reasons["pay.large"]}")
permit(principal, action == Action::"Pay.Send", resource) when { resource.payload.sum > 5000 };

@id("personal.ask") @require_approval("${reasons["personal.ask"]}")
permit(principal, action in Action::"call", resource)
when { context.tags.contains("pii") && !context.tags.contains("consented") };

@id("weekend.risky") @require_approval("${reasons["weekend.risky"]}")
permit(principal, action in Action::"call", resource)
when { context has risk && context.risk == "high" && ["sat", "sun"].contains(context.weekday) };

@id("plan.unplanned") @reason("${reasons["plan.unplanned"]}")
forbid(principal, action == Action::"plan", resource) when { context.tags.contains("unplanned") };

@id("draft.secret") @reason("${reasons["draft.secret"]}")
forbid(principal, action in Action::"draft", resource) when { context.tags.contains("secret") };

@id("robot.approval") @reason("${reasons["robot.approval"]}")
forbid(principal, action == Action::"approve", resource) when { principal.id == "robot" };
`;

export const cedarSchema = `
entity Payment in [Capability, Tenant] = { payload: { sum: Long, to: String } };
entity Mail in [Capability, Tenant] = { payload: { to: String } };
entity Note in [Capability, Tenant] = { payload: { text: String } };
action "Pay.Send" in [call, final_write] appliesTo { principal: Principal, resource: Payment, context: Question };
action "Mail.Send" in [call, external_send] appliesTo { principal: Principal, resource: Mail, context: Question };
action "Notes.Write" in [call, write_draft] appliesTo { principal: Principal, resource: Note, context: Question };
action "draft:Note" in [draft] appliesTo { principal: Principal, resource: Note, context: Question };
action approve, reject, delegate in [decide]
  appliesTo { principal: Principal, resource: [Payment, Mail, Note], context: Question };
`;

export const stages = ["plan", "action", "outcome", "gate"] as const;
export const inCedar = cedar({ policies: cedarText, schema: cedarSchema, stages });
/** The same without a schema: nothing is validated beforehand, and it decides alike. */
export const inPlainCedar = cedar({ policies: cedarText, stages, name: "plain" });
export const inRego = opa({ bundle: regoBundle("policies"), stages });
