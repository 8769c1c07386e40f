/** Forms of steps and the calls that they make. */
import { Affixed, Foretold } from "./foretold.ts";
import { empty, type Form, madeOf } from "./form.ts";

const plainTimeoutMs = 60_000;

const startNames = [
  "operator_name",
  "attempt",
  "action_id",
  "key",
  "operator_version",
  "payload_hash",
  "timeout_ms",
  "input",
  "recovered",
  "outcome_id",
  "claim",
  "token",
];

export const actionStarted: Form = ({ context, step: stepId }) => {
  const { shared, facts, timeouts } = context;
  const { step, action, payload_hash, gate } = context.of(stepId);
  const { operator, operator_version, draft_version } = step ?? empty;
  const attempt = typeof action?.["attempt"] === "number" ? action["attempt"] + 1 : context.orUsual(undefined, 1);
  const head = step === undefined || shared === null ? null : `${String(operator)}:${shared.tenant_id}:`;
  const next = facts.token === undefined ? undefined : facts.token + 1;
  return new Foretold(startNames, [
    operator,
    attempt,
    action?.["action_id"],
    new Affixed(head, `:v${String(draft_version)}`),
    operator_version,
    payload_hash,
    timeouts.get(operator) ?? context.orUsual(undefined, plainTimeoutMs),
    action === undefined ? context.orUsual(undefined, gate?.["payload"]) : undefined,
    undefined,
    action?.["outcome_id"] ?? context.orUsual(undefined, null),
    undefined,
    new Foretold(["id", "cost", "resources"], [next]),
  ]);
};

const succeededNames = [
  ...["operator_name", "attempt", "action_id", "result", "usage", "cached"],
  ...["answered_by", "late", "outcome_id"],
];
export const actionSucceeded: Form = ({ context, step }) => {
  const { operator_name, attempt, action_id, outcome_id } = context.of(step).action ?? empty;
  const plain = [undefined, empty, false, undefined, false];
  return new Foretold(succeededNames, [operator_name, attempt, action_id, ...plain, outcome_id]);
};

const failedNames = [
  "operator_name",
  "attempt",
  "action_id",
  "error",
  "category",
  "retryable",
  "final",
  "pending",
  "usage",
  "cached",
  "outcome_id",
];
export const actionFailed: Form = ({ context, step }) => {
  const { operator_name, attempt, action_id, outcome_id } = context.of(step).action ?? empty;
  const judged = [undefined, undefined, false, true, false, empty, false];
  return new Foretold(failedNames, [operator_name, attempt, action_id, ...judged, outcome_id]);
};

export const stepSucceeded: Form = ({ context, step: stepId }) => {
  const { step, action, result } = context.of(stepId);
  const { data, output_text } = madeOf(result);
  return new Foretold(
    ["action_id", "output", "output_text", "status", "cost"],
    [action?.["action_id"], data, output_text, "COMPLETED", step?.["estimated_cost"]],
  );
};

export const stepFailed: Form = ({ context, step }) => {
  const { error, category } = context.of(step).failure ?? empty;
  return new Foretold(["error", "category", "blocked"], [error, category, false]);
};
