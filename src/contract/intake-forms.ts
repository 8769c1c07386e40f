/** Forms of what comes in and is planned: requests, contexts, plans, and the policy's decisions. */
import { Foretold, ForetoldList } from "./foretold.ts";
import { empty, type Form, none } from "./form.ts";
import { deepFreeze, type JsonObject } from "./json.ts";
import { recordOf, type StreamContext } from "./stream-context.ts";

const allScopes = deepFreeze(["intent:submit", "workflow:execute", "outcome:read", "gate:approve"]);
const plainData = deepFreeze({ allow_pii: true, allow_external_send: false });
const byInputs = deepFreeze({ strategy: "inputs", target: null });
const dataOnly = deepFreeze(["data"]);

const intentNames = [
  "intent_id",
  "type",
  "version",
  "actor",
  "scope",
  "inputs",
  "constraints",
  "context_refs",
  "text",
  "source",
];
const receivedNames = [
  "intent",
  "auth",
  "plan_id",
  "pipeline",
  "complexity",
  "domain",
  "urgency",
  "warnings",
  "parent_workflow_id",
  "draft_version",
  "regenerate",
  "requesters",
  "feedback",
  "submission",
  "spent_calls",
];

export const received: Form = ({ context }) => {
  const { intent_id, plan_id } = context.shared ?? {};
  const intent = [intent_id, undefined, "1.0", undefined, null, empty, empty, empty, "", "api"];
  const auth = (members: JsonObject) => authForm(context, recordOf(members["intent"])["actor"]);
  const plain = ["standard", "simple", undefined, "normal", none, null, 1];
  return new Foretold(receivedNames, [new Foretold(intentNames, intent), auth, plan_id, ...plain]);
};

const authNames = ["tenant_id", "principal_id", "principal_type", "role", "scopes", "data_policy"];
function authForm({ shared }: StreamContext, principal: unknown): Foretold {
  const { id, type, role } = recordOf(principal);
  return new Foretold(authNames, [shared?.tenant_id, id, type, role, allScopes, plainData]);
}

const profileNames = ["tenant_id", "principal_id", "role", "fields"];
const bundleNames = [
  "profile",
  "thread_id",
  "memory",
  "semantic",
  "scope",
  "entities",
  "documents",
  "thread_summary",
  "recent_events",
  "context_hash",
];

export const contextBuilt: Form = ({ context: { shared, facts } }) => {
  const { id, role } = facts.actor ?? empty;
  const profile = new Foretold(profileNames, [shared?.tenant_id, id, role, empty]);
  const bundle = [profile, shared?.thread_id, none, none, null, none, none, null, none];
  return new Foretold(["bundle", "cache_hit"], [new Foretold(bundleNames, bundle), false]);
};

const stepNames = [
  "step_id",
  "name",
  "operator",
  "operator_version",
  "params",
  "literals",
  "depends_on",
  "outcome",
  "applies",
  "outputs",
  "policy_tags",
  "risk_level",
  "effect",
  "gate",
  "idempotency",
  "weight",
  "estimated_cost",
  "priority",
  "draft_version",
];
const planNames = [
  "plan_id",
  "parent_plan_id",
  "workflow_id",
  "intent_id",
  "round",
  "reasoning",
  "direct_response",
  "steps",
  "gates",
  "continues",
];

export const planCreated: Form = ({ context }) => {
  const { plan_id, workflow_id, intent_id } = context.shared ?? {};
  const steps = new ForetoldList(() => stepsAfter(context));
  const plan = [plan_id, null, workflow_id, intent_id, 0, undefined, null, steps, gatesIn];
  return new Foretold(["plan", "planner_cost", "cause", "named"], [new Foretold(planNames, plan), 0, "submit"]);
};

const gatesIn = (plan: JsonObject): readonly string[] => {
  const steps = Array.isArray(plan["steps"]) ? plan["steps"].map(recordOf) : [];
  return steps
    .filter(({ gate }) => gate !== null && gate !== undefined)
    .map(({ step_id }) => `gate-${String(step_id)}`);
};

/** A step is as the one before it that calls the same operator, and depends on the one before it. */
function stepsAfter(context: StreamContext): (before: unknown) => Foretold {
  const seen = new Map(context.operators);
  return (item) => {
    const before = item === undefined ? undefined : recordOf(item);
    if (before !== undefined) seen.set(before["operator"], before);
    const depends = before === undefined ? none : [before["step_id"]];
    const like =
      (name: string, plain: unknown) =>
      ({ operator }: JsonObject): unknown =>
        seen.get(operator)?.[name] ?? context.orUsual(undefined, plain);
    return new Foretold(stepNames, [
      undefined,
      undefined,
      before?.["operator"],
      like("operator_version", "1.0"),
      undefined,
      undefined,
      depends,
      null,
      null,
      like("outputs", dataOnly),
      like("policy_tags", none),
      like("risk_level", "low"),
      like("effect", "none"),
      null,
      byInputs,
      1,
      like("estimated_cost", 0),
      0,
      1,
    ]);
  };
}

const policyNames = [
  "decision",
  "reason",
  "decided_by",
  "transform",
  "redactions",
  "policies",
  "policy_version",
  "stage",
  "subject",
  "payload_hash",
  "by",
  "payload",
  "asked_at",
];

export const policyDecided: Form = ({ context, step }) => {
  const { gate } = context.of(step);
  const stage = step === null ? "plan" : "action";
  const digest = (members: JsonObject) => (members["stage"] === "gate" ? gate?.["payload_digest"] : undefined);
  const subject = ({ stage }: JsonObject): unknown => {
    if (stage === "gate") return gate?.["gate_id"];
    if (stage === "plan") return context.shared?.plan_id;
    return context.of(step).step?.[stage === "outcome" ? "outcome" : "name"];
  };
  const { policy_version } = context.facts;
  const auth = (by: JsonObject) => authForm(context, by["principal"]);
  const by = new Foretold(["decision", "principal", "auth", "to"], ["approve", undefined, auth], true);
  const allow = ["ALLOW", "no rule matched", undefined, null, none, none, policy_version];
  return new Foretold(policyNames, [...allow, stage, subject, digest, by]);
};
