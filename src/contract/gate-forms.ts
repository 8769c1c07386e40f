/** Forms of gates, of what people decide at them, and of outcomes. */
import { type Expected, Foretold } from "./foretold.ts";
import { empty, type Form, madeOf, none } from "./form.ts";
import { plainGate } from "./gate.ts";
import { instantText } from "./instant.ts";
import type { JsonObject } from "./json.ts";
import { recordOf } from "./stream-context.ts";

const gateNames = [
  ...Object.keys(plainGate),
  "tenant_id",
  "workflow_id",
  "step_id",
  "status",
  "operator",
  "payload",
  "payload_digest",
  "policy_version",
  "estimated_cost",
  "opened_at",
  "gate_id",
  "kind",
  "title",
  "reasons",
  "target",
  "preview",
  "diff",
  "basis",
  "basis_digest",
  "risk_level",
  "effect",
  "consequences",
  "ui_actions",
];

/** A gate that opens is as its step and the policy's decision have it. */
export const gateOpened: Form = (place) => {
  const { context, step: stepId } = place;
  const { step = empty, payload_hash } = context.of(stepId);
  const { shared, facts } = context;
  const { type, id } = facts.actor ?? empty;
  return gateForm({
    ...plainGate,
    requester: facts.actor === undefined ? undefined : { type, id },
    tenant_id: shared?.tenant_id,
    workflow_id: shared?.workflow_id,
    step_id: stepId,
    status: "open",
    operator: step["operator"],
    payload_digest: payload_hash,
    policy_version: facts.policy_version,
    estimated_cost: step["estimated_cost"],
    opened_at: instantText(place.now),
    gate_id: stepId === null ? undefined : `gate-${stepId}`,
    kind: "approval",
    title: step["name"],
    target: null,
    diff: null,
    risk_level: step["risk_level"],
    effect: step["effect"],
    ui_actions: none,
  });
};

/** One that is revised is as it stood. */
export const gateRevised: Form = ({ context, step }) => gateForm(context.of(step).gate ?? empty);

const gateForm = (usual: JsonObject): Foretold => {
  const values = gateNames.map((name): Expected => (name === "preview" ? previewOf : usual[name]));
  return new Foretold(["gate", "cause", "principal"], [new Foretold(gateNames, values)]);
};

const previewOf = ({ payload }: JsonObject): string | undefined => JSON.stringify(payload, null, 2);

const decidedNames = [
  "gate_id",
  "principal",
  "payload_digest",
  "policy_version",
  "outcome_id",
  "outcome_version",
  "basis_digest",
  "edited",
  "resolution",
  "apply_targets",
  "comment",
  "carried_by",
  "signature",
];
const noTarget: JsonObject = Object.freeze({ outcome_id: null, version: null });
/** Who decided on what is said in the row itself, whatever becomes of the row of the gate. */
export const gateDecided: Form = ({ context, step }) => {
  const { gate = empty } = context.of(step);
  const target = gate["target"] === null ? noTarget : recordOf(gate["target"]);
  return new Foretold(decidedNames, [
    gate["gate_id"],
    context.facts.decider,
    undefined,
    gate["policy_version"],
    target["outcome_id"],
    target["version"],
    gate["basis_digest"],
    gate["edited"],
    null,
    none,
    null,
  ]);
};

const outcomeNames = [
  "outcome_id",
  "tenant_id",
  "workflow_id",
  "intent_id",
  "outcome_type",
  "schema_version",
  "status",
  "content",
  "confidence",
  "created_at",
  "version",
  "draft_version",
  "step_id",
];

/** A draft holds what its step made; a final one what the draft before it holds. */
export const outcomeRecorded: Form = (place) => {
  const { context, step: stepId, type } = place;
  const { tenant_id, workflow_id, intent_id } = context.shared ?? {};
  const { step = context.orUsual(undefined, empty), result, action } = context.of(stepId);
  const made = step === undefined ? null : typeof step["applies"] === "string" ? step["applies"] : stepId;
  const before = context.of(made).outcome ?? context.orUsual(empty, firstOf(step ?? empty));
  const isFinal = type === "OUTCOME_FINALIZED";
  const outcome = [
    before["outcome_id"],
    tenant_id,
    workflow_id,
    intent_id,
    before["outcome_type"],
    context.facts.version,
    isFinal ? "final" : "draft",
    isFinal ? before["content"] : madeOf(result).data,
    before["confidence"],
    instantText(place.now),
    typeof before["version"] === "number" ? before["version"] + 1 : undefined,
    before["draft_version"],
    made ?? undefined,
  ];
  return new Foretold(["outcome", "action_id"], [new Foretold(outcomeNames, outcome), action?.["action_id"]]);
};

const firstOf = ({ outcome, draft_version }: JsonObject): JsonObject => ({
  outcome_type: outcome,
  confidence: 1,
  version: 0,
  draft_version,
});
