/**
 * The content of a log line: a list of allowed names. The names of other members are shown, their values are not.
 *
 * 1.  A value is shown if its name is in `plainNames`, and it is a number, a boolean, null or a short text.
 * 2.  Class, code, place and frames of an error and of its causes are shown; never its message or detail, which may
 *     contain text of a caller, an operator or a model.
 * 3.  Tokens are removed from every text that is shown, whatever its name.
 */
import { hidden, scrubSecrets } from "../../contract/secret.ts";

export { hidden };

const plainNames: ReadonlySet<string> = new Set([
  "action_id",
  "attempt",
  "code",
  "correlation_id",
  "count",
  "due_at",
  "error_id",
  "gate_id",
  "host",
  "intent_type",
  "level",
  "limit",
  "method",
  "module",
  "ms",
  "operator",
  "port",
  "principal_id",
  "principal_type",
  "request_id",
  "restarts",
  "retry_in_ms",
  "role",
  "route",
  "rule",
  "sequence",
  "stage",
  "state",
  "status",
  "step_id",
  "tenant_id",
  "tier",
  "trace_id",
  "version",
  "workflow_id",
]);

/** The limits of one line on a text, on frames and on causes. */
const most = { chars: 256, frames: 8, causes: 4, names: 40 } as const;

export const scrubText = (text: string): string => {
  const scrubbed = scrubSecrets(text);
  return scrubbed.length > most.chars ? `${scrubbed.slice(0, most.chars)}…` : scrubbed;
};

/** Returns the visible part of a line's detail; `allow` are further names whose values the host knows to be plain. */
export function redact(detail: object, allow: ReadonlySet<string> = new Set()): Record<string, unknown> {
  if (detail instanceof Error) return { error: describeError(detail) };
  const shown: Record<string, unknown> = {};
  for (const name of Object.keys(detail).slice(0, most.names)) shown[scrubText(name)] = showMember(detail, name, allow);
  return shown;
}

function showMember(detail: object, name: string, allow: ReadonlySet<string>): unknown {
  try {
    const value = (detail as Readonly<Record<string, unknown>>)[name];
    if (isError(value)) return describeError(value);
    return plainNames.has(name) || allow.has(name) ? showPlain(value) : hidden;
  } catch {
    return hidden;
  }
}

function showPlain(value: unknown): unknown {
  if (typeof value === "string") return scrubText(value);
  return typeof value === "number" || typeof value === "boolean" || value === null ? value : hidden;
}

interface ErrorShape {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly category?: unknown;
  readonly source?: unknown;
  readonly message?: unknown;
  readonly stack?: unknown;
  readonly cause?: unknown;
  readonly error?: unknown;
}

/** Returns whether a value is an error; a KernelError is recognised by its code and source. */
const isError = (value: unknown): value is ErrorShape =>
  value instanceof Error || (typeof value === "object" && value !== null && "code" in value && "source" in value);

function describeError(error: ErrorShape, depth = 0): object {
  // An error that carries a KernelError is shown as that, with its own frames.
  const { code, category, source, cause } = isError(error.error) ? error.error : error;
  const below = isError(cause) && depth < most.causes ? { cause: describeError(cause, depth + 1) } : {};
  return {
    ...(error instanceof Error ? { name: showPlain(error.name) } : {}),
    ...(code === undefined ? {} : { code: showPlain(code) }),
    ...(category === undefined ? {} : { category: showPlain(category) }),
    ...placeOf(source),
    ...framesOf(error),
    ...below,
  };
}

function placeOf(source: unknown): object {
  if (typeof source !== "object" || source === null) return {};
  const { tier, module, function: verb } = source as Readonly<Record<string, unknown>>;
  return { at: scrubText(`T${String(tier)} ${String(module)}.${String(verb)}`) };
}

/**
 * Returns the frames of a stack. A stack begins with the message: if it is not found, the text before the frames cannot
 * be separated from them.
 */
function framesOf({ stack, message }: ErrorShape): object {
  if (typeof stack !== "string" || typeof message !== "string" || !stack.includes(message)) return {};
  const lines = stack.slice(stack.indexOf(message) + message.length).split("\n");
  const frames = lines.map((line) => line.trim()).filter((line) => frame.test(line));
  return { frames: frames.slice(0, most.frames).map(scrubText) };
}

const frame = /^at .*(?::\d+:\d+|<anonymous>|native)\)?$/;
