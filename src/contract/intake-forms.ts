/** Forms of what comes in and is planned: requests, contexts, plans, and the policy's decisions. */
import { type Expected, Foretold, ForetoldList } from "./foretold.ts";
import { type EventPlace, empty, form, none, sharedBy, told } from "./form.ts";
import { deepFreeze, type JsonObject } from "./json.ts";
import { recordOf } from "./stream-context.ts";

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

const authNames = ["tenant_id", "principal_id", "principal_type", "role", "scopes", "data_policy"];
/** Of the person that `principalIn` finds among the members before it. */
function authForm(principalIn: (earlier: JsonObject) => unknown): Expected<EventPlace> {
  return told(({ context }, earlier) => {
    const { id, type, role } = recordOf(principalIn(earlier));
    return new Foretold(authNames, [context.shared?.tenant_id, id, type, role, allScopes, plainData]);
  });
}

const intent = form(intentNames, [
  sharedBy("intent_id"),
  ...[undefined, "1.0", undefined, null, empty, empty, empty, "", "api"],
]);
export const received = form(receivedNames, [
  intent,
  authForm((members) => recordOf(members["intent"])["actor"]),
  sharedBy("plan_id"),
  ...["standard", "simple", undefined, "normal", none, null, 1],
]);

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

const actorBy = (name: string): Expected<EventPlace> => told(({ context }) => context.facts.actor?.[name]);
const profile = form(profileNames, [sharedBy("tenant_id"), actorBy("id"), actorBy("role"), empty]);
const bundle = form(bundleNames, [profile, sharedBy("thread_id"), ...[none, none, null, none, none, null, none]]);
export const contextBuilt = form(["bundle", "cache_hit"], [bundle, false]);

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

const gatesIn = told((_, plan) => {
  const steps = Array.isArray(plan["steps"]) ? plan["steps"].map(recordOf) : [];
  return steps
    .filter(({ gate }) => gate !== null && gate !== undefined)
    .map(({ step_id }) => `gate-${String(step_id)}`);
});

/** As of the step before it that calls the same operator. */
const like = (name: string, plain: unknown): Expected<EventPlace> =>
  told((place, { operator }) => place.callerOf(operator)?.[name] ?? plain);

/** A step is as the one before it that calls the same operator, and depends on the one before it. */
const planStep = form(stepNames, [
  undefined,
  undefined,
  told(({ before }) => before?.["operator"]),
  like("operator_version", "1.0"),
  undefined,
  undefined,
  told(({ before }) => (before === undefined ? none : [before["step_id"]])),
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

const plan = form(planNames, [
  sharedBy("plan_id"),
  null,
  sharedBy("workflow_id"),
  sharedBy("intent_id"),
  ...[0, undefined, null],
  new ForetoldList(planStep, (place: EventPlace, before) => place.passStep(before)),
  gatesIn,
]);
export const planCreated = form(["plan", "planner_cost", "cause", "named"], [plan, 0, "submit"]);

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

const judged = told(({ context, own: { step, gate } }, { stage }) => {
  if (stage === "gate") return gate?.["gate_id"];
  if (stage === "plan") return context.shared?.plan_id;
  return step?.[stage === "outcome" ? "outcome" : "name"];
});

const judgedBy = form(
  ["decision", "principal", "auth", "to"],
  ["approve", undefined, authForm((by) => by["principal"])],
  true,
);
export const policyDecided = form(policyNames, [
  ...["ALLOW", "no rule matched", undefined, null, none, none],
  told(({ context }) => context.facts.policy_version),
  told(({ step }) => (step === null ? "plan" : "action")),
  judged,
  told(({ own: { gate } }, { stage }) => (stage === "gate" ? gate?.["payload_digest"] : undefined)),
  judgedBy,
]);
