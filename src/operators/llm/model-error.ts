// What a model provider threw, or put into its stream, as an operator's error.
// Owns: which failures may pass (try again, elsewhere or later) and which will not. Read by name and shape, so that errors
// of any copy of the interface package are known.
// Never: repeats a request's body, an address or a header: they may hold what a ledger must not keep.

import { OperatorError, type OperatorErrorOptions, operatorError } from "../../define/define-operator.ts";

type Kind = Pick<OperatorErrorOptions, "code" | "category" | "retryable">;

const rateLimited: Kind = { code: "MODEL_RATE_LIMITED", category: "transient" };
const unavailable: Kind = { code: "MODEL_UNAVAILABLE", category: "transient" };
const badAnswer: Kind = { code: "MODEL_ANSWER_INVALID", category: "transient" };
const accessRefused: Kind = { code: "MODEL_ACCESS_REFUSED", category: "dependency", retryable: false };
const unknownModel: Kind = { code: "MODEL_UNKNOWN", category: "dependency", retryable: false };
const unsupported: Kind = { code: "MODEL_UNSUPPORTED", category: "dependency", retryable: false };
const requestRefused: Kind = { code: "MODEL_REQUEST_REFUSED", category: "validation" };
/** Nobody says why it failed: another attempt may go to another endpoint. */
const failed: Kind = { code: "MODEL_FAILED", category: "dependency", retryable: true };

const kindByName: ReadonlyMap<string, Kind> = new Map([
  ["AI_LoadAPIKeyError", accessRefused],
  ["AI_LoadSettingError", accessRefused],
  ["AI_NoSuchModelError", unknownModel],
  ["AI_NoSuchProviderReferenceError", unknownModel],
  ["AI_UnsupportedFunctionalityError", unsupported],
  ["AI_InvalidPromptError", requestRefused],
  ["AI_InvalidArgumentError", requestRefused],
  ["AI_EmptyResponseBodyError", badAnswer],
  ["AI_NoContentGeneratedError", badAnswer],
  ["AI_InvalidResponseDataError", badAnswer],
  ["AI_JSONParseError", badAnswer],
  ["AI_TypeValidationError", badAnswer],
]);

const kindByStatus: ReadonlyMap<number, Kind> = new Map([
  [401, accessRefused],
  [402, accessRefused],
  [403, accessRefused],
  [404, unknownModel],
  [408, unavailable],
  [409, unavailable],
  [429, rateLimited],
]);

/** A pause that a provider asks for is heeded up to this. */
const maxRetryAfterMs = 600_000;
const maxMessageChars = 500;

/** What errors of the interface have beside their name. */
interface Shape {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly statusCode?: unknown;
  readonly isRetryable?: unknown;
  readonly responseHeaders?: unknown;
}

/** @param thrown anything; an operator error passes as it is. */
export function modelError(thrown: unknown, endpoint: string): OperatorError {
  if (thrown instanceof OperatorError) return thrown;
  const shape: Shape = typeof thrown === "object" && thrown !== null ? thrown : { message: thrown };
  const kind = kindOf(shape);
  const status = typeof shape.statusCode === "number" ? { status: shape.statusCode } : {};
  return operatorError({
    ...kind,
    message: `${endpoint}: ${kind === accessRefused ? "access was refused" : textOf(shape.message)}`,
    retry_after_ms: kind.category === "transient" ? readRetryAfter(shape.responseHeaders) : null,
    details: { endpoint, ...status },
  });
}

function kindOf({ name, statusCode, isRetryable }: Shape): Kind {
  const named = kindByName.get(String(name));
  if (named !== undefined) return named;
  if (typeof statusCode !== "number") return isRetryable === true ? unavailable : failed;
  const known = kindByStatus.get(statusCode);
  if (known !== undefined) return known;
  if (statusCode >= 500 || isRetryable === true) return unavailable;
  return statusCode >= 400 ? requestRefused : failed;
}

const textOf = (message: unknown): string =>
  typeof message === "string" && message !== "" ? message.slice(0, maxMessageChars) : "it failed without a message";

/** Milliseconds, from `retry-after-ms`, or `retry-after` in seconds or as a date against the answer's own. */
function readRetryAfter(headers: unknown): number | null {
  if (typeof headers !== "object" || headers === null) return null;
  const { "retry-after-ms": ms, "retry-after": after, date } = headers as Readonly<Record<string, unknown>>;
  const waits = [
    Number(ms ?? Number.NaN),
    1000 * Number(after ?? Number.NaN),
    Date.parse(`${after}`) - Date.parse(`${date}`),
  ];
  const wait = waits.find((candidate) => Number.isFinite(candidate) && candidate >= 0);
  return wait === undefined ? null : Math.min(maxRetryAfterMs, Math.ceil(wait));
}
