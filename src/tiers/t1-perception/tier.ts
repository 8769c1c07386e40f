/**
 * T1, perception: checks that a request is well formed and safe, and determines its type.
 *
 * Owns: security validation of user text, typing, urgency, the canonical Intent, and the form of failures of external
 * calls. Never: fetches, plans, or interprets business content.
 */
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { rpcCodeByCategory } from "../../contract/error-row.ts";
import type { Intake } from "../../contract/intake.ts";
import { follow } from "../../contract/maybe-promise.ts";
import { type ExternalFailure, type NormalizeQuestion, t1 } from "../../contract/messages/t1.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { partial, type Result } from "../../contract/result.ts";
import type { RpcMessage } from "../../contract/rpc.ts";
import type { Signal } from "../../contract/signal.ts";
import { answerData } from "../../engine/actors/answer.ts";
import { answerMessages, Reply } from "../../engine/actors/answer-messages.ts";
import type { TierDefinition } from "../../engine/actors/define-tier.ts";
import type { Registry } from "../../engine/actors/registry.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import { callWithin } from "../../engine/actors/within.ts";
import type { Classifier, Scorers, Security } from "../../ports/perception.ts";
import { createErrorResponse } from "../../protocol/envelope.ts";
import { classifyText } from "./classify.ts";
import { normalizeIntent } from "./normalize-intent.ts";

export interface PerceptionTierOptions {
  readonly registry: Registry;
  readonly security: Security;
  readonly classifier: Classifier;
  readonly scorers: Scorers;
  readonly fallbackIntent: string | null;
  readonly minConfidence: number;
}

const refs = {
  classification: moduleRef(1, "classification", "classify"),
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
      ...answerMessages(t1, {
        normalize: (question, { runtime }) => normalize(options, question, runtime),
        formatFailure,
      }),
    },
  };
}

/** Checks, types and scores a text. Low confidence is a PARTIAL with the fallback. */
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

function normalize(options: PerceptionTierOptions, question: NormalizeQuestion, runtime: Runtime) {
  const { request, perceived } = question;
  const inputs = request.intent_hint?.inputs ?? {};
  const isSafe =
    perceived === null || Object.keys(inputs).length > 0
      ? checkSafe(options.security, JSON.stringify(inputs), runtime)
      : undefined;
  return follow(isSafe, () => takeIn(options, question));
}

function takeIn({ registry }: PerceptionTierOptions, question: NormalizeQuestion): Reply<Intake> {
  const { request, perceived, intent_id: _id, schedule: _origin, ...begun } = question;
  const { tenant_id, thread_id } = request;
  const intent = normalizeIntent(registry, question);
  const domain = perceived?.domain ?? (intent.type.split(".")[0] ?? "general").toLowerCase();
  const urgency = perceived?.urgency ?? "normal";
  const intake: Intake = {
    ...begun,
    tenant_id,
    thread_id,
    intent,
    domain,
    urgency,
    warnings: perceived?.warnings ?? [],
  };
  return new Reply(intake, { tags: { urgency, domain } });
}

/** Returns a failed external call, or a malformed message, as the error object that everybody can read (RPC-14). */
function formatFailure({ request_id, error }: ExternalFailure): RpcMessage {
  return createErrorResponse(request_id, rpcCodeByCategory.external, error.message, {
    kernel: { code: error.code, category: error.category, severity: error.severity },
  });
}
