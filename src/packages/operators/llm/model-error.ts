/**
 * Converts an error that a model provider threw, or put into its stream, to an operator's error.
 *
 * Owns: which failures may pass (try again, elsewhere or later) and which will not. Read by name and shape, so that
 * errors of any copy of the interface package are known. Never: repeats a request's body, an address or a header: they
 * may hold what a ledger must not keep.
 * 1.  The message is ours, because the requester reads it; a provider's own message is a detail (`said`).
 */
import { OperatorError, type OperatorErrorOptions, operatorError } from "../../../define/define-operator.ts";
import { readRetryAfterMs } from "../../../protocol/read-retry-after.ts";

interface Kind extends Pick<OperatorErrorOptions, "code" | "category" | "retryable"> {
  /** The message for the requester of the work. */
  readonly message: string;
}

const kind = (code: string, message: string, category: "transient" | "dependency" | "validation"): Kind => ({
  code,
  message,
  category,
  retryable: category === "transient",
});

const rateLimited = kind("MODEL_RATE_LIMITED", "it is called too often", "transient");
const unavailable = kind("MODEL_UNAVAILABLE", "it is not available now", "transient");
const badAnswer = kind("MODEL_ANSWER_INVALID", "its answer cannot be read", "transient");
const accessRefused = kind("MODEL_ACCESS_REFUSED", "access was refused", "dependency");
const unknownModel = kind("MODEL_UNKNOWN", "its provider does not know it", "dependency");
const unsupported = kind("MODEL_UNSUPPORTED", "it cannot do what was asked", "dependency");
const requestRefused = kind("MODEL_REQUEST_REFUSED", "its provider refused the request", "validation");
/** Nobody says why it failed: another attempt may go to another endpoint. */
const failed: Kind = { ...kind("MODEL_FAILED", "it failed", "dependency"), retryable: true };

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

const maxWordChars = 500;

/** The members of errors of the interface beside their name. */
interface Shape {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly statusCode?: unknown;
  readonly isRetryable?: unknown;
  readonly responseHeaders?: unknown;
}

/** Returns the operator error. @param thrown anything; an operator error passes unchanged. */
export function modelError(thrown: unknown, endpoint: string): OperatorError {
  if (thrown instanceof OperatorError) return thrown;
  const shape: Shape = typeof thrown === "object" && thrown !== null ? thrown : { message: thrown };
  const { message, ...kind } = kindOf(shape);
  const status = typeof shape.statusCode === "number" ? { status: shape.statusCode } : {};
  return operatorError({
    ...kind,
    message: `${endpoint}: ${message}`,
    retry_after_ms: kind.category === "transient" ? readRetryAfterMs(shape.responseHeaders) : null,
    details: { endpoint, ...status, ...(kind.code === accessRefused.code ? {} : wordsOf(shape.message)) },
  });
}

function kindOf({ name, statusCode, isRetryable }: Shape): Kind {
  const named = kindByName.get(String(name));
  if (named !== undefined) return named;
  if (typeof statusCode !== "number") return isRetryable === true ? unavailable : failed;
  const known = kindByStatus.get(statusCode);
  if (known !== undefined) return known;
  if (statusCode >= 200 && statusCode < 300) return badAnswer;
  if (statusCode >= 500 || isRetryable === true) return unavailable;
  return statusCode >= 400 ? requestRefused : failed;
}

const wordsOf = (message: unknown): { readonly provider_message?: string } =>
  typeof message === "string" && message !== "" ? { provider_message: message.slice(0, maxWordChars) } : {};
