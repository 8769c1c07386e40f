/** Forms of gates, of what people decide at them, and of outcomes. */
import type { Expected } from "./foretold.ts";
import { type EventPlace, empty, type Form, form, none, sharedBy, told } from "./form.ts";
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

const stepBy = (name: string): Expected<EventPlace> => told(({ own }) => own.step?.[name]);
const gateBy = (name: string): Expected<EventPlace> => told(({ own }) => own.gate?.[name]);
/** A gate that opens is as its step and the policy's decision have it. */
const opening: Readonly<Record<string, Expected<EventPlace>>> = {
  ...plainGate,
  requester: told(({ context: { facts } }) =>
    facts.actor === undefined ? undefined : { type: facts.actor["type"], id: facts.actor["id"] },
  ),
  tenant_id: sharedBy("tenant_id"),
  workflow_id: sharedBy("workflow_id"),
  step_id: told(({ step }) => step),
  status: "open",
  operator: stepBy("operator"),
  payload_digest: told(({ own }) => own.payload_hash),
  policy_version: told(({ context }) => context.facts.policy_version),
  estimated_cost: stepBy("estimated_cost"),
  opened_at: told(({ now }) => instantText(now)),
  gate_id: told(({ step }) => (step === null ? undefined : `gate-${step}`)),
  kind: "approval",
  title: stepBy("name"),
  target: null,
  diff: null,
  risk_level: stepBy("risk_level"),
  effect: stepBy("effect"),
  ui_actions: none,
};

const previewOf = told((_, { payload }) => JSON.stringify(payload, null, 2));

const gateForm = (usual: (name: string) => Expected<EventPlace>): Form => {
  const values = gateNames.map((name) => (name === "preview" ? previewOf : usual(name)));
  return form(["gate", "cause", "principal"], [form(gateNames, values)]);
};

export const gateOpened = gateForm((name) => opening[name]);

/** One that is revised is as it stood. */
export const gateRevised = gateForm(gateBy);

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
const targetBy = (name: string): Expected<EventPlace> =>
  told(({ own: { gate = empty } }) => (gate["target"] === null ? noTarget : recordOf(gate["target"]))[name]);

/** Who decided on what is said in the row itself, whatever becomes of the row of the gate. */
export const gateDecided = form(decidedNames, [
  gateBy("gate_id"),
  told(({ context }) => context.facts.decider),
  undefined,
  gateBy("policy_version"),
  targetBy("outcome_id"),
  targetBy("version"),
  gateBy("basis_digest"),
  gateBy("edited"),
  ...[null, none, null],
]);

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

/** The step that made it: its own, or the one that applies it. */
const makerOf = ({ step: stepId, own }: EventPlace): string | null => {
  const step = own.step ?? empty;
  return typeof step["applies"] === "string" ? step["applies"] : stepId;
};

/** The version before it. */
const before = (place: EventPlace): JsonObject =>
  place.context.of(makerOf(place)).outcome ?? firstOf(place.own.step ?? empty);
const beforeBy = (name: string): Expected<EventPlace> => told((place) => before(place)[name]);

/** A draft holds what its step made; a final one what the draft before it holds. */
const outcome = form(outcomeNames, [
  beforeBy("outcome_id"),
  sharedBy("tenant_id"),
  sharedBy("workflow_id"),
  sharedBy("intent_id"),
  beforeBy("outcome_type"),
  told(({ context }) => context.facts.version),
  told(({ type }) => (type === "OUTCOME_FINALIZED" ? "final" : "draft")),
  told((place) => (place.type === "OUTCOME_FINALIZED" ? before(place)["content"] : place.made.data)),
  beforeBy("confidence"),
  told(({ now }) => instantText(now)),
  told((place) => {
    const { version } = before(place);
    return typeof version === "number" ? version + 1 : undefined;
  }),
  beforeBy("draft_version"),
  told((place) => makerOf(place) ?? undefined),
]);
export const outcomeRecorded = form(["outcome", "action_id"], [outcome, told(({ own }) => own.action?.["action_id"])]);

const firstOf = ({ outcome, draft_version }: JsonObject): JsonObject => ({
  outcome_type: outcome,
  confidence: 1,
  version: 0,
  draft_version,
});
