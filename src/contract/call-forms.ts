/** Forms of steps and the calls that they make. */
import { Affixed, type Expected } from "./foretold.ts";
import { type EventPlace, empty, form, told } from "./form.ts";
import type { StreamContext } from "./stream-context.ts";

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

const startedBy = (name: string): Expected<EventPlace> => told(({ own }) => own.action?.[name]);

export const actionStarted = form(startNames, [
  told(({ own }) => own.step?.["operator"]),
  told(({ own: { action } }) => (typeof action?.["attempt"] === "number" ? action["attempt"] + 1 : 1)),
  startedBy("action_id"),
  told(({ own: { step }, context: { shared } }) => {
    const { operator, draft_version } = step ?? empty;
    const head = step === undefined || shared === null ? null : `${String(operator)}:${shared.tenant_id}:`;
    return new Affixed(head, `:v${String(draft_version)}`);
  }),
  told(({ own }) => own.step?.["operator_version"]),
  told(({ own }) => own.payload_hash),
  told(({ own, context }) => timeoutOf(context, own.step?.["operator"])),
  told(({ own: { action, gate } }) => (action === undefined ? gate?.["payload"] : undefined)),
  undefined,
  told(({ own: { action } }) => action?.["outcome_id"] ?? null),
  undefined,
  form(
    ["id", "cost", "resources"],
    [told(({ context: { facts } }) => (facts.token === undefined ? undefined : facts.token + 1))],
  ),
]);

const timeoutOf = (context: StreamContext, operator: unknown): unknown =>
  context.timeouts.get(operator) ?? plainTimeoutMs;

const succeededNames = [
  ...["operator_name", "attempt", "action_id", "result", "usage", "cached"],
  ...["answered_by", "late", "outcome_id"],
];
const called = [startedBy("operator_name"), startedBy("attempt"), startedBy("action_id")];
export const actionSucceeded = form(succeededNames, [
  ...called,
  ...[undefined, empty, false, undefined, false],
  startedBy("outcome_id"),
]);

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
export const actionFailed = form(failedNames, [
  ...called,
  ...[undefined, undefined, false, true, false, empty, false],
  startedBy("outcome_id"),
]);

export const stepSucceeded = form(
  ["action_id", "output", "output_text", "status", "cost"],
  [
    startedBy("action_id"),
    told(({ made }) => made.data),
    told(({ made }) => made.output_text),
    "COMPLETED",
    told(({ own }) => own.step?.["estimated_cost"]),
  ],
);

const failedBy = (name: string): Expected<EventPlace> => told(({ own }) => own.failure?.[name]);
export const stepFailed = form(["error", "category", "blocked"], [failedBy("error"), failedBy("category"), false]);
