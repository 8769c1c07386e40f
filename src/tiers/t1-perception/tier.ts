/**
 * T1, perception: is it well formed, is it safe, and what is it.
 *
 * Owns: security validation of what a user wrote, typing, urgency, the canonical Intent, and the form that failures of
 * external calls take. Never: fetches, plans, or interprets business content.
 */
import type { AuthContext } from "../../contract/auth-context.ts";
import { type KernelError, raise } from "../../contract/error.ts";
import { kernelError, rpcCodeByCategory } from "../../contract/error-codes.ts";
import type { PrincipalRef } from "../../contract/gate-vote.ts";
import type { ParsedSubmitRequest, Submission } from "../../contract/intent.ts";
import { follow } from "../../contract/maybe-promise.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { metricsOf, ok, partial, type Result } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import type { Classifier, Scorers, Security } from "../../ports/perception.ts";
import { createErrorResponse } from "../../protocol/envelope.ts";
import type { TierDefinition } from "../../runtime/define-tier.ts";
import type { Kit } from "../../runtime/kit.ts";
import type { Registry } from "../../runtime/registry.ts";
import { callWithin } from "../../runtime/within.ts";
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
export interface NormalizeQuestion {
  readonly request: ParsedSubmitRequest;
  readonly auth: AuthContext;
  readonly perceived: Perceived | null;
  readonly workflow_id: string;
  readonly plan_id: string;
  readonly intent_id: string;
  readonly parent_workflow_id: string | null;
  readonly draft_version: number;
  readonly regenerate: readonly string[];
  readonly requesters?: readonly PrincipalRef[];
  readonly feedback?: string;
  readonly spent_calls?: readonly string[];
  readonly submission?: Submission;
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
      text: { module: "classification", function: "classify", handle: (signal, kit) => perceive(options, signal, kit) },
      "data:SubmitRequest": {
        module: "normalizer",
        function: "normalize",
        next: 6,
        handle: (signal, kit) => normalize(options, signal, kit),
      },
      "data:ExternalFailure": { module: "input_validation", function: "format_failure", handle: formatFailure },
    },
  };
}

/** A text is checked, typed and scored. Low confidence is a PARTIAL with the fallback. */
async function perceive(options: PerceptionTierOptions, signal: Signal, kit: Kit): Promise<Result> {
  const text = String(signal.body["text"]);
  await checkSafe(options.security, text, kit);
  const { perceived, error } = await classifyText(options, text, kit);
  const tags = { urgency: options.scorers.urgency(text), domain: perceived.domain };
  const out = [
    kit.signals.createDataSignal(perceived, "Perceived", refs.classification, signal.trace_id, tags, {
      parentId: signal.id,
    }),
  ];
  return error === null ? ok(out, metricsOf(refs.classification)) : partial(out, error, metricsOf(refs.classification));
}

function checkSafe(security: Security, text: string, kit: Kit): void | Promise<void> {
  kit.telemetry.mark?.("security.validate", { chars: text.length });
  const within = {
    clock: kit.clock,
    timeoutMs: kit.limits.securityTimeoutMs,
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

function normalize(options: PerceptionTierOptions, signal: Signal, kit: Kit): Result | Promise<Result> {
  const { request, perceived } = signal.body["data"] as NormalizeQuestion;
  const inputs = request.intent_hint?.inputs ?? {};
  const isSafe =
    perceived === null || Object.keys(inputs).length > 0
      ? checkSafe(options.security, JSON.stringify(inputs), kit)
      : undefined;
  return follow(isSafe, () => takeIn(options, signal, kit));
}

function takeIn(options: PerceptionTierOptions, signal: Signal, kit: Kit): Result {
  const question = signal.body["data"] as NormalizeQuestion;
  const { request, perceived, auth, workflow_id, plan_id, parent_workflow_id, draft_version, regenerate } = question;
  const { submission, requesters, feedback, spent_calls } = question;
  const intent = normalizeIntent(options.registry, question);
  const domain = perceived?.domain ?? (intent.type.split(".")[0] ?? "general").toLowerCase();
  const urgency = perceived?.urgency ?? "normal";
  const intake = {
    workflow_id,
    plan_id,
    parent_workflow_id,
    draft_version,
    regenerate,
    tenant_id: request.tenant_id,
    thread_id: request.thread_id,
    intent,
    auth,
    domain,
    urgency,
    warnings: perceived?.warnings ?? [],
    ...(requesters === undefined ? {} : { requesters }),
    ...(feedback === undefined ? {} : { feedback }),
    ...(spent_calls === undefined ? {} : { spent_calls }),
    ...(submission === undefined ? {} : { submission }),
  };
  const out = kit.signals.createDataSignal(
    intake,
    "NormalizedIntent",
    refs.normalizer,
    signal.trace_id,
    { urgency, domain },
    { parentId: signal.id },
  );
  return ok([out], metricsOf(refs.normalizer));
}

/** A failed external call or a malformed message, as the error object everybody can read (seed 004, RPC-14). */
function formatFailure(signal: Signal, kit: Kit): Result {
  const { request_id, error } = signal.body["data"] as { readonly request_id: string; readonly error: KernelError };
  const response = createErrorResponse(request_id, rpcCodeByCategory.external, error.message, {
    kernel: { code: error.code, category: error.category, severity: error.severity },
  });
  return ok(
    [
      kit.signals.createDataSignal(response, "RpcErrorResponse", refs.validation, signal.trace_id, null, {
        parentId: signal.id,
      }),
    ],
    metricsOf(refs.validation),
  );
}
