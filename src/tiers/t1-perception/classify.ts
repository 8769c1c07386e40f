/**
 * Typing a request that carries no hint: the classifier port over the registered packages' keywords.
 */
import { z } from "zod";
import { type KernelError, raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { follow, isPromise } from "../../contract/maybe-promise.ts";
import type { Perceived } from "../../contract/messages/t1.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import { callWithin } from "../../engine/actors/within.ts";
import type { PerceptionTierOptions } from "./tier.ts";

const ref = moduleRef(1, "classification", "classify");

const Answer = z.object({ intent_type: z.string().nullable(), domain: z.string(), confidence: z.number() });

/** Reads the classifier's answer. @throws KernelErrorException T1_CLASSIFY_LOW_CONFIDENCE for an invalid one. */
function readAnswer(answer: unknown): z.output<typeof Answer> {
  const parsed = Answer.safeParse(answer);
  if (parsed.success) return parsed.data;
  const message = `the classifier gave no classification: ${z.prettifyError(parsed.error)}`;
  return raise(kernelError("T1_CLASSIFY_LOW_CONFIDENCE", message, ref));
}

export async function classifyText(
  options: PerceptionTierOptions,
  text: string,
  runtime: Runtime,
): Promise<{ readonly perceived: Perceived; readonly error: KernelError | null }> {
  const { classifier, registry, scorers, minConfidence, fallbackIntent } = options;
  const candidates = registry.capabilities().map((c) => ({ intent_type: c.intentType, keywords: c.keywords }));
  const within = {
    clock: runtime.clock,
    timeoutMs: runtime.limits.classifierTimeoutMs,
    source: ref,
    onTimeout: "T1_CLASSIFY_TIMEOUT",
    onThrow: "T1_CLASSIFY_TIMEOUT",
    what: "the classifier",
  } as const;
  const answer = callWithin(() => follow(classifier.classify({ text, candidates }), readAnswer), within);
  const { intent_type, domain, confidence } = isPromise(answer) ? await answer : answer;
  const urgency = scorers.urgency(text);
  if (intent_type !== null && confidence >= minConfidence)
    return { perceived: { intent_type, domain, urgency, confidence, warnings: [] }, error: null };
  const error = kernelError(
    "T1_CLASSIFY_LOW_CONFIDENCE",
    `the request fits no intent well enough (${confidence.toFixed(2)} < ${minConfidence})`,
    ref,
    { detail: { best: intent_type, confidence, fallback: fallbackIntent } },
  );
  return { perceived: { intent_type: fallbackIntent, domain, urgency, confidence, warnings: [error] }, error };
}
