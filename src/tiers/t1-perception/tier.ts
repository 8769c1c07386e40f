/**
 * T1, perception: is it well formed, is it safe, and what is it.
 *
 * Owns: security validation of what a user wrote, typing, urgency, the canonical Intent, and the form that failures of
 * external calls take. Never: fetches, plans, or interprets business content.
 */
import { type KernelError, raise } from "../../contract/error.ts";
import { kernelError, rpcCodeByCategory } from "../../contract/error-codes.ts";
import type { BegunIntake, Intake } from "../../contract/intake.ts";
import type { ParsedSubmitRequest } from "../../contract/intent.ts";
import { follow } from "../../contract/maybe-promise.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { partial, type Result } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import { answerData } from "../../engine/actors/answer.ts";
import type { TierDefinition } from "../../engine/actors/define-tier.ts";
import type { Registry } from "../../engine/actors/registry.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import { callWithin } from "../../engine/actors/within.ts";
import type { Classifier, Scorers, Security } from "../../ports/perception.ts";
import { createErrorResponse } from "../../protocol/envelope.ts";
import { classifyText, type Perceived } from "./classify.ts";
import { normalizeIntent } from "./normalize-intent.ts";

export interface PerceptionTierOptions {
  readonly registry: Registry;
  readonly security: Security;
  readonly classifier: Classifier;
  readonly scorers: Scorers;
  readonly fallbackIntent: string | null;
  readonly minConfidence: number;
}

/** What intake sends to be normalised. */
export interface NormalizeQuestion extends BegunIntake {
  readonly request: ParsedSubmitRequest;
  readonly perceived: Perceived | null;
  readonly intent_id: string;
}

const refs = {
  classification: moduleRef(1, "classification", "classify"),
  normalizer: moduleRef(1, "normalizer", "normalize"),
  validation: moduleRef(1, "input_validation", "format_failure"),
  security: moduleRef(1, "input_validation", "validate_input"),
} as const;

export function createPerceptionTier(options: PerceptionTierOptions): TierDefinition {
  return {
    tier: 1,
    name: "perception",
    doors: {
      text: {
        module: "classification",
        function: "classify",
        handle: (signal, runtime) => perceive(options, signal, runtime),
      },
      "data:SubmitRequest": {
        module: "normalizer",
        function: "normalize",
        next: 6,
        handle: (signal, runtime) => normalize(options, signal, runtime),
      },
      "data:ExternalFailure": { module: "input_validation", function: "format_failure", handle: formatFailure },
    },
  };
}

/** A text is checked, typed and scored. Low confidence is a PARTIAL with the fallback. */
async function perceive(options: PerceptionTierOptions, signal: Signal, runtime: Runtime): Promise<Result> {
  const text = String(signal.body["text"]);
  await checkSafe(options.security, text, runtime);
  const { perceived, error } = await classifyText(options, text, runtime);
  const tags = { urgency: options.scorers.urgency(text), domain: perceived.domain };
  const out = answerData(runtime, signal, { data: perceived, schema: "Perceived", ref: refs.classification, tags });
  return error === null ? out : partial(out.signals, error, out.metrics);
}

function checkSafe(security: Security, text: string, runtime: Runtime): void | Promise<void> {
  runtime.telemetry.mark?.("security.validate", { chars: text.length });
  const within = {
    clock: runtime.clock,
    timeoutMs: runtime.limits.securityTimeoutMs,
    source: refs.security,
    onTimeout: "T1_SECURITY_INPUT_REFUSED",
    onThrow: "T1_SECURITY_INPUT_REFUSED",
    what: "security.validate",
  } as const;
  const answer = callWithin(() => security.validate(text), within);
  return follow(answer, (verdict) => {
    if (verdict?.ok === true) return;
    const why = verdict?.reason ?? "no verdict";
    raise(kernelError("T1_SECURITY_INPUT_REFUSED", `input refused: ${why}`, refs.security));
  });
}

function normalize(options: PerceptionTierOptions, signal: Signal, runtime: Runtime): Result | Promise<Result> {
  const { request, perceived } = signal.body["data"] as NormalizeQuestion;
  const inputs = request.intent_hint?.inputs ?? {};
  const isSafe =
    perceived === null || Object.keys(inputs).length > 0
      ? checkSafe(options.security, JSON.stringify(inputs), runtime)
      : undefined;
  return follow(isSafe, () => takeIn(options, signal, runtime));
}

function takeIn(options: PerceptionTierOptions, signal: Signal, runtime: Runtime): Result {
  const question = signal.body["data"] as NormalizeQuestion;
  const { request, perceived, intent_id: _id, ...begun } = question;
  const { tenant_id, thread_id } = request;
  const intent = normalizeIntent(options.registry, question);
  const domain = perceived?.domain ?? (intent.type.split(".")[0] ?? "general").toLowerCase();
  const urgency = perceived?.urgency ?? "normal";
  const data: Intake = {
    ...begun,
    tenant_id,
    thread_id,
    intent,
    domain,
    urgency,
    warnings: perceived?.warnings ?? [],
  };
  const tags = { urgency, domain };
  return answerData(runtime, signal, { data, schema: "NormalizedIntent", ref: refs.normalizer, tags });
}

/** A failed external call or a malformed message, as the error object everybody can read (seed 004, RPC-14). */
function formatFailure(signal: Signal, runtime: Runtime): Result {
  const { request_id, error } = signal.body["data"] as { readonly request_id: string; readonly error: KernelError };
  const response = createErrorResponse(request_id, rpcCodeByCategory.external, error.message, {
    kernel: { code: error.code, category: error.category, severity: error.severity },
  });
  return answerData(runtime, signal, { data: response, schema: "RpcErrorResponse", ref: refs.validation });
}
